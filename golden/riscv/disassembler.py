"""Instructions as text, from the tables."""

from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_csr import CSRS, RoundingMode

__all__ = ["FLOAT_NAMES", "INTEGER_NAMES", "disassemble", "vtype_text"]

#: Names of the calling convention, by number.
INTEGER_NAMES: tuple[str, ...] = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{i}" for i in range(8)),
    *(f"s{i}" for i in range(2, 12)),
    *(f"t{i}" for i in range(3, 7)),
)
FLOAT_NAMES: tuple[str, ...] = (
    *(f"ft{i}" for i in range(8)),
    *("fs0", "fs1"),
    *(f"fa{i}" for i in range(8)),
    *(f"fs{i}" for i in range(2, 12)),
    *(f"ft{i}" for i in range(8, 12)),
)
_CSR_NAMES = {entry.address: entry.name for entry in CSRS}
_LMUL = {0: "m1", 1: "m2", 2: "m4", 3: "m8", 5: "mf8", 6: "mf4", 7: "mf2"}
#: Instructions whose immediate is relative to their address.
_RELATIVE = frozenset({"jal", "beq", "bne", "blt", "bge", "bltu", "bgeu"})
_UPPER = frozenset({"lui", "auipc"})


def disassemble(word: int, pc: int | None = None) -> str:
    """An instruction as an assembler writes it.

    Parameters
    ----------
    word : int
        32 bits.
    pc : int or None
        Its address; with it, targets of jumps and branches are addresses, otherwise distances.

    Returns
    -------
    str
        ``unknown`` and the bits if the tables do not have it.
    """
    kind = kind_of(word)
    if kind is None:
        return f"unknown {word:#010x}"
    operands = {}
    for name, value in kind.decode(word).items():
        if name == "imm" and kind.name in _RELATIVE and pc is not None:
            operands[name] = f"{pc + value & 0xFFFFFFFF:#x}"
        elif name == "imm" and kind.name in _UPPER:
            operands[name] = f"{value >> 12 & 0xFFFFF:#x}"
        else:
            operands[name] = _operand(name, value)
    suffix = _order(operands)
    return f"{kind.name}{suffix} {kind.syntax.format(**operands)}".rstrip()


def vtype_text(value: int) -> str:
    """The operand of vsetvli, such as ``e32, m4, ta, ma``."""
    sew, lmul = value >> 3 & 7, value & 7
    if value >> 8 or sew > 3 or lmul not in _LMUL:
        return str(value)
    tail, mask = "ta" if value & 0x40 else "tu", "ma" if value & 0x80 else "mu"
    return f"e{8 << sew}, {_LMUL[lmul]}, {tail}, {mask}"


def _order(operands: dict[str, str]) -> str:
    """Suffix of an atomic instruction."""
    order = operands.get("aq", "") + operands.get("rl", "")
    return f".{order}" if order else ""


def _operand(name: str, value: int) -> str:
    if name in ("rd", "rs1", "rs2"):
        return INTEGER_NAMES[value]
    if name[0] == "f" and name != "fm":
        return FLOAT_NAMES[value]
    match name:
        case "vd" | "vs1" | "vs2" | "vs3":
            return f"v{value}"
        case "vm":
            return "" if value else ", v0.t"
        case "aq" | "rl":
            return name if value else ""
        case "rm":
            return _rounding(value)
        case "csr":
            return _CSR_NAMES.get(value, f"{value:#x}")
        case "vtype" | "vtype10":
            return vtype_text(value)
        case "pred" | "succ":
            return "".join(c for i, c in enumerate("iorw") if value >> 3 - i & 1) or "0"
        case _:
            return str(value)


def _rounding(value: int) -> str:
    if value == RoundingMode.DYN:
        return ""
    known = value in tuple(RoundingMode)
    return f", {RoundingMode(value).name.lower()}" if known else f", rm{value}"
