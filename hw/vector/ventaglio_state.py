"""Ventaglio's part of the front: what its instructions are, and whether they are legal."""

from collections.abc import Callable

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_vector_memory import WIDTH_CODES
from fanweave.golden.isa.riscv_ventaglio import VectorFault
from fanweave.hw.reduction import count_ones
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.configuration import VectorType
from fanweave.hw.vector.decoder import VectorControls
from fanweave.hw.vector.payloads import address_bits
from fanweave.hw.vector.plans import VectorUnitName, word_range
from fanweave.hw.vector.ventaglio_operations import VentaglioDecoder
from fanweave.hw.vector.ventaglio_payloads import parameters, product_plan
from fanweave.hw.vector.ventaglio_registers import VentaglioRegisters
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["VentaglioState"]

#: The half-precision quiet NaN that a number without its box stands for.
_NOT_A_HALF = 0x7E00
_WIDEST = 32
#: Where products have their index register.
_INDICES = INSTRUCTION_BY_NAME["vfxmacc.vrf"].fields["vs1"][0].low
_ROWS = INSTRUCTION_BY_NAME["vfxmacc.rows"].fields["uimm"][0].low
_PART = INSTRUCTION_BY_NAME["vfxmacc.rows"].fields["part"][0].low


class VentaglioState(wiring.Component):
    """The rules of `fanweave.golden.riscv.ventaglio_unit`, as logic.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    word, rs1, fs1 : In(32); controls : In of `VectorControls`
        An instruction, and the registers that it names.
    vtype : In of `VectorType`; vl, vstart : In; changes : In(1)
        ``changes``: ``vl`` may change at the end of this cycle.
    mine, of_error : Out(1); value : Out(32); commit : In(1)
        Accesses to CSRs, see `VentaglioRegisters`.
    waits : Out(1)
        The instruction has to be looked at again in the next cycle.
    decides, legal : Out(1)
        Whether it is for here to say that an instruction is legal, and whether it is.
    refuses : Out(1)
        It is an instruction of others that names a register in the bank.
    notes : Out(1); note : In(1)
        It is illegal, and an error is to be noted; do that now.
    fault : In of `VectorFault`; element : In(16)
        An error that came later.
    idle : Out(1)
        A product with nothing to do.
    bank, packed : Out(1); length : Out; bank_word : Out
        A load or store of so many accumulators from that word of the bank on; a load of so many
        packed elements.
    plan : Out of `product_plan`
        Its slot is not known here, nor whether memory takes its turn.
    vd, vs2, vs1 : Out of `word_range`
        What a product reads, or a load of indices writes.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        self._parameters = parameters(config)
        self.registers = VentaglioRegisters(config=config)
        length = config.vlen.bit_length()
        super().__init__(
            {
                "word": In(32),
                "rs1": In(32),
                "fs1": In(32),
                "controls": In(VectorControls),
                "vtype": In(VectorType),
                "vl": In(length),
                "vstart": In(length),
                "changes": In(1),
                "mine": Out(1),
                "of_error": Out(1),
                "value": Out(32),
                "commit": In(1),
                "waits": Out(1),
                "decides": Out(1),
                "legal": Out(1),
                "refuses": Out(1),
                "notes": Out(1),
                "note": In(1),
                "fault": In(VectorFault),
                "element": In(16),
                "idle": Out(1),
                "bank": Out(1),
                "packed": Out(1),
                "length": Out(length),
                "bank_word": Out(address_bits(config)),
                "plan": Out(product_plan(config)),
                "vd": Out(word_range(config)),
                "vs2": Out(word_range(config)),
                "vs1": Out(word_range(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = self.registers
        m.submodules.decoder = self._decoder = decoder = VentaglioDecoder()
        self._pattern = pattern = registers.pattern
        self._wrong = Signal()
        self._cause = Signal(VectorFault)
        self._rows = Signal(5)
        m.d.comb += [
            decoder.word.eq(self.word),
            self._rows.eq(Mux(decoder.rows, self.word[_ROWS : _ROWS + 5], 1)),
            registers.word.eq(self.word),
            registers.rs1.eq(self.rs1),
            registers.commit.eq(self.commit),
            registers.vl.eq(self.vl),
            registers.changes.eq(self.changes),
            registers.fault.eq(Mux(self.note, self._cause, self.fault)),
            registers.element.eq(Mux(self.note, 0, self.element)),
            self.mine.eq(registers.mine),
            self.of_error.eq(registers.of_error),
            self.value.eq(registers.value),
            self.packed.eq(decoder.packed & ~self.bank),
            self.decides.eq(decoder.product | decoder.clear | self.bank | self.packed),
            self.waits.eq((decoder.product | self.bank | self.packed) & ~registers.settled),
            self.legal.eq(~self._wrong & (self._cause == VectorFault.NONE)),
            self.notes.eq(self._cause != VectorFault.NONE),
        ]
        self._find_part(m)
        self._judge(m)
        self._plan(m)
        self._extents(m)
        # Loads and stores move what is in the bank; for others it is not there.
        named = [
            self.controls[f"names_{name}"] & self._mapped(low)
            for name, low in (("vd", 7), ("vs1", 15), ("vs2", 20))
        ]
        is_memory = self.controls.unit == VectorUnitName.MEMORY
        m.d.comb += [
            self.bank.eq(is_memory & self._mapped(7)),
            self.refuses.eq(
                (named[0] | named[1] | named[2]) & ~is_memory & ~decoder.product & ~decoder.clear
            ),
            self.length.eq(Mux(self.bank, pattern.columns, self._packed_length())),
        ]
        return m

    def _mapped(self, low: int) -> Value:
        """Whether the register that a field names is in the bank."""
        return self.registers.mapped.bit_select(self.word[low : low + 5], 1)

    def _find_part(self, m: Module) -> None:
        """Where the part of the bank begins that vd names, and how large parts are."""
        log = (self._parameters.accumulators - 1).bit_length()
        below, place = Signal(32), Signal(5)
        self._size, self._base = Signal(log + 1), Signal(log)
        m.d.comb += [
            below.eq(self.registers.mapped & ((1 << self.word[7:12]) - 1)),
            place.eq(count_ones(below)),
            self._size.eq(self._parameters.accumulators >> self._pattern.part_log),
            self._base.eq((place << log) >> self._pattern.part_log),
            self.bank_word.eq(self._base >> (self._parameters.drain_lanes - 1).bit_length()),
        ]

    def _judge(self, m: Module) -> None:
        """Golden's checks in golden's order."""
        over = self._pattern.columns > self._size
        with m.If(self._decoder.product):
            self._judge_product(m, over)
        with m.Elif(self.bank):
            with m.If(self.vtype.illegal):
                m.d.comb += self._wrong.eq(1)
            with m.Elif(~self._pattern.known):
                m.d.comb += self._cause.eq(VectorFault.ILLEGAL_FORMAT)
            with m.Elif(over):
                m.d.comb += self._cause.eq(VectorFault.OVER_CONFIGURATION)
            with m.Elif(~self._decoder.moves_word | (self.vstart != 0)):
                m.d.comb += self._wrong.eq(1)
        with m.Elif(self.packed):
            with m.If(self.vtype.illegal | ~self.word[25] | (self.vstart != 0)):
                m.d.comb += self._wrong.eq(1)
            with m.Elif(~self._pattern.known):
                m.d.comb += self._cause.eq(VectorFault.ILLEGAL_FORMAT)
            with m.Elif(self._is_no_group()):
                m.d.comb += self._wrong.eq(1)

    def _judge_product(self, m: Module, over: Value) -> None:
        pattern, lmul = self._pattern, self.vtype.lmul
        group = Mux(lmul > 0, 1 << lmul[:2].as_unsigned(), 1)
        wrong_group = ~self._decoder.rows & (self.word[20:25] & (group - 1)).any()
        first_word = self.word[_INDICES : _INDICES + 5] * (self.config.vlen // 32)
        beyond = first_word + self._all_index_words() > self.config.vlen
        wrong_rows = self._decoder.rows & self._are_no_rows()
        with m.If(self.vtype.illegal | (self.vstart != 0)):
            m.d.comb += self._wrong.eq(1)
        with m.Elif(~pattern.known):
            m.d.comb += self._cause.eq(VectorFault.ILLEGAL_FORMAT)
        with m.Elif(~self._mapped(7)):
            m.d.comb += self._cause.eq(VectorFault.NOT_IN_BANK)
        with m.Elif(pattern.size != self.vtype.sew):
            m.d.comb += self._cause.eq(VectorFault.ILLEGAL_FORMAT)
        with m.Elif(wrong_group | wrong_rows | self._mapped(_INDICES) | self._mapped(20) | beyond):
            m.d.comb += self._wrong.eq(1)
        with m.Elif(over):
            m.d.comb += self._cause.eq(VectorFault.OVER_CONFIGURATION)

    def _index_words(self) -> Value:
        """Words of 32 bits that the indices of a product take."""
        return (self._pattern.all_bits + 31) >> 5

    def _all_index_words(self) -> Value:
        """Those of all of its rows."""
        return self._index_words() * self._rows

    def _are_no_rows(self) -> Value:
        """Scalars are not all in v0, or that is in the bank; or weights are beyond registers."""
        scalars = ((self._first_scalar() + self._rows) << 3) << self.vtype.sew[:2]
        end = self.word[20:25] * self.config.words + self._weight_words()
        return (
            (self._rows == 0)
            | (scalars > self.config.vlen)
            | self.registers.mapped[0]
            | (end > 32 * self.config.words)
        )

    def _first_scalar(self) -> Value:
        """Element of v0 that is the first row's."""
        return self.word[_PART : _PART + 2] * self._rows

    def _packed_length(self) -> Value:
        """Elements of a packed load."""
        return self._by_width(lambda log: (self._pattern.all_bits + (1 << log) - 1) >> log)

    def _packed_bits(self) -> Value:
        """Bits of whole elements."""
        return self._by_width(lambda log: self._packed_length() << log)

    def _by_width(self, value_of: Callable[[int], Value]) -> Value:
        """What depends on log2 of the bits of a load's elements."""
        found: Value = Const(0)
        for width, code in WIDTH_CODES.items():
            if width <= _WIDEST:
                log = (width - 1).bit_length()
                found = Mux(self.word[12:15] == int(code, 2), value_of(log), found)
        return found

    def _is_no_group(self) -> Value:
        """Packed elements take more than eight registers, or these are no group."""
        bits, low = self._packed_bits(), self.word[7:10]
        wrong: Value = bits > 8 * self.config.vlen
        for power in range(3):
            wrong = wrong | ((bits > self.config.vlen << power) & low[power])
        return wrong

    def _plan(self, m: Module) -> None:
        plan, pattern, decoder = self.plan, self._pattern, self._decoder
        boxed = self.fs1[16:].all()
        scalar = Signal(32)
        is_half = pattern.element == ElementFormat.FP16
        with m.Switch(pattern.size):
            for size in range(3):
                with m.Case(size):
                    m.d.comb += scalar.eq(self.fs1[: 8 << size])
        with m.If(is_half & ~boxed):
            m.d.comb += scalar.eq(_NOT_A_HALF)
        zero = Signal()
        with m.Switch(pattern.element):
            for element in ElementFormat:
                bits = element.bits if element.is_integer else element.bits - 1
                with m.Case(element):
                    m.d.comb += zero.eq(~scalar[:bits].any())
        m.d.comb += [
            self.idle.eq(
                decoder.product & ((self.vl == 0) | (pattern.skip_zeros & zero & ~decoder.rows))
            ),
            plan.many.eq(decoder.rows),
            plan.rows.eq(self._rows),
            plan.scalars.eq(self._first_scalar()),
            plan.marker.eq(Mux(decoder.clear, Marker.CLEAR, Marker.ROW)),
            *(
                plan[name].eq(pattern[name])
                for name in ("element", "size", "mode", "n", "m", "bits")
            ),
            plan.width.eq(pattern.columns),
            plan.base.eq(self._base),
            plan.multiply.eq(decoder.multiply),
            plan.scalar.eq(scalar),
            plan.count.eq(self.vl),
            plan.weights.eq(self.word[20:25] * self.config.words),
            plan.indices.eq(self.word[_INDICES : _INDICES + 5] * self.config.words),
            plan.weight_words.eq(self._weight_words()),
            plan.index_words.eq(self._index_words()),
        ]

    def _weight_words(self) -> Value:
        """Words of the register file that the weights of all rows take."""
        return self._words((self.vl * self._rows) << self.vtype.sew[:2])

    def _words(self, count: Value) -> Value:
        """Words of the register file that so many bytes take."""
        width = self.config.word_bytes
        return (count + width - 1) >> (width - 1).bit_length()

    def _extents(self, m: Module) -> None:
        decoder, plan = self._decoder, self.plan
        target = self.word[7:12] * self.config.words
        with m.If(decoder.product):
            m.d.comb += [
                self.vs2.first.eq(plan.weights),
                self.vs2.end.eq(plan.weights + plan.weight_words),
                self.vs1.first.eq(plan.indices),
                self.vs1.end.eq(plan.indices + self._words(self._all_index_words() << 2)),
            ]
        with m.If(self.packed):
            m.d.comb += [
                self.vd.first.eq(target),
                self.vd.end.eq(target + self._words(self._packed_bits() >> 3)),
            ]
