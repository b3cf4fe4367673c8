"""Remembers times of steps by their shape, for costs that are slow to say."""

from fanweave.golden.errors import InputError
from fanweave.golden.timing.step import Chunk, StepCosts, StepShape, StepTime

__all__ = ["CachedCosts"]


class CachedCosts:
    """Step costs that ask another one only once a shape, with contexts and chunks rounded.

    Parameters
    ----------
    costs : StepCosts
        Says how long a step takes; a placement by a scheduler, for one.
    grain : int
        Tokens to which mean and greatest context and the context of a chunk are rounded. Tokens
        of chunks stay, since times jump with them. With 1 nothing is rounded but the mean.

    Attributes
    ----------
    asked, found : int
        Steps whose time was asked for, and was remembered.
    """

    def __init__(self, costs: StepCosts, *, grain: int) -> None:
        if grain < 1:
            raise InputError(f"grain = {grain} must be at least 1 token")
        self._costs, self._grain = costs, grain
        self._times: dict[StepShape, StepTime] = {}
        self.asked = self.found = 0

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self._costs.stages

    def step(self, shape: StepShape) -> StepTime:
        """Time of a step of about this shape."""
        self.asked += 1
        key = self._rounded(shape)
        time = self._times.get(key)
        if time is None:
            time = self._times[key] = self._costs.step(key)
        else:
            self.found += 1
        return time

    def _rounded(self, shape: StepShape) -> StepShape:
        grain = self._grain
        chunks = tuple(Chunk(chunk.tokens, _round(chunk.context, grain)) for chunk in shape.chunks)
        mean = greatest = 0
        if shape.decodes:
            mean = max(1, _round(shape.context_sum // shape.decodes, grain))
            greatest = max(mean, _round(shape.context_max, grain))
        return StepShape(chunks, shape.decodes, mean * shape.decodes, greatest)


def _round(value: int, grain: int) -> int:
    return (value + grain // 2) // grain * grain
