"""Parameters of a core."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["CoreConfig"]


@dataclass(frozen=True, kw_only=True)
class CoreConfig:
    """A core of the cluster.

    Parameters
    ----------
    vlen : int
        Bits of a vector register, a power of two from 64 to 4096.
    elen : int
        Bits of the widest vector element, 32 or 64; floating point stays at 32.
    segments : int
        Fields of the longest segment load or store, 1 to 8.
    agnostic_ones : bool
        Whether elements under an agnostic policy become all ones; otherwise they keep what they
        had.
    accumulators : int
        Accumulators of 32 bits in Ventaglio's bank.
    formats : tuple of ElementFormat
        Formats of its elements.

    Raises
    ------
    InputError
        If one of them is not as said.
    """

    vlen: int = 512
    elen: int = 32
    segments: int = 8
    agnostic_ones: bool = False
    accumulators: int = 256
    formats: tuple[ElementFormat, ...] = tuple(ElementFormat)

    def __post_init__(self) -> None:
        if self.vlen & self.vlen - 1 or not 64 <= self.vlen <= 4096:
            raise InputError(f"vlen is {self.vlen}; expected a power of two from 64 to 4096")
        if self.elen not in (32, 64):
            raise InputError(f"elen is {self.elen}; expected 32 or 64")
        if not 1 <= self.segments <= 8:
            raise InputError(f"segments is {self.segments}; expected 1 to 8")
        if self.accumulators & self.accumulators - 1 or self.accumulators < 32:
            raise InputError(
                f"accumulators is {self.accumulators}; expected a power of two from 32"
            )

    @property
    def register_bytes(self) -> int:
        """Bytes of a vector register."""
        return self.vlen // 8
