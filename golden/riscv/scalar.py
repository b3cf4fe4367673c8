"""Closures for RV32IMA and Zicsr."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause
from fanweave.golden.riscv.expressions import BRANCHES, MAKERS, Closure
from fanweave.golden.riscv.trap import TrapError

if TYPE_CHECKING:
    from fanweave.golden.riscv.hart import Hart

__all__ = ["ENDINGS", "SCALAR", "Fields", "Maker"]

Fields = dict[str, int]
#: maker(hart, fields, pc) -> closure
Maker = Callable[["Hart", Fields, int], Closure]

_M = 0xFFFFFFFF
#: Where results for x0 go.
_NOWHERE = 32
_STATUS = CSR_BY_NAME["mstatus"]


def _destination(fields: Fields) -> int:
    return fields["rd"] or _NOWHERE


def _arithmetic(name: str) -> Maker:
    maker = MAKERS[name]

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        second = next(fields[key] for key in ("rs2", "imm", "shamt") if key in fields)
        return maker(hart.x, _destination(fields), fields["rs1"], second & _M)

    return make


def _constant(hart: "Hart", rd: int, value: int) -> Closure:
    x = hart.x

    def run() -> None:
        x[rd] = value

    return run


def _lui(hart: "Hart", fields: Fields, pc: int) -> Closure:
    return _constant(hart, _destination(fields), fields["imm"] & _M)


def _auipc(hart: "Hart", fields: Fields, pc: int) -> Closure:
    return _constant(hart, _destination(fields), pc + fields["imm"] & _M)


def _load(size: int, signed: bool) -> Maker:
    top, wrap = 1 << 8 * size - 1, (1 << 32) - (1 << 8 * size)

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, rd, rs1, imm = hart.x, _destination(fields), fields["rs1"], fields["imm"]
        base, end, view, load = hart.fast_base, hart.fast_end, hart.fast[size], hart.memory.load

        def run() -> None:
            address = x[rs1] + imm & _M
            if base <= address < end and not address & size - 1:
                value = view[(address - base) // size]
            else:
                value = load(address, size)
            x[rd] = value + wrap if signed and value & top else value

        return run

    return make


def _load_word(hart: "Hart", fields: Fields, pc: int) -> Closure:
    x, rd, rs1, imm = hart.x, _destination(fields), fields["rs1"], fields["imm"]
    base, end, view, load = hart.fast_base, hart.fast_end, hart.fast[4], hart.memory.load

    def run() -> None:
        address = x[rs1] + imm & _M
        if base <= address < end and not address & 3:
            x[rd] = view[address - base >> 2]
        else:
            x[rd] = load(address, 4)

    return run


def _store(size: int) -> Maker:
    mask = (1 << 8 * size) - 1

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, rs2, rs1, imm = hart.x, fields["rs2"], fields["rs1"], fields["imm"]
        base, end, view, store = hart.fast_base, hart.fast_end, hart.fast[size], hart.memory.store

        def run() -> None:
            address = x[rs1] + imm & _M
            if base <= address < end and not address & size - 1:
                view[(address - base) // size] = x[rs2] & mask
            else:
                store(address, size, x[rs2])

        return run

    return make


def _nothing(hart: "Hart", fields: Fields, pc: int) -> Closure:
    return lambda: None


_AMO: dict[str, Callable[[int, int], int]] = {
    "amoswap.w": lambda old, new: new,
    "amoadd.w": lambda old, new: old + new & _M,
    "amoxor.w": lambda old, new: old ^ new,
    "amoand.w": lambda old, new: old & new,
    "amoor.w": lambda old, new: old | new,
    "amomin.w": lambda old, new: min(old, new, key=lambda v: v ^ 1 << 31),
    "amomax.w": lambda old, new: max(old, new, key=lambda v: v ^ 1 << 31),
    "amominu.w": min,
    "amomaxu.w": max,
}


def _atomic_load(hart: "Hart", address: int) -> int:
    """The word; misaligned and missing ones are a store's fault."""
    try:
        return hart.memory.load(address, 4)
    except TrapError as trap:
        store = {
            Cause.LOAD_MISALIGNED: Cause.STORE_MISALIGNED,
            Cause.LOAD_FAULT: Cause.STORE_FAULT,
        }
        raise TrapError(store[trap.cause], trap.value) from None


def _amo(name: str) -> Maker:
    operation = _AMO[name]

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, rd, rs1, rs2 = hart.x, _destination(fields), fields["rs1"], fields["rs2"]

        def run() -> None:
            address = x[rs1]
            old = _atomic_load(hart, address)
            hart.memory.store(address, 4, operation(old, x[rs2]))
            hart.reserve(None)
            x[rd] = old

        return run

    return make


def _load_reserved(hart: "Hart", fields: Fields, pc: int) -> Closure:
    x, rd, rs1 = hart.x, _destination(fields), fields["rs1"]

    def run() -> None:
        address = x[rs1]
        x[rd] = hart.memory.load(address, 4)
        hart.reserve(address)

    return run


def _store_conditional(hart: "Hart", fields: Fields, pc: int) -> Closure:
    x, rd, rs1, rs2 = hart.x, _destination(fields), fields["rs1"], fields["rs2"]

    def run() -> None:
        address = x[rs1]
        held = _atomic_load(hart, address)
        if hart.reservation == (address, held):
            hart.memory.store(address, 4, x[rs2])
            x[rd] = 0
        else:
            x[rd] = 1
        hart.reserve(None)

    return run


#: Instructions that go on behind themselves.
SCALAR: dict[str, Maker] = {
    **{name: _arithmetic(name) for name in MAKERS},
    "lui": _lui,
    "auipc": _auipc,
    "lb": _load(1, True),
    "lh": _load(2, True),
    "lw": _load_word,
    "lbu": _load(1, False),
    "lhu": _load(2, False),
    "sb": _store(1),
    "sh": _store(2),
    "sw": _store(4),
    "fence": _nothing,
    **{name: _amo(name) for name in _AMO},
    "lr.w": _load_reserved,
    "sc.w": _store_conditional,
}


def _branch(name: str) -> Maker:
    maker = BRANCHES[name]

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        target = pc + fields["imm"] & _M
        run = maker(hart.x, fields["rs1"], fields["rs2"], target, pc + 4)
        return _aligned(run) if target & 3 else run

    return make


def _aligned(branch: Closure) -> Closure:
    """A branch whose target is not an instruction's address traps where it is taken."""

    def run() -> int:
        following: int = branch()
        if following & 3:
            raise TrapError(Cause.FETCH_MISALIGNED, following)
        return following

    return run


def _jump(hart: "Hart", fields: Fields, pc: int) -> Closure:
    x, rd, target, following = hart.x, _destination(fields), pc + fields["imm"] & _M, pc + 4

    def run() -> int:
        if target & 3:
            raise TrapError(Cause.FETCH_MISALIGNED, target)
        x[rd] = following
        return target

    return run


def _jump_register(hart: "Hart", fields: Fields, pc: int) -> Closure:
    x, rd, rs1, imm, following = hart.x, _destination(fields), fields["rs1"], fields["imm"], pc + 4

    def run() -> int:
        target = x[rs1] + imm & 0xFFFFFFFE
        if target & 2:
            raise TrapError(Cause.FETCH_MISALIGNED, target)
        x[rd] = following
        return target

    return run


def _raising(cause: Cause) -> Maker:
    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        def run() -> int:
            raise TrapError(cause, pc if cause is Cause.BREAKPOINT else 0)

        return run

    return make


def _return(hart: "Hart", fields: Fields, pc: int) -> Closure:
    values = hart.csrs.values

    def run() -> int:
        mstatus = values["mstatus"]
        mie = mstatus >> 7 & 1
        values["mstatus"] = mstatus & ~8 | mie << 3 | 0x80
        hart.reserve(None)
        return values["mepc"]

    return run


def _csr(hart: "Hart", fields: Fields, pc: int, operation: str, immediate: bool) -> Closure:
    x, csrs, rd = hart.x, hart.csrs, fields["rd"]
    source = fields["zimm"] if immediate else fields["rs1"]
    writes = operation == "w" or source != 0

    def run() -> int:
        name = csrs.access(fields["csr"], writes)
        operand = source if immediate else x[source]
        old = csrs.read(name)
        if operation == "w":
            new = operand
        else:
            new = old | operand if operation == "s" else old & ~operand
        if writes:
            csrs.write(name, new)
        x[rd or _NOWHERE] = old
        return pc + 4

    return run


def _csr_maker(name: str) -> Maker:
    operation, immediate = name[4], name.endswith("i")
    return lambda hart, fields, pc: _csr(hart, fields, pc, operation, immediate)


def _fence_i(hart: "Hart", fields: Fields, pc: int) -> Closure:
    def run() -> Any:
        hart.forget_code()
        return pc + 4

    return run


def _wait_for_interrupt(hart: "Hart", fields: Fields, pc: int) -> Closure:
    return lambda: pc + 4


#: Instructions that name the next one: jumps, and what must see exact counters or changes code.
ENDINGS: dict[str, Maker] = {
    **{name: _branch(name) for name in BRANCHES},
    "jal": _jump,
    "jalr": _jump_register,
    "ecall": _raising(Cause.ECALL),
    "ebreak": _raising(Cause.BREAKPOINT),
    "mret": _return,
    "wfi": _wait_for_interrupt,
    "fence.i": _fence_i,
    **{
        name: _csr_maker(name) for name in ("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci")
    },
}
