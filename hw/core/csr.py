"""Control and status registers, traps' bookkeeping, and counters."""

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, CSRS, MISA, Status
from fanweave.hw.core.operations import CsrOperation

__all__ = ["CsrFile"]

#: CSR numbers from here on cannot be written.
_READ_ONLY = 0xC00
#: Registers that hold what is written, all bits of it.
_PLAIN = ("mie", "mscratch", "mcause", "mtval")
#: Those of which the lowest two bits are zero.
_ADDRESSES = ("mtvec", "mepc")
_FLOAT = ("fflags", "frm", "fcsr")
_COUNTERS = ("cycle", "instret")


class CsrFile(wiring.Component):
    """The CSRs of a hart, but for those of the vector unit: their names begin with a v.

    Members
    -------
    address : In(12); operation : In(2); operand : In(32)
        What an instruction asks for; see `CsrOperation`.
    writes : In(1)
        Whether it would write.
    legal : Out(1)
        Such a CSR exists, can be written if it is to be, and its unit is not off.
    of_vector, of_flags : Out(1)
        It belongs to the vector unit; it holds the flags, which may still be on their way.
    value : Out(32)
        Its value, before it is written.
    commit : In(1)
        The instruction completes: write, if it writes.
    retired : In(1)
        An instruction completes.
    trap, ret : In(1); cause : In(4); pc, trap_value : In(32)
        A trap is taken, or returned from.
    float_used, vector_used : In(1)
        Mark the unit dirty.
    flags : In(5)
        Exceptions to accrue.
    float_off, vector_off : Out(1); rounding : Out(3); handler, return_pc : Out(32)
        Whether units are off, ``frm``, ``mtvec`` and ``mepc``.

    Parameters
    ----------
    hart : int
        ``mhartid``.
    """

    def __init__(self, *, hart: int) -> None:
        self.hart = hart
        super().__init__(
            {
                "address": In(12),
                "operation": In(2),
                "operand": In(32),
                "writes": In(1),
                "legal": Out(1),
                "of_vector": Out(1),
                "of_flags": Out(1),
                "value": Out(32),
                "commit": In(1),
                "retired": In(1),
                "trap": In(1),
                "ret": In(1),
                "cause": In(4),
                "pc": In(32),
                "trap_value": In(32),
                "float_used": In(1),
                "vector_used": In(1),
                "flags": In(5),
                "float_off": Out(1),
                "vector_off": Out(1),
                "rounding": Out(3),
                "handler": Out(32),
                "return_pc": Out(32),
            }
        )
        plain = {name: Signal(32, name=name) for name in (*_PLAIN, *_ADDRESSES)}
        #: What the registers hold, for observers.
        self.stored: dict[str, Signal] = {
            **plain,
            **{f"m{name}": Signal(64, name=f"m{name}") for name in _COUNTERS},
            **{name: Signal(width, name=name) for name, width in (("fflags", 5), ("frm", 3))},
            **{
                f"mstatus_{name}": Signal(width, name=f"mstatus_{name}")
                for name, width in (("mie", 1), ("mpie", 1), ("vs", 2), ("fs", 2))
            },
        }

    def status(self) -> Value:
        """The value of ``mstatus``."""
        stored = self.stored
        dirty = (stored["mstatus_fs"] == Status.DIRTY) | (stored["mstatus_vs"] == Status.DIRTY)
        values = {name: stored[f"mstatus_{name}"] for name in ("mie", "mpie", "vs", "fs")}
        values |= {"mpp": Const(3, 2), "sd": dirty}
        word: Value = Const(0, 32)
        for name, value in values.items():
            word = word | (value << CSR_BY_NAME["mstatus"].field(name).low)
        return word[:32]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stored = self.stored
        self._read(m)
        new = Signal(32)
        m.d.comb += new.eq(self.operand)
        with m.If(self.operation == CsrOperation.CSRRS):
            m.d.comb += new.eq(self.value | self.operand)
        with m.Elif(self.operation == CsrOperation.CSRRC):
            m.d.comb += new.eq(self.value & ~self.operand)
        m.d.sync += [
            stored["mcycle"].eq(stored["mcycle"] + 1),
            stored["minstret"].eq(stored["minstret"] + self.retired),
            stored["fflags"].eq(stored["fflags"] | self.flags),
        ]
        with m.If(self.float_used):
            m.d.sync += stored["mstatus_fs"].eq(Status.DIRTY)
        with m.If(self.vector_used):
            m.d.sync += stored["mstatus_vs"].eq(Status.DIRTY)
        with m.If(self.commit & self.writes), m.Switch(self.address):
            self._write(m, new)
        self._trap(m)
        m.d.comb += [
            self.float_off.eq(stored["mstatus_fs"] == Status.OFF),
            self.vector_off.eq(stored["mstatus_vs"] == Status.OFF),
            self.rounding.eq(stored["frm"]),
            self.handler.eq(stored["mtvec"]),
            self.return_pc.eq(stored["mepc"]),
        ]
        return m

    def _read(self, m: Module) -> None:
        stored = self.stored
        values: dict[str, Value] = {name: stored[name] for name in (*_PLAIN, *_ADDRESSES)}
        values |= {
            "fflags": stored["fflags"],
            "frm": stored["frm"],
            "fcsr": Cat(stored["fflags"], stored["frm"]),
            "mstatus": self.status(),
            "misa": Const(MISA, 32),
            "mhartid": Const(self.hart, 32),
        }
        for name in _COUNTERS:
            for prefix in ("m", ""):
                values[f"{prefix}{name}"] = stored[f"m{name}"][:32]
                values[f"{prefix}{name}h"] = stored[f"m{name}"][32:]
        exists, of_float = Signal(), Signal()
        with m.Switch(self.address):
            for entry in CSRS:
                with m.Case(entry.address):
                    m.d.comb += [
                        exists.eq(1),
                        of_float.eq(entry.name in _FLOAT),
                        self.of_vector.eq(entry.name.startswith("v")),
                        self.of_flags.eq(entry.name in ("fflags", "fcsr")),
                        self.value.eq(values.get(entry.name, Const(0, 32))),
                    ]
        m.d.comb += self.legal.eq(
            exists
            & ~(self.writes & (self.address >= _READ_ONLY))
            & ~(of_float & self.float_off)
            & ~(self.of_vector & self.vector_off)
        )

    def _write(self, m: Module, new: Signal) -> None:
        """A case for each register that can change."""
        stored = self.stored
        address = {name: entry.address for name, entry in CSR_BY_NAME.items()}
        dirty = stored["mstatus_fs"].eq(Status.DIRTY)
        for name in _PLAIN:
            with m.Case(address[name]):
                m.d.sync += stored[name].eq(new)
        for name in _ADDRESSES:
            with m.Case(address[name]):
                m.d.sync += stored[name].eq(Cat(Const(0, 2), new[2:]))
        with m.Case(address["fflags"]):
            m.d.sync += [stored["fflags"].eq(new), dirty]
        with m.Case(address["frm"]):
            m.d.sync += [stored["frm"].eq(new), dirty]
        with m.Case(address["fcsr"]):
            m.d.sync += [stored["fflags"].eq(new), stored["frm"].eq(new[5:]), dirty]
        with m.Case(address["mstatus"]):
            for name in ("mie", "mpie", "vs", "fs"):
                low = CSR_BY_NAME["mstatus"].field(name).low
                m.d.sync += stored[f"mstatus_{name}"].eq(new[low:])
        for name in _COUNTERS:
            # The write takes the place of this cycle's, or this instruction's, own count.
            count = stored[f"m{name}"]
            with m.Case(address[f"m{name}"]):
                m.d.sync += count.eq(Cat(new, count[32:]))
            with m.Case(address[f"m{name}h"]):
                m.d.sync += count.eq(Cat(count[:32], new))

    def _trap(self, m: Module) -> None:
        stored = self.stored
        with m.If(self.trap):
            m.d.sync += [
                stored["mstatus_mpie"].eq(stored["mstatus_mie"]),
                stored["mstatus_mie"].eq(0),
                stored["mepc"].eq(self.pc),
                stored["mcause"].eq(self.cause),
                stored["mtval"].eq(self.trap_value),
            ]
        with m.If(self.ret):
            m.d.sync += [
                stored["mstatus_mie"].eq(stored["mstatus_mpie"]),
                stored["mstatus_mpie"].eq(1),
            ]
