"""Arithmetic on ranges: whatever the operands are of those they hold, the result holds theirs.

Results are as RFC 9669 says, at one width: division by zero gives 0, modulo by zero leaves the
dividend, and of a shift's count only as many bits count as the width needs.
"""

from collections.abc import Callable

from fanweave.golden.ebpf.arithmetic import alu
from fanweave.golden.isa.ebpf import AluOperation
from fanweave.sw.ebpf.verifier import tristate
from fanweave.sw.ebpf.verifier.ranges import Range
from fanweave.sw.ebpf.verifier.tristate import Tristate

__all__ = ["apply", "byte_order", "sign_extend", "truncate", "zero_extend"]

_Bounds = tuple[int, int]


def apply(operation: int, a: Range, b: Range, *, offset: int = 0) -> Range:
    """Result of an operation at the width of its operands.

    Parameters
    ----------
    operation : int
        An `AluOperation` but `MOV` and `END`.
    a, b : Range
        Operands, of one width; `b` does not matter for `NEG`.
    offset : int
        1 for signed division and modulo.
    """
    if a.mask == 0 and b.mask == 0 and a.bits in (32, 64):
        value = alu(_OPERATIONS[operation], a.value, b.value, offset=offset, bits=a.bits)
        return Range.constant(value, a.bits)
    if offset:
        return _SIGNED[operation](a, b)
    return _FUNCTIONS[operation](a, b)


def _made(
    bits: int,
    known: Tristate | None = None,
    unsigned: _Bounds | None = None,
    signed: _Bounds | None = None,
) -> Range:
    found = Range.of(bits, known=known, unsigned=unsigned, signed=signed)
    # Nothing is left only if an operand held nothing, which its parts need not show; then any
    # result is right.
    return Range.unknown(bits) if found is None else found


def _unsigned_if_it_fits(low: int, high: int, bits: int) -> _Bounds | None:
    """Bounds modulo the width, if all numbers wrap equally often."""
    if low >> bits != high >> bits:
        return None
    limit = (1 << bits) - 1
    return low & limit, high & limit


def _signed_if_it_fits(low: int, high: int, bits: int) -> _Bounds | None:
    half = 1 << bits - 1
    return (low, high) if -half <= low and high < half else None


def _add(a: Range, b: Range) -> Range:
    return _made(
        a.bits,
        tristate.add(a.known, b.known, a.bits),
        _unsigned_if_it_fits(a.umin + b.umin, a.umax + b.umax, a.bits),
        _signed_if_it_fits(a.smin + b.smin, a.smax + b.smax, a.bits),
    )


def _subtract(a: Range, b: Range) -> Range:
    return _made(
        a.bits,
        tristate.subtract(a.known, b.known, a.bits),
        _unsigned_if_it_fits(a.umin - b.umax, a.umax - b.umin, a.bits),
        _signed_if_it_fits(a.smin - b.smax, a.smax - b.smin, a.bits),
    )


def _negate(a: Range, b: Range) -> Range:
    return _subtract(Range.constant(0, a.bits), a)


def _multiply(a: Range, b: Range) -> Range:
    corners = [x * y for x in (a.smin, a.smax) for y in (b.smin, b.smax)]
    return _made(
        a.bits,
        tristate.multiply(a.known, b.known, a.bits),
        _unsigned_if_it_fits(a.umin * b.umin, a.umax * b.umax, a.bits),
        _signed_if_it_fits(min(corners), max(corners), a.bits),
    )


def _and(a: Range, b: Range) -> Range:
    known = tristate.bitwise_and(a.known, b.known)
    # Of two negative numbers the result is negative and no greater than either.
    signed = (-(1 << a.bits - 1), min(a.smax, b.smax)) if a.smax < 0 and b.smax < 0 else None
    return _made(a.bits, known, (0, min(a.umax, b.umax)), signed)


def _or(a: Range, b: Range) -> Range:
    known = tristate.bitwise_or(a.known, b.known)
    return _made(a.bits, known, (max(a.umin, b.umin), (1 << a.bits) - 1))


def _xor(a: Range, b: Range) -> Range:
    return _made(a.bits, tristate.bitwise_xor(a.known, b.known))


def _counts(b: Range) -> _Bounds:
    """Least and greatest number of places by which a shift shifts."""
    count = _and(b, Range.constant(b.bits - 1, b.bits))
    return count.umin, count.umax


def _shift_left(a: Range, b: Range) -> Range:
    low, high = _counts(b)
    bits = a.bits
    if low == high:
        known = tristate.shift_left(a.known, low, bits)
    else:
        # Where `a` ends in zeros, so does the result, and as many more as it is shifted by.
        zeros = min(((a.value | a.mask) & -(a.value | a.mask) or 1 << bits).bit_length() - 1, bits)
        known = (0, (1 << bits) - 1 & -(1 << min(zeros + low, bits)))
    unsigned = (a.umin << low, a.umax << high) if a.umax << high < 1 << bits else None
    least = a.smin << (high if a.smin < 0 else low)
    most = a.smax << (low if a.smax < 0 else high)
    return _made(bits, known, unsigned, _signed_if_it_fits(least, most, bits))


def _shift_right(a: Range, b: Range) -> Range:
    low, high = _counts(b)
    known = (a.value >> low, a.mask >> low) if low == high else None
    return _made(a.bits, known, (a.umin >> high, a.umax >> low))


def _arithmetic_shift_right(a: Range, b: Range) -> Range:
    low, high = _counts(b)
    known = tristate.arithmetic_shift_right(a.known, low, a.bits) if low == high else None
    least = a.smin >> (low if a.smin < 0 else high)
    most = a.smax >> (high if a.smax < 0 else low)
    return _made(a.bits, known, None, (least, most))


def _divide(a: Range, b: Range) -> Range:
    if b.umin:
        return _made(a.bits, None, (a.umin // b.umax, a.umax // b.umin))
    # By zero it is 0, and by others no more than the dividend.
    return _made(a.bits, None, (0, a.umax if b.umax else 0))


def _modulo(a: Range, b: Range) -> Range:
    # By zero, and by what is greater, the dividend is left.
    if a.umax < b.umin or b.umax == 0:
        return a
    if b.is_constant and b.value & (b.value - 1) == 0:
        return _and(a, Range.constant(b.value - 1, a.bits))
    most = min(a.umax, b.umax - 1) if b.umin else a.umax
    return _made(a.bits, None, (0, most))


def _divide_signed(a: Range, b: Range) -> Range:
    if b.is_constant and b.value:
        if b.smin == -1:
            return _negate(a, b)
        ends = [_toward_zero(a.smin, b.smin), _toward_zero(a.smax, b.smin)]
        return _made(a.bits, None, None, (min(ends), max(ends)))
    # The least number divided by -1 is itself, and so within these bounds too.
    size = max(abs(a.smin), abs(a.smax))
    return _made(a.bits, None, None, (-size, size))


def _toward_zero(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _modulo_signed(a: Range, b: Range) -> Range:
    low, high = min(a.smin, 0), max(a.smax, 0)
    # The sign is the dividend's; by zero the dividend is left.
    if not b.holds(0):
        size = max(abs(b.smin), abs(b.smax)) - 1
        low, high = max(low, -size), min(high, size)
    return _made(a.bits, None, None, (low, high))


_OPERATIONS = {int(operation): operation for operation in AluOperation}
_FUNCTIONS: dict[int, Callable[[Range, Range], Range]] = {
    AluOperation.ADD: _add,
    AluOperation.SUB: _subtract,
    AluOperation.MUL: _multiply,
    AluOperation.DIV: _divide,
    AluOperation.OR: _or,
    AluOperation.AND: _and,
    AluOperation.LSH: _shift_left,
    AluOperation.RSH: _shift_right,
    AluOperation.NEG: _negate,
    AluOperation.MOD: _modulo,
    AluOperation.XOR: _xor,
    AluOperation.ARSH: _arithmetic_shift_right,
}
_SIGNED: dict[int, Callable[[Range, Range], Range]] = {
    AluOperation.DIV: _divide_signed,
    AluOperation.MOD: _modulo_signed,
}


def truncate(a: Range, bits: int) -> Range:
    """The low bits."""
    limit = (1 << bits) - 1
    if a.mask == 0:
        return Range.constant(a.value, bits)
    return _made(
        bits,
        (a.value & limit, a.mask & limit),
        _unsigned_if_it_fits(a.umin, a.umax, bits),
        _signed_if_it_fits(a.smin, a.smax, bits),
    )


def zero_extend(a: Range, bits: int) -> Range:
    """The same unsigned number with more bits."""
    if a.mask == 0:
        return Range.constant(a.value, bits)
    return _made(bits, a.known, (a.umin, a.umax))


def sign_extend(a: Range, bits: int) -> Range:
    """The same signed number with more bits."""
    if a.mask == 0:
        return Range.constant(a.smin, bits)
    shift = bits - a.bits
    known = tristate.arithmetic_shift_right(tristate.shift_left(a.known, shift, bits), shift, bits)
    return _made(bits, known, None, (a.smin, a.smax))


def byte_order(a: Range, bits: int, *, swap: bool) -> Range:
    """The low `bits`, with their bytes reversed if `swap`, with zeros above."""
    low = truncate(a, bits)
    if not swap:
        return zero_extend(low, a.bits)
    value, mask = (int.from_bytes(part.to_bytes(bits // 8, "little"), "big") for part in low.known)
    return _made(a.bits, (value, mask))
