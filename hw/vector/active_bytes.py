"""Which bytes of a word of a register group an instruction works on."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig

__all__ = ["ActiveBytes"]


class ActiveBytes(wiring.Component):
    """Combinational.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    size : In(2)
        log2 of the bytes of an element.
    word : In
        Number of the word in the group.
    first, length : In
        Elements before and behind which none is active.
    masked : In(1); mask : In(vlen)
        Only elements whose bit is set are active.
    enable : Out(word_bytes)
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "size": In(2),
                "word": In(range(config.access_words)),
                "first": In(length),
                "length": In(length),
                "masked": In(1),
                "mask": In(config.vlen),
                "enable": Out(config.word_bytes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.config.word_bytes
        bits = Signal(width)
        with m.Switch(self.size):
            for size in range(3):
                with m.Case(size):
                    chunk = self.mask.word_select(self.word, width >> size)
                    m.d.comb += bits.eq(Cat(bit.replicate(1 << size) for bit in chunk))
        before, within = Signal(width), Signal(width)
        for edge, below in ((self.first, before), (self.length, within)):
            end = edge << self.size
            start = self.word * width
            places = Signal(range(width + 1), name=f"{below.name}_places")
            with m.If(end >= start + width):
                m.d.comb += places.eq(width)
            with m.Elif(end > start):
                m.d.comb += places.eq(end - start)
            m.d.comb += below.eq((1 << places) - 1)
        m.d.comb += self.enable.eq(within & ~before & Mux(self.masked, bits, (1 << width) - 1))
        return m
