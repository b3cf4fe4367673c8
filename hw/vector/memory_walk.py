"""Looks at indices a word a cycle, and at single elements of a vector access."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.active_bytes import ActiveBytes
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_extent import reaches
from fanweave.hw.vector.payloads import address_bits, read_port

__all__ = ["ElementWalk", "IndexScan", "largest"]


def largest(m: Module, values: list[Value], name: str) -> Value:
    """The largest of unsigned numbers of one width."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        level = []
        for number, (a, b) in enumerate(pairs):
            larger = Signal(len(a), name=f"{name}_{len(values)}_{number}")
            m.d.comb += larger.eq(Mux(a > b, a, b))
            level.append(larger)
        values = level
    return values[0]


class IndexScan(wiring.Component):
    """The largest active index of an access, a word of indices a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    active : In(1)
        Held until ``done``; what else comes in is held meanwhile.
    register : In(5); width : In(2); low : In(2)
        Where the indices are, log2 of their bytes, and bits that are clear in aligned ones.
    first, length : In; masked : In(1); mask : In(vlen)
        See `ActiveBytes`.
    index : read port
    done : Out(1)
        In the last cycle.
    most : Out(32); crooked : Out(1)
        With ``done``: the largest index, and whether one is misaligned.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "active": In(1),
                "register": In(5),
                "width": In(2),
                "low": In(2),
                "first": In(length),
                "length": In(length),
                "masked": In(1),
                "mask": In(config.vlen),
                "index": Out(read_port(config)),
                "done": Out(1),
                "most": Out(32),
                "crooked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        asked, looked = (Signal(range(8 * config.words + 1), name=n) for n in ("asked", "looked"))
        words, there = Signal(range(8 * config.words + 1)), Signal()
        m.submodules.bytes = active = ActiveBytes(config=config)
        shown, before, skewed = Signal(config.word_bits), Signal(32), Signal()
        place = config.word_bytes.bit_length() - 1
        m.d.comb += [
            words.eq(((self.length << self.width) + config.word_bytes - 1) >> place),
            self.index.valid.eq(self.active & (asked != words)),
            self.index.address.eq(self.register * config.words + asked),
            active.size.eq(self.width),
            active.word.eq(looked),
            active.first.eq(self.first),
            active.length.eq(self.length),
            active.masked.eq(self.masked),
            active.mask.eq(self.mask),
            shown.eq(self.index.value & Cat(bit.replicate(8) for bit in active.enable)),
            self.done.eq(there & (looked + 1 == words)),
        ]
        taken = self.index.valid & self.index.ready
        m.d.sync += there.eq(taken)
        self._combine(m, shown, before, skewed)
        with m.If(there):
            m.d.sync += [looked.eq(looked + 1), before.eq(self.most), skewed.eq(self.crooked)]
        with m.If(taken):
            m.d.sync += asked.eq(asked + 1)
        with m.If(self.done):
            m.d.sync += [asked.eq(0), looked.eq(0), before.eq(0), skewed.eq(0)]
        return m

    def _combine(self, m: Module, shown: Signal, before: Signal, skewed: Signal) -> None:
        """This word's indices with those before."""
        most, crooked = Signal(32), Signal()
        with m.Switch(self.width):
            for width in range(3):
                with m.Case(width):
                    bits = 8 << width
                    values = [shown[at : at + bits] for at in range(0, len(shown), bits)]
                    m.d.comb += [
                        most.eq(largest(m, values, f"index_{bits}")),
                        crooked.eq(Cat((value[:2] & self.low).any() for value in values).any()),
                    ]
        m.d.comb += [
            self.most.eq(Mux(most > before, most, before)),
            self.crooked.eq(crooked | skewed),
        ]


class ElementWalk(wiring.Component):
    """Finds the first element of an access that cannot be reached, a field a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    active : In(1)
        Held until ``done``; what else comes in is held meanwhile.
    base, stride : In(32); indexed : In(1)
        Where element 0 is, and how far the next, unless an index tells.
    register : In(5); width : In(2)
        Where the indices are, and log2 of their bytes.
    size, low : In(2); fields : In(4)
        See `MemoryExtent`.
    first, length : In; masked : In(1); mask : In(vlen)
        See `ActiveBytes`.
    index : read port
        A value is looked at in its first cycle only.
    done : Out(1)
        In the last cycle.
    fault : Out(1); element : Out; address : Out(32)
        With ``done``: whether there is such an element, which, and its field's address.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "active": In(1),
                "base": In(32),
                "stride": In(32),
                "indexed": In(1),
                "register": In(5),
                "width": In(2),
                "size": In(2),
                "low": In(2),
                "fields": In(4),
                "first": In(length),
                "length": In(length),
                "masked": In(1),
                "mask": In(config.vlen),
                "index": Out(read_port(config)),
                "done": Out(1),
                "fault": Out(1),
                "element": Out(length),
                "address": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offset, field, there = Signal(32), Signal(3), Signal()
        fresh, kept, index = Signal(), Signal(32), Signal(32)
        there_now, moves, works, ends = Signal(), Signal(), Signal(), Signal()
        element = self.element
        bit = self.mask.bit_select(element, 1)
        m.d.comb += [
            works.eq((element >= self.first) & (~self.masked | bit)),
            ends.eq(element == self.length),
            self.index.valid.eq(self.active & self.indexed & works & ~ends & ~there),
            self.index.address.eq(self._place()),
            there_now.eq(there | ~self.indexed),
            index.eq(Mux(fresh, self._picked(), kept)),
            self.address.eq(self.base + Mux(self.indexed, index, offset) + (field << self.size)),
            self.fault.eq(
                ~ends
                & works
                & there_now
                & ((self.address & self.low).any() | ~reaches(self.address))
            ),
            self.done.eq(self.active & (ends | self.fault)),
            moves.eq(~works | (there_now & (field + 1 == self.fields))),
        ]
        m.d.sync += [fresh.eq(self.index.valid & self.index.ready), kept.eq(index)]
        with m.If(self.index.valid & self.index.ready):
            m.d.sync += there.eq(1)
        with m.If(self.active & ~ends & ~self.fault):
            with m.If(moves):
                m.d.sync += [
                    element.eq(element + 1),
                    offset.eq(offset + self.stride),
                    field.eq(0),
                    there.eq(0),
                ]
            with m.Elif(there_now):
                m.d.sync += field.eq(field + 1)
        with m.Elif(~self.active):
            m.d.sync += [element.eq(0), offset.eq(0), field.eq(0), there.eq(0)]
        return m

    def _place(self) -> Value:
        """Word of the register file with the element's index."""
        at = (self.element << self.width) >> (self.config.word_bytes.bit_length() - 1)
        return (self.register * self.config.words + at)[: address_bits(self.config)]

    def _picked(self) -> Value:
        """The element's index, out of the word that was read."""
        picked: Value = Const(0, 32)
        for width in range(3):
            places = (self.config.word_bytes >> width).bit_length() - 1
            chosen = self.index.value.word_select(self.element[:places], 8 << width)
            picked = Mux(self.width == width, chosen, picked)
        return picked
