"""What is known of a program that is accepted."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Report"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """Of an accepted program.

    Attributes
    ----------
    name : str
        The program's.
    slots : int
        Slots of 8 bytes.
    worst_case_instructions : int
        No event executes more, tail calls included.
    stack_bytes : tuple of int
        By frame: bytes that are used below its top.
    context_bytes : int
        Bytes of the context, from its first one on, that are used at most.
    maps, helpers : tuple of str
        Names of those that are used.
    frames : int
        Frames in use at most, those of tail calls included.
    steps, kept, covered : int
        Effort: instructions that were followed, states that were kept, and states that needed not
        be followed because a kept one covers them.
    """

    name: str
    slots: int
    worst_case_instructions: int
    stack_bytes: tuple[int, ...]
    context_bytes: int
    maps: tuple[str, ...]
    helpers: tuple[str, ...]
    frames: int
    steps: int
    kept: int
    covered: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
