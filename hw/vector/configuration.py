"""How vector registers are read: vtype, vl and other CSRs of the unit, and what changes them."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME
from fanweave.golden.isa.riscv_encoding import InstructionKind
from fanweave.hw.vector.config import VectorConfig

__all__ = ["Configuration", "VectorType"]

#: log2 of the bits of the widest element.
_ELEN_LOG = 5
#: Rows by name.
_ROWS = {row.name: row for row in INSTRUCTIONS if row.name.startswith(("vset", "csrr"))}
_SETS, _CLEARS = ("csrrs", "csrrsi"), ("csrrc", "csrrci")


class VectorType(data.Struct):
    """vtype: codes of LMUL and SEW (log2 of its bytes), policies, and ``vill``."""

    lmul: signed(3)
    sew: unsigned(3)
    tail_agnostic: unsigned(1)
    mask_agnostic: unsigned(1)
    illegal: unsigned(1)


class Configuration(wiring.Component):
    """Executes `vsetvl` and its like, and accesses to CSRs; keeps what they set.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    word, rs1, rs2 : In(32)
        An instruction, and the registers that it names.
    mine : Out(1); value : Out(32)
        It is one for here, and what it gives to rd; combinational.
    commit : In(1)
        The instruction is executed: its effect shows in the next cycle.
    saturated : In(1)
        A result was saturated; ``vxsat`` stays set.
    finished : In(1)
        An instruction of another unit is executed, so ``vstart`` becomes 0.
    stopped, shortened : In(1); element : In
        It stopped at an element, which ``vstart`` names then; or it ended there, which ``vl`` is
        then.
    vtype : Out of `VectorType`; vl, vstart : Out; vxrm : Out(2)
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "word": In(32),
                "rs1": In(32),
                "rs2": In(32),
                "mine": Out(1),
                "value": Out(32),
                "commit": In(1),
                "saturated": In(1),
                "finished": In(1),
                "stopped": In(1),
                "shortened": In(1),
                "element": In(length),
                "vtype": Out(VectorType, init={"illegal": 1}),
                "vl": Out(length),
                "vstart": Out(length),
                "vxrm": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._saturation = Signal()
        with m.If(self.finished):
            m.d.sync += self.vstart.eq(0)
        with m.If(self.stopped):
            m.d.sync += self.vstart.eq(self.element)
        with m.If(self.shortened):
            m.d.sync += self.vl.eq(self.element)
        self._set_type(m)
        self._access(m)
        with m.If(self.saturated):
            m.d.sync += self._saturation.eq(1)
        return m

    def _is(self, *names: str) -> Value:
        return self.word.matches(*(_ROWS[name].bits for name in names))

    def _field(self, row: InstructionKind, name: str) -> Value:
        (part,) = row.fields[name]
        return self.word[part.low : part.low + part.width]

    def _set_type(self, m: Module) -> None:
        """A new vtype, and a vl that fits it."""
        names = ("vsetvli", "vsetivli", "vsetvl")
        with_register, immediate, from_register = (_ROWS[name] for name in names)
        takes_immediate = self._is("vsetivli")
        wanted = Signal(32)
        m.d.comb += wanted.eq(
            Mux(
                self._is("vsetvl"),
                self.rs2,
                Mux(
                    takes_immediate,
                    self._field(immediate, "vtype10"),
                    self._field(with_register, "vtype"),
                ),
            )
        )
        new = Signal(VectorType)
        m.d.comb += [
            Cat(new.lmul, new.sew, new.tail_agnostic, new.mask_agnostic).eq(wanted),
            new.illegal.eq(self._is_illegal(wanted)),
        ]
        old_most = Mux(self.vtype.illegal, 0, self._most(self.vtype))
        keeps = ~takes_immediate & (self._field(from_register, "rs1") == 0)
        # Neither a length nor a place for one: vl stays, so VLMAX must stay.
        stays = keeps & (self._field(from_register, "rd") == 0)
        most = Signal(len(self.vl))
        refused = new.illegal | (stays & (self._most(new) != old_most))
        m.d.comb += most.eq(Mux(refused, 0, self._most(new)))
        asked = Mux(takes_immediate, self._field(immediate, "zimm"), self.rs1)
        length = Mux(stays, self.vl, Mux(keeps, most, asked))
        taken = Signal(len(self.vl))
        m.d.comb += taken.eq(Mux(length < most, length, most))
        with m.If(self._is(*names)):
            m.d.comb += [self.mine.eq(1), self.value.eq(taken)]
            with m.If(self.commit):
                m.d.sync += [
                    self.vl.eq(taken),
                    self.vstart.eq(0),
                    self.vtype.eq(Mux(refused, Const(1 << 8, 9), new.as_value())),
                ]

    @staticmethod
    def _is_illegal(wanted: Value) -> Value:
        """There is no such LMUL or SEW, or the widest elements would not fit a group."""
        lmul, sew = wanted[:3].as_signed(), wanted[3:6]
        narrow = (lmul < 0) & (sew + 3 > _ELEN_LOG + lmul)
        return (wanted[:3] == 4) | (sew + 3 > _ELEN_LOG) | narrow | wanted[8:].any()

    def _most(self, vtype: data.View) -> Value:
        """VLMAX of a legal type."""
        step = vtype.lmul - vtype.sew
        elements = self.config.vlen // 8
        # From an eighth of a register with 32-bit elements to eight registers with bytes.
        steps = range(-5, 4)
        found: Value = Const(0)
        for exponent in steps:
            scaled = elements << exponent if exponent >= 0 else elements >> -exponent
            found = Mux(step == exponent, scaled, found)
        return found

    def _access(self, m: Module) -> None:
        """Read a CSR, and write it as the instruction says."""
        vcsr = Cat(self._saturation, self.vxrm)
        held = {
            "vstart": self.vstart,
            "vxsat": self._saturation,
            "vxrm": self.vxrm,
            "vcsr": vcsr,
            "vl": self.vl,
            "vtype": Cat(self.vtype.as_value()[:8], Const(0, 23), self.vtype.illegal),
            "vlenb": Const(self.config.vlen // 8, 32),
        }
        by_immediate = self.word[14]
        operand = Mux(by_immediate, self.word[15:20], self.rs1)
        is_access = self._is(*(name for name in _ROWS if name.startswith("csrr")))
        writes = self._is("csrrw", "csrrwi") | (self.word[15:20] != 0)
        new = Signal(32)
        m.d.comb += new.eq(operand)
        for name, value in held.items():
            with m.If(is_access & (self.word[20:] == CSR_BY_NAME[name].address)):
                m.d.comb += [self.mine.eq(1), self.value.eq(value)]
                with m.If(self._is(*_SETS)):
                    m.d.comb += new.eq(value | operand)
                with m.If(self._is(*_CLEARS)):
                    m.d.comb += new.eq(value & ~operand)
                if name in ("vstart", "vxsat", "vxrm", "vcsr"):
                    target = self.vstart[:-1] if name == "vstart" else value
                    with m.If(self.commit & writes):
                        m.d.sync += target.eq(new)
                        if name == "vstart":
                            m.d.sync += self.vstart[-1].eq(0)
