"""What is known of a register that holds a number: of all of it, and of its low half."""

from functools import lru_cache

from fanweave.golden.isa.ebpf import AluOperation
from fanweave.sw.ebpf.verifier import range_arithmetic
from fanweave.sw.ebpf.verifier.ranges import Range

__all__ = ["BITS", "Scalar", "apply", "byte_order", "move", "of_bytes", "sign_extend"]

#: Bits of a register.
BITS = 64
#: Results whose low half depends on no more than the low halves of the operands.
_LOW_FROM_LOW = frozenset(
    {
        *(AluOperation.ADD, AluOperation.SUB, AluOperation.MUL, AluOperation.NEG),
        *(AluOperation.OR, AluOperation.AND, AluOperation.XOR),
    }
)
_ROUNDS = 3


class Scalar:
    """A set of numbers by two ranges that agree: `full`, and `low` of half as many bits.

    Attributes
    ----------
    full, low : Range
        All bits, and the low half.
    """

    __slots__ = ("full", "low")

    def __init__(self, full: Range, low: Range) -> None:
        self.full = full
        self.low = low

    @classmethod
    def of(cls, full: Range, low: Range | None = None) -> "Scalar | None":
        """The numbers that fit both; None if there are none."""
        half = full.bits // 2
        if full.mask == 0:
            truncated = Range.constant(full.value, half)
            return cls(full, truncated) if low is None or low.holds(truncated.value) else None
        for _ in range(_ROUNDS):
            truncated = range_arithmetic.truncate(full, half)
            met = truncated if low is None else truncated.meet(low)
            if met is None:
                return None
            low = met
            found = _from_low(full, low)
            if found is None:
                return None
            if found == full:
                break
            full = found
        assert low is not None
        return cls(full, low)

    @classmethod
    def constant(cls, value: int) -> "Scalar":
        """One number, of 64 bits."""
        return _constant(value & (1 << BITS) - 1)

    @classmethod
    def unknown(cls) -> "Scalar":
        """Any number of 64 bits."""
        return _UNKNOWN

    @property
    def is_constant(self) -> bool:
        """Whether it is one number."""
        return self.full.mask == 0

    def holds(self, value: int) -> bool:
        """Whether a number is one of these."""
        return self.full.holds(value) and self.low.holds(value & (1 << self.low.bits) - 1)

    def within(self, other: "Scalar") -> bool:
        """Whether each of these is surely one of the other's."""
        return self is other or (self.full.within(other.full) and self.low.within(other.low))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and self.full == other.full and self.low == other.low

    def __hash__(self) -> int:
        return hash((self.full, self.low))

    def __str__(self) -> str:
        full, low = self.full, self.low
        if full.mask == 0:
            return str(full.smin)
        parts = [f"{full.smin} to {full.smax}"]
        if full.smin < 0:
            parts.append(f"unsigned {full.umin:#x} to {full.umax:#x}")
        natural = Range.of(full.bits, unsigned=(full.umin, full.umax))
        if natural is not None and full.mask != natural.mask:
            parts.append(f"bits {full.value:#x} with {full.mask:#x} unknown")
        if low != range_arithmetic.truncate(full, low.bits):
            parts.append(f"low half {low.smin} to {low.smax}")
        return ", ".join(parts)


def _from_low(full: Range, low: Range) -> Range | None:
    """What the low half says of the whole."""
    half = low.bits
    limit = (1 << half) - 1
    upper = full.umin >> half
    unsigned = signed = None
    if upper == full.umax >> half:
        unsigned = (upper << half | low.umin, upper << half | low.umax)
    if -(1 << half - 1) <= full.smin and full.smax < 1 << half - 1:
        signed = (low.smin, low.smax)
    known = (low.value | full.value & ~limit, low.mask | full.mask & ~limit)
    if unsigned is None and signed is None and known == full.known:
        return full
    found = Range.of(full.bits, known=known, unsigned=unsigned, signed=signed)
    return None if found is None else full.meet(found)


@lru_cache(maxsize=1 << 14)
def _constant(value: int) -> Scalar:
    return Scalar(Range.constant(value, BITS), Range.constant(value, BITS // 2))


_UNKNOWN = Scalar(Range.unknown(BITS), Range.unknown(BITS // 2))


def _made(full: Range, low: Range | None = None) -> Scalar:
    if full.mask == 0 and full.bits == BITS:
        return _constant(full.value)
    found = Scalar.of(full, low)
    if found is None:  # an operand held nothing, so any result is right
        return Scalar(Range.unknown(full.bits), Range.unknown(full.bits // 2))
    return found


def of_bytes(size: int) -> Scalar:
    """Any number that a load of so many bytes gives."""
    return _BYTES[size]


def apply(operation: int, a: Scalar, b: Scalar, *, bits: int, offset: int = 0) -> Scalar:
    """Result of an arithmetic instruction but moves and byte orders.

    Parameters
    ----------
    operation : int
        An `AluOperation`.
    a, b : Scalar
        Operands.
    bits : int
        Width of the operation: that of the operands, or of their low halves.
    offset : int
        1 for signed division and modulo.
    """
    if bits == a.low.bits:
        low = range_arithmetic.apply(operation, a.low, b.low, offset=offset)
        return _made(range_arithmetic.zero_extend(low, a.full.bits), low)
    full = range_arithmetic.apply(operation, a.full, b.full, offset=offset)
    if full.mask == 0 or operation not in _LOW_FROM_LOW:
        return _made(full)
    return _made(full, range_arithmetic.apply(operation, a.low, b.low))


def move(a: Scalar, *, bits: int, sign_bits: int = 0) -> Scalar:
    """Result of a move; of one that extends the sign of so many low bits, if any."""
    width = a.full.bits
    if not sign_bits:
        return a if bits == width else _made(range_arithmetic.zero_extend(a.low, width), a.low)
    low = a.low if sign_bits == a.low.bits else range_arithmetic.truncate(a.low, sign_bits)
    extended = range_arithmetic.sign_extend(low, bits)
    return _made(range_arithmetic.zero_extend(extended, width) if bits != width else extended)


def sign_extend(a: Scalar, bits: int) -> Scalar:
    """The low `bits` as a signed number."""
    return move(a, bits=a.full.bits, sign_bits=bits)


def byte_order(a: Scalar, bits: int, *, swap: bool) -> Scalar:
    """The low `bits`, with their bytes reversed if `swap`, with zeros above."""
    if bits == a.low.bits and not swap:
        return move(a, bits=bits)
    return _made(range_arithmetic.byte_order(a.full, bits, swap=swap))


def _of_bytes(size: int) -> Scalar:
    full = Range.of(BITS, unsigned=(0, (1 << 8 * size) - 1))
    assert full is not None
    return _made(full)


_BYTES = {size: _of_bytes(size) for size in (1, 2, 4, 8)}
