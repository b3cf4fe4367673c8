"""Puts results of beats back where they belong in the register file."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import result_beat, write_port
from fanweave.hw.vector.plans import beat_tag

__all__ = ["WriteBack"]

_SIZES = range(3)


class WriteBack(wiring.Component):
    """Writes active elements only; bits of a mask together with the old ones of their byte.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    results : stream in of `result_beat`; tags : stream in of `beat_tag`
        In the same order; both are transferred together.
    write : write port
    blocked : In(1)
        The word at the port's address may not be written yet.
    moves : Out(1)
        A beat is over.
    flags : Out(5); saturated : Out(1)
        What it raised.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "results": In(stream.Signature(result_beat(config))),
                "tags": In(stream.Signature(beat_tag(config))),
                "write": Out(write_port(config)),
                "blocked": In(1),
                "moves": Out(1),
                "flags": Out(5),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        result, tag = self.results.payload, self.tags.payload
        there, goes = Signal(), Signal()
        self._elements(m)
        with m.If(tag.bits):
            self._bits(m)
        m.d.comb += [
            there.eq(self.results.valid & self.tags.valid),
            self.write.valid.eq(there & self.write.enable.any() & ~self.blocked),
            self.write.address.eq(tag.address),
            goes.eq(~self.write.enable.any() | (self.write.ready & ~self.blocked)),
            self.moves.eq(there & goes),
            self.results.ready.eq(self.tags.valid & goes),
            self.tags.ready.eq(self.results.valid & goes),
            self.flags.eq(Mux(self.moves, result.flags, 0)),
            self.saturated.eq(self.moves & result.saturated),
        ]
        return m

    def _elements(self, m: Module) -> None:
        """A whole word, or half of one if operands are twice as wide."""
        tag, write, width = self.tags.payload, self.write, self.config.word_bytes
        enable, value = Signal(width), self.results.payload.value
        with m.Switch(tag.vd_size):
            for size in _SIZES:
                with m.Case(size):
                    bits = tag.active[: width >> size]
                    m.d.comb += enable.eq(Cat(bit.replicate(1 << size) for bit in bits))
        m.d.comb += [write.value.eq(value), write.enable.eq(enable)]
        half = width // 2
        with m.If(tag.size != tag.vd_size):
            upper = tag.place[0]
            m.d.comb += [
                write.value.eq(value[: 8 * half].replicate(2)),
                write.enable.eq(Cat(Mux(upper, 0, enable[:half]), Mux(upper, enable[:half], 0))),
            ]

    def _bits(self, m: Module) -> None:
        """The bytes that the beat's bits are in."""
        width = self.config.word_bytes
        with m.Switch(self.tags.payload.size):
            for size in _SIZES:
                with m.Case(size):
                    count = width >> size
                    if count < 8:
                        self._part_of_byte(m, count)
                    else:
                        self._bytes(m, count)

    def _bytes(self, m: Module, count: int) -> None:
        tag, result = self.tags.payload, self.results.payload
        merged = (result.bits & tag.active) | (tag.old & ~tag.active)
        self._place(m, merged[:count], tag.place, tag.active[:count].any())

    def _place(self, m: Module, bits: Value, place: Value, wanted: Value) -> None:
        """Write some whole bytes at a place that counts them together."""
        write, width = self.write, self.config.word_bytes
        count = len(bits) // 8
        m.d.comb += write.value.eq(bits.replicate(width // count))
        for byte in range(width):
            m.d.comb += write.enable[byte].eq(wanted & (place == byte // count))

    def _part_of_byte(self, m: Module, count: int) -> None:
        """The bits before come from the beats before."""
        tag, result = self.tags.payload, self.results.payload
        before = Signal(8, name=f"before_{count}")
        parts = 8 // count
        steps = (parts - 1).bit_length()
        part = tag.place[:steps]
        byte = Signal(8, name=f"byte_{count}")
        for number in range(parts):
            low = number * count
            bits = Cat(Mux(tag.active[k], result.bits[k], tag.old[low + k]) for k in range(count))
            with m.If(part == number):
                m.d.comb += byte.eq(Cat(before[:low], bits, tag.old[low + count : 8]))
        self._place(m, byte, tag.place >> steps, tag.active[:count].any())
        with m.If(self.moves):
            m.d.sync += before.eq(byte)
