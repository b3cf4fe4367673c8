"""Strips from a stream of beats what does not belong to the asked rows."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Aligner", "Extent"]


class Extent(data.Struct):
    """Where a row stands in the beats: start, whether it joins the last beat, length.

    Start and length count the aligner's units.
    """

    start: unsigned(8)
    joined: unsigned(1)
    length: unsigned(19)


class Aligner(wiring.Component):
    """Buffer of two beats in which the kept parts of the incoming beats lie without gaps.

    Extents that follow one another without a gap merge, so that a beat shared by two rows
    passes in one cycle.

    Parameters
    ----------
    beat_bits : int
        Width of a beat.
    unit_bits : int
        Granularity of extents.

    Members
    -------
    extents : stream in of `Extent`
    beats : stream in
    head : Out(beat_bits + margin)
        The oldest kept bits, bit 0 first.
    level : Out
        Kept bits.
    take : In
        Bits to drop from the head at the end of this cycle, at most ``level``.
    flush : In(1)
        Forget everything kept; no extent may be in progress.
    starved : Out(1)
        An extent is in progress and no beat has arrived.
    """

    def __init__(self, *, beat_bits: int, unit_bits: int) -> None:
        if beat_bits % unit_bits:
            raise ValueError(
                f"beat_bits = {beat_bits} must be a multiple of unit_bits = {unit_bits}"
            )
        self.beat_bits = beat_bits
        self.unit_bits = unit_bits
        super().__init__(
            {
                "extents": In(stream.Signature(Extent)),
                "beats": In(stream.Signature(unsigned(beat_bits))),
                "head": Out(2 * beat_bits),
                "level": Out(range(2 * beat_bits + 1)),
                "take": In(range(2 * beat_bits + 1)),
                "flush": In(1),
                "starved": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = self.beat_bits // self.unit_bits
        remaining = Signal(20)  # units still to keep
        position = Signal(range(units))  # next unit of the source beat
        end = Signal(range(units))  # position behind the last unit to keep
        use_held = Signal()  # the source is the beat that was taken last
        held = Signal(self.beat_bits)

        left = Signal.like(self.level)
        room = Signal()
        source = Signal(self.beat_bits)
        portion = Signal(range(units + 1))
        fire = Signal()
        rest = Signal(range(units + 1))
        m.d.comb += [
            left.eq(self.level - self.take),
            room.eq(left <= self.beat_bits),
            source.eq(Mux(use_held, held, self.beats.payload)),
            rest.eq(units - position),
            portion.eq(Mux(remaining < rest, remaining, rest)),
            fire.eq((remaining != 0) & room & (use_held | self.beats.valid)),
            self.beats.ready.eq((remaining != 0) & room & ~use_held),
            self.starved.eq((remaining != 0) & ~use_held & ~self.beats.valid),
        ]
        self._insert(m, source, position, portion, left, fire)

        finishing = Signal()
        contiguous = Signal()
        extent = self.extents.payload
        m.d.comb += [
            finishing.eq((remaining == 0) | (fire & (remaining == portion))),
            contiguous.eq((extent.start == end) & (extent.joined == (end != 0))),
            self.extents.ready.eq((contiguous & ~remaining[-1]) | finishing),
        ]
        kept = Signal.like(remaining)
        accept = Signal()
        m.d.comb += [
            kept.eq(Mux(fire, remaining - portion, remaining)),
            accept.eq(self.extents.valid & self.extents.ready),
        ]
        m.d.sync += remaining.eq(Mux(accept, kept + extent.length, kept))
        with m.If(fire):
            m.d.sync += [
                held.eq(source),
                position.eq(position + portion),  # wraps to 0 at the end of a beat
                use_held.eq(position + portion != units),
            ]
        with m.If(accept):
            m.d.sync += end.eq(extent.start + extent.length)
            with m.If(~contiguous):
                m.d.sync += [position.eq(extent.start), use_held.eq(extent.joined)]
        with m.If(self.flush):
            m.d.sync += [remaining.eq(0), position.eq(0), end.eq(0), use_held.eq(0)]
        return m

    def _insert(
        self,
        m: Module,
        source: Signal,
        position: Signal,
        portion: Signal,
        left: Signal,
        fire: Signal,
    ) -> None:
        """Drop ``take`` bits from the head and put the source's portion behind the rest."""
        units = self.beat_bits // self.unit_bits
        shifted = Signal(self.beat_bits)
        kept = Signal(self.beat_bits)
        mask = Cat((i < portion).replicate(self.unit_bits) for i in range(units))
        buffer = Signal(2 * self.beat_bits)
        added = Signal.like(buffer)
        m.d.comb += [
            shifted.eq(source >> (position * self.unit_bits)),
            kept.eq(shifted & mask),
            added.eq(kept << left),
            self.head.eq(buffer),
        ]
        m.d.sync += [
            buffer.eq((buffer >> self.take) | Mux(fire, added, 0)),
            self.level.eq(left + Mux(fire, portion * self.unit_bits, 0)),
        ]
        with m.If(self.flush):
            m.d.sync += [buffer.eq(0), self.level.eq(0)]
