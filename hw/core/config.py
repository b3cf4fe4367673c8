"""Parameters of a scalar core."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = ["PRESETS", "ScalarConfig"]


@dataclass(frozen=True, kw_only=True)
class ScalarConfig:
    """What can be chosen of a scalar core.

    Parameters
    ----------
    hart : int
        ``mhartid``, 0 to 7.
    accesses : int
        Loads and stores that may wait for their response, 1 to 16.
    predicted_jumps : int
        Places for targets of jumps and branches, a power of two from 2 to 64.

    Raises
    ------
    InputError
        If one of them is not as said.
    """

    hart: int = 0
    accesses: int = 4
    predicted_jumps: int = 8

    def __post_init__(self) -> None:
        for name, least, most in (
            ("hart", 0, 7),
            ("accesses", 1, 16),
            ("predicted_jumps", 2, 64),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"{name} is {value!r}; expected an integer from {least} to {most}")
        if self.predicted_jumps & self.predicted_jumps - 1:
            raise InputError(
                f"predicted_jumps is {self.predicted_jumps}; expected a power of two from 2 to 64"
            )


#: By name, as command lines have them.
PRESETS: Mapping[str, ScalarConfig] = {
    "default": ScalarConfig(),
    "small": ScalarConfig(accesses=2, predicted_jumps=2),
}
