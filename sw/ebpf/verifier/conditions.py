"""What a condition teaches about its operands, by whether its jump is taken."""

from collections.abc import Callable

from fanweave.golden.isa.ebpf import JumpOperation
from fanweave.sw.ebpf.verifier.ranges import Range
from fanweave.sw.ebpf.verifier.scalar import Scalar

__all__ = ["learn", "of_itself"]

_J = JumpOperation
_Pair = tuple[Range, Range] | None

_PAIRS = (
    *((_J.JEQ, _J.JNE), (_J.JGT, _J.JLE), (_J.JGE, _J.JLT)),
    *((_J.JSGT, _J.JSLE), (_J.JSGE, _J.JSLT)),
)
#: The condition that holds when the other does not.
_OPPOSITE: dict[int, int] = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
#: Conditions that a number fulfils towards itself.
_REFLEXIVE = frozenset({_J.JEQ, _J.JGE, _J.JLE, _J.JSGE, _J.JSLE})


def learn(
    operation: int, a: Scalar, b: Scalar, *, taken: bool, bits: int
) -> tuple[Scalar, Scalar] | None:
    """Operands of a conditional jump after it.

    Parameters
    ----------
    operation : int
        A `JumpOperation`.
    a, b : Scalar
        Operands before.
    taken : bool
        Whether the condition holds.
    bits : int
        Width of the comparison.

    Returns
    -------
    tuple of Scalar, or None
        Operands of which all numbers of `a` and `b` that are possible are still there; None if
        there are none, because the jump cannot go this way.
    """
    narrow = bits == a.low.bits
    x, y = (a.low, b.low) if narrow else (a.full, b.full)
    found = _at_one_width(operation, x, y, taken)
    if found is None:
        return None
    if found[0] is x and found[1] is y:
        return a, b
    if narrow:
        left, right = Scalar.of(a.full, found[0]), Scalar.of(b.full, found[1])
    else:
        left, right = Scalar.of(found[0], a.low), Scalar.of(found[1], b.low)
    return None if left is None or right is None else (left, right)


def of_itself(operation: int) -> bool | None:
    """Whether a number fulfils a condition towards itself; None if it depends on it."""
    return None if operation == _J.JSET else operation in _REFLEXIVE


def _at_one_width(operation: int, a: Range, b: Range, taken: bool) -> _Pair:
    if operation == _J.JSET:
        return _some_bit(a, b) if taken else _no_bit(a, b)
    if not taken:
        operation = _OPPOSITE[operation]
    return _LEARN[operation](a, b)


def _equal(a: Range, b: Range) -> _Pair:
    both = a.meet(b)
    return None if both is None else (both, both)


def _not_equal(a: Range, b: Range) -> _Pair:
    left: Range | None = a
    right: Range | None = b
    if b.is_constant:
        left = _without(a, b)
    if a.is_constant:
        right = _without(b, a)
    return None if left is None or right is None else (left, right)


def _without(a: Range, number: Range) -> Range | None:
    """Without one number, if it is at an end."""
    value, signed = number.value, number.smin
    if a.umin == value or a.umax == value:
        low, high = a.umin + (a.umin == value), a.umax - (a.umax == value)
        return None if low > high else _bounded(a, unsigned=(low, high))
    if a.smin == signed or a.smax == signed:
        return _bounded(a, signed=(a.smin + (a.smin == signed), a.smax - (a.smax == signed)))
    return a


def _bounded(
    a: Range, *, unsigned: tuple[int, int] | None = None, signed: tuple[int, int] | None = None
) -> Range | None:
    if unsigned is not None and (unsigned[0] > a.umax or unsigned[1] < a.umin):
        return None
    if signed is not None and (signed[0] > a.smax or signed[1] < a.smin):
        return None
    other = Range.of(a.bits, unsigned=unsigned, signed=signed)
    return None if other is None else a.meet(other)


def _pair(a: Range | None, b: Range | None) -> _Pair:
    return None if a is None or b is None else (a, b)


def _greater(a: Range, b: Range) -> _Pair:
    top = (1 << a.bits) - 1
    return _pair(_bounded(a, unsigned=(b.umin + 1, top)), _bounded(b, unsigned=(0, a.umax - 1)))


def _greater_or_equal(a: Range, b: Range) -> _Pair:
    top = (1 << a.bits) - 1
    return _pair(_bounded(a, unsigned=(b.umin, top)), _bounded(b, unsigned=(0, a.umax)))


def _signed_greater(a: Range, b: Range) -> _Pair:
    half = 1 << a.bits - 1
    return _pair(
        _bounded(a, signed=(b.smin + 1, half - 1)), _bounded(b, signed=(-half, a.smax - 1))
    )


def _signed_greater_or_equal(a: Range, b: Range) -> _Pair:
    half = 1 << a.bits - 1
    return _pair(_bounded(a, signed=(b.smin, half - 1)), _bounded(b, signed=(-half, a.smax)))


def _swapped(function: Callable[[Range, Range], _Pair]) -> Callable[[Range, Range], _Pair]:
    def learnt(a: Range, b: Range) -> _Pair:
        found = function(b, a)
        return None if found is None else (found[1], found[0])

    return learnt


def _some_bit(a: Range, b: Range) -> _Pair:
    common = (a.value | a.mask) & (b.value | b.mask)
    if not common:
        return None
    if common & (common - 1):
        return a, b
    # Only one bit can be it.
    one = Range.of(a.bits, known=(common, (1 << a.bits) - 1 & ~common))
    assert one is not None
    return _pair(a.meet(one), b.meet(one))


def _no_bit(a: Range, b: Range) -> _Pair:
    if a.value & b.value:
        return None
    top = (1 << a.bits) - 1
    without = [Range.of(a.bits, known=(0, top & ~other.value)) for other in (b, a)]
    assert without[0] is not None
    assert without[1] is not None
    return _pair(a.meet(without[0]), b.meet(without[1]))


_LEARN: dict[int, Callable[[Range, Range], _Pair]] = {
    _J.JEQ: _equal,
    _J.JNE: _not_equal,
    _J.JGT: _greater,
    _J.JGE: _greater_or_equal,
    _J.JLT: _swapped(_greater),
    _J.JLE: _swapped(_greater_or_equal),
    _J.JSGT: _signed_greater,
    _J.JSGE: _signed_greater_or_equal,
    _J.JSLT: _swapped(_signed_greater),
    _J.JSLE: _swapped(_signed_greater_or_equal),
}
