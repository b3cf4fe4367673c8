"""Reading and writing of control and status registers."""

from typing import TYPE_CHECKING

from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, CSRS, MISA, RoundingMode, Status
from fanweave.golden.riscv.trap import illegal

if TYPE_CHECKING:
    from fanweave.golden.riscv.hart import Hart

__all__ = ["CsrFile"]

_BY_ADDRESS = {entry.address: entry for entry in CSRS}
_READ_ONLY = 0xC00
_M = 0xFFFFFFFF
_STATUS = CSR_BY_NAME["mstatus"]
_FLOAT = frozenset({"fflags", "frm", "fcsr"})
_VECTOR = frozenset({"vstart", "vxsat", "vxrm", "vcsr", "vl", "vtype", "vlenb"})
#: Counters: name of the low half -> (what it counts, its high half).
_COUNTERS = ("mcycle", "minstret", "cycle", "instret")


class CsrFile:
    """The CSRs of a hart; those of the units are kept by the units.

    Parameters
    ----------
    hart : Hart
        Whose they are.
    """

    def __init__(self, hart: "Hart") -> None:
        self._hart = hart
        self.values = {entry.name: 0 for entry in CSRS}
        self.values["misa"] = MISA
        self.values["mhartid"] = hart.number
        self.values["vlenb"] = hart.config.register_bytes
        self.values["mstatus"] = _STATUS.pack(mpp=3)
        #: What was written to a counter, less its count at that time.
        self._offsets = dict.fromkeys(_COUNTERS, 0)

    def status(self, name: str) -> int:
        """A field of mstatus."""
        return _STATUS.field(name).extract(self.values["mstatus"])

    def check_enabled(self, floating: bool, vector: bool) -> None:
        """Trap if a unit is off; mark it dirty otherwise."""
        mstatus = self.values["mstatus"]
        if (floating and not mstatus & 0x6000) or (vector and not mstatus & 0x0600):
            raise illegal()
        self.values["mstatus"] = (
            mstatus | 1 << 31 | (0x6000 if floating else 0) | (0x0600 if vector else 0)
        )

    def access(self, number: int, write: bool) -> str:
        """Name of a CSR.

        Raises
        ------
        TrapError
            If there is none, it cannot be written, or its unit is off.
        """
        entry = _BY_ADDRESS.get(number)
        if entry is None or (write and number >= _READ_ONLY):
            raise illegal()
        ventaglio = entry.name.startswith("vtl")
        if entry.name in _FLOAT and self.status("fs") == Status.OFF:
            raise illegal()
        if (entry.name in _VECTOR or ventaglio) and self.status("vs") == Status.OFF:
            raise illegal()
        return entry.name

    def read(self, name: str) -> int:
        """Value of a CSR."""
        hart = self._hart
        match name:
            case "fflags":
                return hart.fflags
            case "frm":
                return hart.frm
            case "fcsr":
                return hart.frm << 5 | hart.fflags
            case "vl" | "vtype" | "vstart" | "vxsat" | "vxrm":
                value: int = getattr(hart.vector, name)
                return value
            case "vcsr":
                return hart.vector.vxrm << 1 | hart.vector.vxsat
            case "mcycle" | "minstret" | "cycle" | "instret":
                return self._count(name) & _M
            case "mcycleh" | "minstreth" | "cycleh" | "instreth":
                return self._count(name[:-1]) >> 32 & _M
        return self.values[name]

    def _count(self, name: str) -> int:
        """A counter of 64 bits: here every instruction takes one cycle."""
        source = name if name.startswith("m") else f"m{name}"
        return self._hart.retired + self._offsets[source] & (1 << 64) - 1

    def write(self, name: str, value: int) -> None:
        """Write a CSR; fields keep to what they can hold."""
        hart = self._hart
        match name:
            case "fflags":
                hart.fflags = value & 31
            case "frm":
                hart.frm = value & 7
            case "fcsr":
                hart.fflags, hart.frm = value & 31, value >> 5 & 7
            case "vstart":
                hart.vector.vstart = value & hart.config.vlen - 1
            case "vxsat":
                hart.vector.vxsat = value & 1
            case "vxrm":
                hart.vector.vxrm = value & 3
            case "vcsr":
                hart.vector.vxsat, hart.vector.vxrm = value & 1, value >> 1 & 3
            case "mcycle" | "minstret" | "mcycleh" | "minstreth":
                self._set_count(name, value)
            case "mstatus":
                self.values[name] = self._mstatus(value)
            case "mtvec" | "mepc":
                self.values[name] = value & ~3
            case "misa" | "mstatush" | "mip":
                pass
            case "vtlerr":
                self.values[name] = 0
            case _:
                entry = CSR_BY_NAME[name]
                mask = sum((1 << part.width) - 1 << part.low for part in entry.fields)
                self.values[name] = value & mask
        if name in _FLOAT:
            self.check_enabled(floating=True, vector=False)
        elif name in _VECTOR or name.startswith("vtl"):
            self.check_enabled(floating=False, vector=True)

    def _mstatus(self, value: int) -> int:
        fields = {name: _STATUS.field(name).extract(value) for name in ("mie", "mpie", "vs", "fs")}
        dirty = Status.DIRTY in (fields["vs"], fields["fs"])
        return _STATUS.pack(**fields, mpp=3, sd=int(dirty))

    def _set_count(self, name: str, value: int) -> None:
        low = name.removesuffix("h")
        count = self._count(low)
        wanted = count & _M | value << 32 if name.endswith("h") else count & _M << 32 | value
        # The write takes the place of the instruction's own count.
        self._offsets[low] += wanted - count - 1

    def rounding(self, mode: int) -> int:
        """Rounding mode of an instruction.

        Raises
        ------
        TrapError
            If it is none.
        """
        chosen = self._hart.frm if mode == RoundingMode.DYN else mode
        if chosen > RoundingMode.RMM:
            raise illegal()
        return chosen
