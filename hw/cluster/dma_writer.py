"""Shifts what was read to where it goes, and writes it."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.cluster.dma_rows import Row
from fanweave.hw.cluster.payloads import BEAT_BYTES, OuterRequest

__all__ = ["DmaWriter"]

_WORDS = BEAT_BYTES // 4
_PLACE_BITS = (_WORDS - 1).bit_length()


class DmaWriter(wiring.Component):
    """Makes beats of the destination out of beats of the source, one a cycle.

    A beat of the destination has words of two beats of the source at most: those of the later one
    that are moved up, and those of the earlier one that were moved over its end. A row that
    begins further down in its destination's beat than in its source's begins with a beat of the
    source that makes none.

    Members
    -------
    rows : stream in of `Row`
        Transferred with its last beat.
    beats : stream in of 512 bits
        What the rows' beats hold in their source.
    asked : In(1)
        Everything of the row is read or asked for.
    requests : stream out of `OuterRequest`; region : Out(2)
        The region holds with the request.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "rows": In(stream.Signature(Row)),
                "beats": In(stream.Signature(8 * BEAT_BYTES)),
                "asked": In(1),
                "requests": Out(stream.Signature(OuterRequest)),
                "region": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, request = self.rows.payload, self.requests.payload
        first, start = row.source[2 : 2 + _PLACE_BITS], row.destination[2 : 2 + _PLACE_BITS]
        words, by = row.bytes[2:], Signal(_PLACE_BITS)
        ends = {name: Signal(31, name=f"{name}_end") for name in ("source", "destination")}
        sources, places = Signal(27), Signal(27)  # beats used up, and made
        needs, primes, some, last = Signal(), Signal(), Signal(), Signal()
        moves, takes = Signal(), Signal()
        m.d.comb += [
            by.eq(start - first),
            ends["source"].eq(first + words),
            ends["destination"].eq(start + words),
            some.eq(self.rows.valid & (words != 0)),
            needs.eq(sources != (ends["source"] + _WORDS - 1) >> _PLACE_BITS),
            primes.eq((start < first) & (sources == 0)),
            last.eq(places + 1 == (ends["destination"] + _WORDS - 1) >> _PLACE_BITS),
            self.requests.valid.eq(
                some & ~primes & (self.beats.valid | ~needs) & (self.asked | ~row.whole)
            ),
            moves.eq(self.requests.valid & self.requests.ready),
            takes.eq(self.beats.valid & ((some & primes) | (moves & needs))),
            self.beats.ready.eq((some & primes) | (moves & needs)),
            self.rows.ready.eq(Mux(words == 0, 1, moves & last)),
            self.region.eq(row.destination_region),
            request.address.eq(
                Cat(Const(0, 2 + _PLACE_BITS), row.destination[2 + _PLACE_BITS :] + places)
            ),
            request.write.eq(1),
            request.data.eq(self._merged(m, by, takes)),
            request.mask.eq(self._mask(m, start, ends["destination"], places, last)),
        ]
        with m.If(self.rows.valid & self.rows.ready):
            m.d.sync += [sources.eq(0), places.eq(0)]
        with m.Else():
            m.d.sync += [sources.eq(sources + takes), places.eq(places + moves)]
        return m

    def _merged(self, m: Module, by: Value, takes: Value) -> Value:
        """Words of this beat that are moved up, and of the one before that went over its end."""
        turned, before = Signal(8 * BEAT_BYTES), Signal(8 * BEAT_BYTES)
        value: Value = self.beats.payload
        for place in range(_PLACE_BITS):
            value = Mux(by[place], value.rotate_left(32 << place), value)
        m.d.comb += turned.eq(value)
        with m.If(takes):
            m.d.sync += before.eq(turned)
        return Cat(
            Mux(by <= word, turned.word_select(word, 32), before.word_select(word, 32))
            for word in range(_WORDS)
        )

    def _mask(self, m: Module, start: Value, end: Value, places: Value, last: Value) -> Value:
        """Bytes of the destination's beat that belong to the row."""
        head, tail = Signal(_WORDS), Signal(_WORDS)
        every = (1 << _WORDS) - 1
        behind = Signal(_PLACE_BITS)
        m.d.comb += [
            behind.eq(end - 1),
            head.eq(Mux(places == 0, (every << start)[:_WORDS], every)),
            tail.eq(Mux(last, ~((every << 1) << behind)[:_WORDS], every)),
        ]
        return Cat(bit.replicate(4) for bit in head & tail)
