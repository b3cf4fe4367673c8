"""How a vector access walks through memory: by blocks, or by groups of elements."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.active_bytes import ActiveBytes
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.memory_operations import MemoryControls, MemoryOperation
from fanweave.hw.vector.memory_payloads import memory_plan, memory_step, place_bits
from fanweave.hw.vector.payloads import address_bits

__all__ = ["BlockWalk", "GroupWalk", "walk_signature"]

_O = MemoryOperation


def walk_signature(config: VectorConfig) -> wiring.Signature:
    """Of a way to walk, from its side; all of it is held while an access is walked through.

    ``begin`` comes in the cycle before the first step, ``moves`` goes on to the next one. A step
    that ``skips`` is not to be given out; ``ends`` marks the last, which never skips.
    ``index_register`` is the word of the register file with the step's indices.
    """
    return wiring.Signature(
        {
            "instruction": In(vector_instruction(config)),
            "plan": In(memory_plan(config)),
            "controls": In(MemoryControls),
            "size": In(2),
            "fields": In(4),
            "mask": In(config.vlen),
            "begin": In(1),
            "moves": In(1),
            "step": Out(memory_step(config)),
            "index_register": Out(address_bits(config)),
            "skips": Out(1),
            "ends": Out(1),
        }
    )


class BlockWalk(wiring.Component):
    """Of a contiguous access: a step takes a word in, gives one out, or both.

    Words that go in and out have their bytes at different places, so a word out is made of two
    words in. A load whose first bytes are not at the beginning of a block has a step more, which
    only takes in.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    walk : see `walk_signature`
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__({"walk": Out(walk_signature(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, walk, step = self.config, self.walk, self.walk.step
        places = place_bits(config)
        base, store = walk.instruction.scalar, walk.plan.store
        count = range(config.access_words + 3)
        number, words, blocks, register = (
            Signal(count, name=name) for name in ("number", "words", "blocks", "register")
        )
        offset, length = Signal(places), Signal(config.vlen.bit_length() + 3)
        nothing, prepares, source = Signal(), Signal(), Signal()
        m.submodules.bytes = active = ActiveBytes(config=config)
        group = walk.instruction.word[7:12] * config.words
        m.d.comb += [
            offset.eq(base),
            length.eq(walk.plan.length << walk.size),
            words.eq((length + config.word_bytes - 1) >> places),
            blocks.eq((length + offset + config.word_bytes - 1) >> places),
            nothing.eq(walk.plan.length == 0),
            prepares.eq(~store & (offset != 0)),
            register.eq(number - prepares),
            active.size.eq(walk.size),
            active.word.eq(register),
            active.length.eq(walk.plan.length),
            active.masked.eq(walk.controls.masked),
            active.mask.eq(walk.mask),
            walk.ends.eq(nothing | (number + 1 == Mux(store, blocks, words + prepares))),
            step.blocks.eq(1),
            source.eq(~nothing & (number < Mux(store, words, blocks))),
            step.source.eq(source),
            step.sink.eq(~nothing & ((number != 0) | ~prepares)),
            step.rotate.eq(Mux(store, offset, -offset)),
            step.register.eq(register + Mux(walk.instruction.bank, walk.instruction.rs2, group)),
            step.bank.eq(walk.instruction.bank),
            step.ascending.eq(~walk.instruction.bank),
            step.complete.eq(1),
            step.lanes.eq((source & ~store).replicate(config.lanes)),
            step.enable.eq(active.enable),
        ]
        block = Signal(32 - places)
        m.d.comb += block.eq(base[places:] + number)
        for port in range(config.lanes):
            m.d.comb += step.addresses[port].eq(Cat(Const(8 * port, places), block))
        with m.If(walk.begin):
            m.d.sync += number.eq(0)
        with m.Elif(walk.moves):
            m.d.sync += number.eq(number + 1)
        return m


class GroupWalk(wiring.Component):
    """Of any access: a step moves a field of as many elements as there are lanes.

    Where the segments of a store may overlap, a step is a field of one element. Elements that are
    not active are skipped, a group a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    walk : see `walk_signature`
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__({"walk": Out(walk_signature(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, walk = self.config, self.walk
        lanes = config.lanes
        self._group = group = Signal(range(config.vlen // lanes))
        self._single = single = Signal(range(max(lanes, 2)))
        self._field = field = Signal(3)
        self._row, self._stride = Signal(32), Signal(32)
        self._serial, self._indexed = Signal(), Signal()
        self._moved = Signal(lanes)
        self._place = Signal(len(walk.step.place))
        strided, store = Signal(), walk.plan.store
        last_group, last_single, unit_ends, nothing = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            strided.eq(walk.controls.operation == _O.STRIDED),
            self._indexed.eq(walk.controls.operation == _O.INDEXED),
            self._stride.eq(
                Mux(
                    self._indexed,
                    0,
                    Mux(strided, walk.instruction.rs2, walk.fields << walk.size),
                )
            ),
            self._serial.eq(store & (walk.fields != 1) & (strided | self._indexed)),
            nothing.eq(walk.plan.length <= walk.instruction.vstart),
            last_group.eq((group + 1) * lanes >= walk.plan.length),
            last_single.eq(~self._serial | (single == lanes - 1)),
            unit_ends.eq(~self._moved.any() | (field + 1 == walk.fields)),
            walk.ends.eq(nothing | (last_group & last_single & unit_ends)),
            walk.skips.eq(~self._moved.any() & ~walk.ends),
        ]
        self._lanes(m)
        self._step(m)
        with m.If(walk.begin):
            m.d.sync += [group.eq(0), single.eq(0), field.eq(0)]
            m.d.sync += self._row.eq(0)
        with m.Elif(walk.moves & ~unit_ends):
            m.d.sync += field.eq(field + 1)
        with m.Elif(walk.moves):
            m.d.sync += field.eq(0)
            with m.If(last_single):
                m.d.sync += [
                    single.eq(0),
                    group.eq(group + 1),
                    self._row.eq(self._row + self._stride * lanes),
                ]
            with m.Else():
                m.d.sync += single.eq(single + 1)
        return m

    def _lanes(self, m: Module) -> None:
        """Which elements of the group the step moves."""
        walk, lanes = self.walk, self.config.lanes
        bits = walk.mask.word_select(self._group, lanes)
        for lane in range(lanes):
            number = self._group * lanes + lane
            chosen = ~self._serial | (self._single == lane)
            m.d.comb += self._moved[lane].eq(
                (number >= walk.instruction.vstart)
                & (number < walk.plan.length)
                & (~walk.controls.masked | bits[lane])
                & chosen
            )

    def _step(self, m: Module) -> None:
        config, walk, step = self.config, self.walk, self.walk.step
        lanes, size, instruction = config.lanes, self.walk.size, self.walk.instruction
        width = walk.controls.width
        log_emul = Signal(range(-8, 8))
        register = Signal(5)
        m.d.comb += [
            log_emul.eq(
                instruction.lmul.as_signed() + Mux(self._indexed, 0, width - instruction.sew)
            ),
            register.eq(
                instruction.word[7:12] + (self._field << Mux(log_emul > 0, log_emul[:2], 0))
            ),
            step.register.eq(register * config.words + ((self._group << size) >> 3)),
            self._place.eq(((self._group & (7 >> size)) * lanes) << size),
            step.lanes.eq(self._moved),
            step.place.eq(self._place),
            step.complete.eq((self._group & (7 >> size)) == (7 >> size)),
            step.ascending.eq(walk.fields == 1),
            step.source.eq(walk.plan.store & self._moved.any()),
            step.sink.eq(~walk.plan.store & self._moved.any()),
            step.indexed.eq(self._indexed),
            step.index_width.eq(width),
            step.index_chunk.eq(self._group & (7 >> width)),
            walk.index_register.eq(
                instruction.word[20:25] * config.words + ((self._group << width) >> 3)
            ),
        ]
        with m.Switch(size):
            for log_bytes in range(3):
                with m.Case(log_bytes):
                    wide = Cat(bit.replicate(1 << log_bytes) for bit in self._moved)
                    m.d.comb += step.enable.eq(wide << self._place)
        for lane in range(lanes):
            m.d.comb += step.addresses[lane].eq(
                instruction.scalar + self._row + self._stride * lane + (self._field << size)
            )
