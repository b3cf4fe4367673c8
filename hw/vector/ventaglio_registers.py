"""Ventaglio's CSRs, and the pattern of elements and indices that they name."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS, VectorFault
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.hw.reduction import count_ones
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.ventaglio_payloads import parameters

__all__ = ["VentaglioPattern", "VentaglioRegisters"]

_MOST_BLOCK = 32
_SETS, _CLEARS, _WRITES = (
    [INSTRUCTION_BY_NAME[name + suffix].bits for suffix in ("", "i")]
    for name in ("csrrs", "csrrc", "csrrw")
)


class VentaglioPattern(data.Struct):
    """What the CSRs say of products under the present ``vl``.

    Without ``known`` they name no pattern. ``size`` is log2 of an element's bytes, ``bits`` those
    of an index; ``columns`` accumulators are a row, and ``all_bits`` its indices have.
    ``part_log`` is log2 of the parts that the bank is cut into.
    """

    known: unsigned(1)
    element: unsigned(3)
    size: unsigned(2)
    mode: unsigned(3)
    n: unsigned(6)
    m: unsigned(6)
    bits: unsigned(5)
    skip_zeros: unsigned(1)
    columns: unsigned(17)
    all_bits: unsigned(17)
    part_log: unsigned(3)


class VentaglioRegisters(wiring.Component):
    """Executes accesses to the CSRs; the pattern shows a cycle after what it is made of.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    word, rs1 : In(32)
        An instruction, and the register that it names.
    mine, of_error : Out(1); value : Out(32)
        It accesses a CSR of these, the error register, and the value that it reads.
    commit : In(1)
        The instruction is executed.
    vl : In
    changes : In(1)
        ``vl`` may change at the end of this cycle.
    fault : In of `VectorFault`; element : In(16)
        What is noted, if nothing is.
    mapped : Out(32)
        Registers in the bank.
    settled : Out(1); pattern : Out of `VentaglioPattern`
        The pattern is that of the CSRs and ``vl``.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "word": In(32),
                "rs1": In(32),
                "mine": Out(1),
                "of_error": Out(1),
                "value": Out(32),
                "commit": In(1),
                "vl": In(config.vlen.bit_length()),
                "changes": In(1),
                "fault": In(VectorFault),
                "element": In(16),
                "mapped": Out(32),
                "settled": Out(1),
                "pattern": Out(VentaglioPattern),
            }
        )
        #: What the CSRs hold, by name and field; for observers.
        self.stored = {
            row.name: {
                part.name: Signal(part.width, name=f"{row.name}_{part.name}") for part in row.fields
            }
            for row in VENTAGLIO_CSRS
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        error = self.stored["vtlerr"]
        with m.If((error["cause"] == VectorFault.NONE) & (self.fault != VectorFault.NONE)):
            m.d.sync += [error["cause"].eq(self.fault), error["element"].eq(self.element)]
        changed = Signal(init=1)
        m.d.sync += changed.eq(self.changes | (self.mine & self.commit))
        m.d.comb += [
            self.settled.eq(~changed),
            self.mapped.eq(self.stored["vtlreg"]["registers"]),
        ]
        self._access(m)
        self._combine(m)
        return m

    def _access(self, m: Module) -> None:
        by_immediate, source = self.word[14], self.word[15:20]
        operand, new = Mux(by_immediate, source, self.rs1), Signal(32)
        is_access = self.word.matches(*_SETS, *_CLEARS, *_WRITES)
        writes = self.word.matches(*_WRITES) | (source != 0)
        m.d.comb += new.eq(operand)
        with m.If(self.word.matches(*_SETS)):
            m.d.comb += new.eq(self.value | operand)
        with m.If(self.word.matches(*_CLEARS)):
            m.d.comb += new.eq(self.value & ~operand)
        for row in VENTAGLIO_CSRS:
            fields = self.stored[row.name]
            clears = row.name == "vtlerr"
            with m.If(is_access & (self.word[20:] == row.address)):
                m.d.comb += [self.mine.eq(1), self.of_error.eq(clears)]
                for part in row.fields:
                    place = slice(part.low, part.low + part.width)
                    m.d.comb += self.value[place].eq(fields[part.name])
                    with m.If(self.commit & writes):
                        m.d.sync += fields[part.name].eq(0 if clears else new[place])

    def _combine(self, m: Module) -> None:
        """The pattern of either form of the CSRs."""
        stored, pattern = self.stored, self.pattern
        form = stored["vtlfmt"]
        width = stored["vtlwidth"]["columns"]
        now = {
            name: Signal(len(pattern[name]), name=name)
            for name in ("known", "element", "mode", "n", "m", "bits")
        }
        with m.If(form["extended"]):
            self._extended(m, now, form, width)
        with m.Else():
            block, ratio = stored["vtlblks"]["size"], stored["vtlratio"]["ratio"]
            fits = (ratio != 3) & (ratio <= block)
            built = ElementFormat.FP32 in parameters(self.config).formats
            m.d.comb += [
                now["known"].eq(fits if built else 0),
                now["element"].eq(ElementFormat.FP32),
                now["mode"].eq(IndexMode.N_OF_M),
                now["m"].eq(1 << block),
                now["n"].eq((1 << block) >> ratio),
                now["bits"].eq(1 << stored["vtlidxw"]["width"]),
            ]
        with m.Switch(now["element"]):
            for element in ElementFormat:
                with m.Case(element):
                    m.d.sync += pattern.size.eq((element.bits // 8).bit_length() - 1)
        by_mask = now["mode"] == IndexMode.BITMASK
        m.d.sync += [
            *(pattern[name].eq(value) for name, value in now.items()),
            pattern.skip_zeros.eq(form["skip_zeros"]),
            pattern.part_log.eq(self._part_log(m)),
            pattern.columns.eq(Mux(width != 0, width, self._blocks(m, now["n"]) * now["m"])),
            pattern.all_bits.eq(Mux(by_mask, width, self.vl) * now["bits"]),
        ]

    def _extended(
        self, m: Module, now: dict[str, Signal], form: dict[str, Signal], width: Value
    ) -> None:
        mode, n, block = form["index_mode"], form["n"], form["m"]
        is_block = mode == IndexMode.N_OF_M
        needs_width = mode.matches(IndexMode.BITMASK, IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16)
        wrong_block = (n == 0) | (n > block) | (block > _MOST_BLOCK)
        m.d.comb += [
            now["known"].eq(
                form["element"].matches(*parameters(self.config).formats)
                & mode.matches(*IndexMode)
                & ~(is_block & wrong_block)
                & ~(needs_width & (width == 0))
            ),
            now["element"].eq(form["element"]),
            now["mode"].eq(mode),
            now["n"].eq(Mux(is_block, n, 1)),
            now["m"].eq(Mux(is_block, block, 1)),
        ]
        with m.Switch(mode):
            for known in IndexMode:
                with m.Case(known):
                    if known is not IndexMode.N_OF_M:
                        m.d.comb += now["bits"].eq(index_bits(known))
                        continue
                    for bits in range(1, 6):
                        with m.If((block > 1 << bits - 1) & (block <= 1 << bits)):
                            m.d.comb += now["bits"].eq(bits)

    def _blocks(self, m: Module, n: Value) -> Value:
        """Blocks that ``vl`` elements reach into."""
        most = (1 << len(self.vl)) - 1 + _MOST_BLOCK
        # With a factor too large by less than 1 the quotient of any x up to 2 ** places is exact.
        places = most.bit_length()
        shift = places + (_MOST_BLOCK - 1).bit_length()
        factor, blocks = Signal(shift + 1), Signal(len(self.vl))
        with m.Switch(n):
            for number in range(1, _MOST_BLOCK + 1):
                with m.Case(number):
                    m.d.comb += factor.eq(-(-(1 << shift) // number))
        m.d.comb += blocks.eq(((self.vl + n - 1)[:places] * factor) >> shift)
        return blocks

    def _part_log(self, m: Module) -> Value:
        """log2 of the registers in the bank, rounded up."""
        count = Signal(6)
        m.d.comb += count.eq(count_ones(self.mapped))
        larger = [count > 1 << power for power in range(5)]
        return count_ones(Cat(larger))
