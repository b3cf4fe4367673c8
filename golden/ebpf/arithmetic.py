"""Arithmetic, comparisons and byte orders of RFC 9669, on unsigned numbers of 64 bits."""

from fanweave.golden.isa.ebpf import AluOperation, JumpOperation

__all__ = ["MASK32", "MASK64", "alu", "byte_order", "compare", "signed"]

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1


def signed(value: int, bits: int) -> int:
    """The number that the low bits are in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def alu(operation: AluOperation, dst: int, src: int, *, offset: int, bits: int) -> int:
    """Result of an arithmetic instruction.

    Parameters
    ----------
    operation : AluOperation
        All but `END`.
    dst, src : int
        Operands; unsigned, 64 bits.
    offset : int
        1 for signed division and modulo; 8, 16 or 32 for a move that extends the sign.
    bits : int
        64 or 32. With 32 the upper half of the result is zero.
    """
    mask = (1 << bits) - 1
    a, b = dst & mask, src & mask
    op = AluOperation
    if operation is op.DIV:
        return (_divide(a, b, bits) if offset == 0 else _divide_signed(a, b, bits)) & mask
    if operation is op.MOD:
        return (_modulo(a, b, bits) if offset == 0 else _modulo_signed(a, b, bits)) & mask
    if operation is op.MOV:
        return (signed(b, offset) if offset else b) & mask
    shift = b & bits - 1
    return {
        op.ADD: lambda: a + b,
        op.SUB: lambda: a - b,
        op.MUL: lambda: a * b,
        op.OR: lambda: a | b,
        op.AND: lambda: a & b,
        op.LSH: lambda: a << shift,
        op.RSH: lambda: a >> shift,
        op.NEG: lambda: -a,
        op.XOR: lambda: a ^ b,
        op.ARSH: lambda: signed(a, bits) >> shift,
    }[operation]() & mask


def _divide(a: int, b: int, bits: int) -> int:
    return a // b if b else 0


def _modulo(a: int, b: int, bits: int) -> int:
    return a % b if b else a


def _divide_signed(a: int, b: int, bits: int) -> int:
    if b == 0:
        return 0
    x, y = signed(a, bits), signed(b, bits)
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _modulo_signed(a: int, b: int, bits: int) -> int:
    if b == 0:
        return a
    x, y = signed(a, bits), signed(b, bits)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def byte_order(value: int, bits: int, *, swap: bool) -> int:
    """The low `bits`, with their bytes reversed if `swap`; the others become zero."""
    kept = value & (1 << bits) - 1
    return int.from_bytes(kept.to_bytes(bits // 8, "little"), "big") if swap else kept


def compare(operation: JumpOperation, dst: int, src: int, *, bits: int) -> bool:
    """Whether a conditional jump is taken."""
    mask = (1 << bits) - 1
    a, b = dst & mask, src & mask
    x, y = signed(a, bits), signed(b, bits)
    op = JumpOperation
    return {
        op.JEQ: a == b,
        op.JGT: a > b,
        op.JGE: a >= b,
        op.JSET: bool(a & b),
        op.JNE: a != b,
        op.JSGT: x > y,
        op.JSGE: x >= y,
        op.JLT: a < b,
        op.JLE: a <= b,
        op.JSLT: x < y,
        op.JSLE: x <= y,
    }[operation]
