"""A step of a server: what it computes, and who says how long that takes."""

from typing import NamedTuple, Protocol

__all__ = ["Chunk", "StepCosts", "StepShape", "StepTime"]


class Chunk(NamedTuple):
    """Prefill of one request in a step: new tokens, and tokens stored before them."""

    tokens: int
    context: int


class StepShape(NamedTuple):
    """Everything about a step that its time depends on.

    Attributes
    ----------
    chunks : tuple of Chunk
        Prefill.
    decodes : int
        Sequences that generate one token each.
    context_sum, context_max : int
        Stored tokens of these sequences together, and of the longest one.
    """

    chunks: tuple[Chunk, ...]
    decodes: int
    context_sum: int
    context_max: int

    @property
    def prefill_tokens(self) -> int:
        """Tokens of all chunks."""
        return sum(chunk.tokens for chunk in self.chunks)

    @property
    def tokens(self) -> int:
        """Tokens that the step computes."""
        return self.prefill_tokens + self.decodes


class StepTime(NamedTuple):
    """How long a step takes.

    Attributes
    ----------
    stages : tuple of int
        Time on the devices of each pipeline stage, picoseconds.
    transfer : int
        Time between two stages, picoseconds.
    host : int
        Time from scheduling to the earliest start, picoseconds.
    spread : float
        Relative half-width of the interval in which the true time is expected.
    calibrated : bool
        Whether every cost lies in the measured range.
    energy_pj : int
        Energy of its operations and bytes, where it is known.
    """

    stages: tuple[int, ...]
    transfer: int
    host: int
    spread: float
    calibrated: bool
    energy_pj: int = 0


class StepCosts(Protocol):
    """Says how long a step takes. A placement by a scheduler would stand behind this as well.

    `step` must be a function of the shape alone: the server remembers times by shape.
    """

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        ...

    def step(self, shape: StepShape) -> StepTime:
        """Time of a step."""
        ...
