"""What a scheduler decided in a pass."""

from dataclasses import dataclass

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """Order of the operators, and the device of each, by operator."""

    order: tuple[int, ...]
    devices: tuple[int, ...]
