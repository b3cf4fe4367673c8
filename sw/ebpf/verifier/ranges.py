"""What is known of a number of so many bits: its bits, and its least and greatest value."""

from fanweave.sw.ebpf.verifier import tristate
from fanweave.sw.ebpf.verifier.tristate import Tristate

__all__ = ["Range"]

#: Each round lets bits and bounds learn from each other; two are nearly always enough, and to stop
#: early only knows less.
_ROUNDS = 4


class Range:
    """A set of numbers: those that have the known bits and lie within all the bounds.

    A range is never empty, and its parts agree: what one part says of another is in the other.

    Attributes
    ----------
    bits : int
        Width of the numbers.
    value, mask : int
        A tristate number.
    umin, umax : int
        Bounds as an unsigned number.
    smin, smax : int
        Bounds as a signed one.
    """

    __slots__ = ("bits", "mask", "smax", "smin", "umax", "umin", "value")

    def __init__(
        self, bits: int, value: int, mask: int, umin: int, umax: int, smin: int, smax: int
    ) -> None:
        self.bits = bits
        self.value = value
        self.mask = mask
        self.umin = umin
        self.umax = umax
        self.smin = smin
        self.smax = smax

    @classmethod
    def constant(cls, value: int, bits: int) -> "Range":
        """One number; the low bits of what is given."""
        value &= (1 << bits) - 1
        signed = value - (1 << bits) if value >> bits - 1 else value
        return cls(bits, value, 0, value, value, signed, signed)

    @classmethod
    def unknown(cls, bits: int) -> "Range":
        """Any number."""
        top, half = (1 << bits) - 1, 1 << bits - 1
        return cls(bits, 0, top, 0, top, -half, half - 1)

    @classmethod
    def of(
        cls,
        bits: int,
        *,
        known: Tristate | None = None,
        unsigned: tuple[int, int] | None = None,
        signed: tuple[int, int] | None = None,
    ) -> "Range | None":
        """The numbers that fit everything that is said; None if there are none.

        Parameters
        ----------
        bits : int
            Width.
        known : tuple of int, optional
            A tristate number.
        unsigned, signed : tuple of int, optional
            Bounds, both included; they may be wider than the width allows.
        """
        top, half = (1 << bits) - 1, 1 << bits - 1
        value, mask = known or (0, top)
        umin, umax = unsigned or (0, top)
        smin, smax = signed or (-half, half - 1)
        return _settle(
            *(
                bits,
                value,
                mask,
                max(umin, 0),
                min(umax, top),
                max(smin, -half),
                min(smax, half - 1),
            )
        )

    @property
    def known(self) -> Tristate:
        """Value and mask."""
        return self.value, self.mask

    @property
    def is_constant(self) -> bool:
        """Whether it is one number."""
        return self.mask == 0

    def meet(self, other: "Range") -> "Range | None":
        """The numbers of both; None if there are none."""
        both = tristate.meet(self.known, other.known)
        if both is None:
            return None
        return _settle(
            *(self.bits, *both, max(self.umin, other.umin), min(self.umax, other.umax)),
            *(max(self.smin, other.smin), min(self.smax, other.smax)),
        )

    def holds(self, value: int) -> bool:
        """Whether an unsigned number is one of these."""
        signed = value - (1 << self.bits) if value >> self.bits - 1 else value
        return (
            not (value ^ self.value) & ~self.mask
            and self.umin <= value <= self.umax
            and self.smin <= signed <= self.smax
        )

    def within(self, other: "Range") -> bool:
        """Whether each of these is surely one of the other's."""
        return (
            not self.mask & ~other.mask
            and not (self.value ^ other.value) & ~other.mask
            and other.umin <= self.umin
            and self.umax <= other.umax
            and other.smin <= self.smin
            and self.smax <= other.smax
        )

    def _parts(self) -> tuple[int, ...]:
        return (self.bits, self.value, self.mask, self.umin, self.umax, self.smin, self.smax)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        bits, value, mask, *bounds = self._parts()
        return f"Range({bits}, {value:#x}, {mask:#x}, {', '.join(map(str, bounds))})"


def _settle(
    bits: int, value: int, mask: int, umin: int, umax: int, smin: int, smax: int
) -> Range | None:
    """Let bits and bounds learn from each other until nothing changes."""
    half, size = 1 << bits - 1, 1 << bits
    for _ in range(_ROUNDS):
        before = (mask, umin, umax, smin, smax)
        # Bounds from the bits: all unknown ones 0, all of them 1; the first counts negatively.
        umin = max(umin, value)
        umax = min(umax, value | mask)
        least, most = value | mask & half, (value | mask) & ~(mask & half)
        smin = max(smin, least - size if least & half else least)
        smax = min(smax, most - size if most & half else most)
        if umin > umax or smin > smax:
            return None
        umin, umax = _unsigned_from_signed(umin, umax, smin, smax, size)
        if umin > umax:
            return None
        smin, smax = _signed_from_unsigned(umin, umax, smin, smax, size)
        if smin > smax:
            return None
        both = tristate.meet((value, mask), tristate.of_interval(umin, umax))
        if both is None:
            return None
        value, mask = both
        if before == (mask, umin, umax, smin, smax):
            break
    return Range(bits, value, mask, umin, umax, smin, smax)


def _unsigned_from_signed(umin: int, umax: int, smin: int, smax: int, size: int) -> tuple[int, int]:
    if smin >= 0:
        return max(umin, smin), min(umax, smax)
    if smax < 0:
        return max(umin, smin + size), min(umax, smax + size)
    # Two pieces: from 0 to smax, and from smin to -1, which are great as unsigned numbers.
    if umax < smin + size:
        umax = min(umax, smax)
    if umin > smax:
        umin = max(umin, smin + size)
    return umin, umax


def _signed_from_unsigned(umin: int, umax: int, smin: int, smax: int, size: int) -> tuple[int, int]:
    half = size >> 1
    if umax < half:
        return max(smin, umin), min(smax, umax)
    if umin >= half:
        return max(smin, umin - size), min(smax, umax - size)
    # Two pieces: from umin up to the greatest positive one, and from the least up to umax.
    if smin > umax - size:
        smin = max(smin, umin)
    if smax < umin:
        smax = min(smax, umax - size)
    return smin, smax
