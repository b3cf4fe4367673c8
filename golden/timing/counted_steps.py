"""The steps of a measured server, counted: which one gave each first and each last token.

A trace has four times a request and no step. But a request that is never preempted takes part in
every step from its first token to its last, so its tokens say exactly how many steps lie
between these two times, and the ends of all requests together leave one way to count.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from fanweave.golden.errors import FaultError
from fanweave.golden.timing.comparison import measured_times
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.step import Chunk, StepCosts, StepShape

__all__ = ["CountedSteps", "PromptStep", "count_steps"]

#: Two times of one step differ by less than this, picoseconds.
_SAME_PS = 10**6
#: A request that is scheduled when a step has ended is so within this, picoseconds.
_AT_ONCE_PS = 5 * 10**8
#: What rounding of the solver leaves.
_WHOLE = 1e-6
#: Longest row of steps in which one with prompts is told apart from the others.
_LONGEST_ROW = 6


@dataclass(frozen=True, kw_only=True)
class PromptStep:
    """A step in which whole prompts were computed, and what it took.

    Attributes
    ----------
    end_ps : int
        When it ended.
    requests : tuple of int
        Places in the trace of the requests that had their first token from it.
    shape : StepShape
        What it computed, if nothing was found in a cache.
    measured_ps : int
        How long it took: the time since the last end that is known, less the steps with decode
        alone in between.
    """

    end_ps: int
    requests: tuple[int, ...]
    shape: StepShape
    measured_ps: int


@dataclass(frozen=True, kw_only=True)
class CountedSteps:
    """Numbers of the steps at whose ends something is known.

    Attributes
    ----------
    trace : RequestTrace
        The requests.
    ends : ndarray of int64
        Known ends of steps, increasing, picoseconds.
    numbers : ndarray of int64
        Numbers of these steps.
    first, last : ndarray of int64
        Number of the step that gave each request its first and its last token.
    """

    trace: RequestTrace
    ends: np.ndarray
    numbers: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def decode_shape(self, number: int, chunks: Sequence[Chunk] = ()) -> StepShape:
        """What decodes in a step, beside chunks of prompts."""
        taking = (self.first < number) & (self.last >= number)
        inputs = np.array([request.input_tokens for request in self.trace.requests])
        stored = (inputs + number - self.first - 1)[taking]
        total, longest = int(stored.sum()), int(stored.max(initial=0))
        return StepShape(tuple(chunks), int(taking.sum()), total, longest)

    def decode_rows(self) -> list[tuple[int, list[StepShape], int]]:
        """Rows of steps with decode alone: when each begins, its steps, and how long it took."""
        times = measured_times(self.trace)
        rows = []
        for begin, end, low, high in self._gaps():
            if ((times[:, 1] < end - _SAME_PS) & (times[:, 2] > begin + _SAME_PS)).any():
                continue
            shapes = [self.decode_shape(number) for number in range(low + 1, high + 1)]
            rows.append((begin, shapes, end - begin))
        return rows

    def prompt_steps(self, costs: StepCosts, token_budget: int) -> list[PromptStep]:
        """Steps with whole prompts; `costs` says how long decode alone took before them."""
        times = measured_times(self.trace)
        found = []
        for begin, end, low, high in self._gaps():
            members = tuple(int(index) for index in np.flatnonzero(self.first == high))
            if not members or high - low > _LONGEST_ROW:
                continue
            beside = (times[:, 1] <= times[list(members), 1].max()) & (times[:, 2] > end)
            beside |= (times[:, 2] > begin + _SAME_PS) & (times[:, 2] < end - _SAME_PS)
            prompts = [self.trace.requests[index].input_tokens for index in members]
            shape = self.decode_shape(high, [Chunk(tokens, 0) for tokens in prompts])
            if shape.tokens > token_budget or (beside & ~np.isin(self.first, high)).any():
                continue
            decode = sum(sum(costs.step(self.decode_shape(n)).stages) for n in range(low + 1, high))
            found.append(
                PromptStep(
                    end_ps=end, requests=members, shape=shape, measured_ps=end - begin - decode
                )
            )
        # A prompt whose steps are not all behind the last known end was computed in several.
        return [step for step in found if self._whole(step, times)]

    def _whole(self, step: PromptStep, times: np.ndarray) -> bool:
        """Whether all of its prompts were scheduled no more than two steps before its end."""
        number = self.first[step.requests[0]]
        earliest = times[list(step.requests), 1].min()
        at = int(np.searchsorted(self.ends, earliest, side="right")) - 1
        if at >= 0 and earliest - self.ends[at] < _AT_ONCE_PS:
            return bool(number - self.numbers[at] == 2)
        # It was scheduled at the end of a step that is not known.
        return len(step.requests) == 1

    def _gaps(self) -> list[tuple[int, int, int, int]]:
        """Known ends, each with the next one, and their numbers."""
        ends, numbers = self.ends.tolist(), self.numbers.tolist()
        return list(zip(ends, ends[1:], numbers, numbers[1:], strict=False))


@functools.lru_cache(maxsize=4)
def count_steps(trace: RequestTrace, costs: StepCosts) -> CountedSteps:
    """Count the steps of a measured trace.

    Between two neighbouring ends `costs` gives an estimate. Of all counts that agree with the
    tokens of every request, and that let a prompt wait for the step that ran when it was
    scheduled, the one next to the estimates is taken.

    Parameters
    ----------
    trace : RequestTrace
        A trace with measured times, of a server with one pipeline stage and no preemption.
    costs : StepCosts
        Roughly how long steps take.

    Raises
    ------
    InputError
        If a request has no measured times.
    FaultError
        If no whole numbers of steps agree with the trace.
    """
    times = measured_times(trace)
    ends = _distinct(np.concatenate([times[:, 2], times[:, 3]]))
    first, last = (_nearest(ends, times[:, column]) for column in (2, 3))
    gaps = np.arange(len(ends) - 1)
    wanted = np.array([request.output_tokens - 1 for request in trace.requests])
    whole = _solve(
        _estimate(trace, costs, ends, times),
        (first[:, None] <= gaps) & (gaps < last[:, None]),
        wanted,
        _two_steps(ends, times[:, 1], first, gaps),
    )
    if whole is None:
        raise FaultError(f"{trace.name}: no numbers of steps agree with the tokens of its requests")
    numbers = np.concatenate([[0], np.cumsum(whole)])
    return CountedSteps(
        trace=trace, ends=ends, numbers=numbers, first=numbers[first], last=numbers[last]
    )


def _two_steps(
    ends: np.ndarray, scheduled: np.ndarray, first: np.ndarray, gaps: np.ndarray
) -> np.ndarray:
    """Gaps that hold two steps or more: one ran when the one with the prompt was scheduled."""
    at = np.searchsorted(ends, scheduled, side="right") - 1
    right = (at >= 0) & (scheduled - ends[np.maximum(at, 0)] < _AT_ONCE_PS)
    return ((at[:, None] <= gaps) & (gaps < first[:, None]))[right]


def _solve(
    estimate: np.ndarray, spans: np.ndarray, wanted: np.ndarray, pairs: np.ndarray
) -> np.ndarray | None:
    """Whole steps of each gap, nearest to the estimates by the sum of all differences.

    Every condition is about neighbouring gaps, and the steps of a linear objective bend at
    whole numbers, so that the linear program has a whole solution.
    """
    low = np.maximum(1.0, np.floor(estimate))
    one = np.ones(len(low))
    # Steps over `low`: the first one, further ones, and those below it.
    price = np.concatenate([np.abs(low + 1 - estimate) - np.abs(low - estimate), one, one])

    def wide(rows: np.ndarray) -> np.ndarray:
        return np.hstack([rows, rows, -rows.astype(np.int64)])

    found = linprog(
        price,
        A_eq=wide(spans),
        b_eq=wanted - spans @ low,
        A_ub=-wide(pairs.astype(np.int64)) if len(pairs) else None,
        b_ub=pairs @ low - 2 if len(pairs) else None,
        bounds=[(0, 1)] * len(low) + [(0, None)] * len(low) + [(0, each) for each in low - 1],
        method="highs",
    )
    if not found.success or found.x is None:
        return None
    over, more, below = np.split(found.x, 3)
    steps = low + over + more - below
    whole = np.round(steps).astype(np.int64)
    return whole if np.abs(steps - whole).max() < _WHOLE else None


def _distinct(values: np.ndarray) -> np.ndarray:
    values = np.unique(values)
    return values[np.concatenate([[True], np.diff(values) > _SAME_PS])]


def _nearest(ends: np.ndarray, values: np.ndarray) -> np.ndarray:
    right = np.clip(np.searchsorted(ends, values), 1, len(ends) - 1)
    nearer = values - ends[right - 1] < ends[right] - values
    return np.where(nearer, right - 1, right)


def _estimate(
    trace: RequestTrace, costs: StepCosts, ends: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Steps in each gap, by how long decode of those requests takes, and a step with prompts."""
    inputs = np.array([request.input_tokens for request in trace.requests])
    outputs = np.array([request.output_tokens for request in trace.requests])
    result = []
    for begin, end in zip(ends.tolist(), ends[1:].tolist(), strict=False):
        running = (times[:, 2] <= begin + _SAME_PS) & (times[:, 3] > begin + _SAME_PS)
        share = (begin - times[:, 2]) / (times[:, 3] - times[:, 2])
        stored = (inputs + share * (outputs - 1))[running]
        total, longest = int(stored.sum()), int(stored.max(initial=0))
        count = int(running.sum())
        left, steps = float(end - begin), 0.0
        begun = np.abs(times[:, 2] - end) <= _SAME_PS
        if begun.any():
            chunks = tuple(Chunk(int(tokens), 0) for tokens in inputs[begun])
            left -= sum(costs.step(StepShape(chunks, count, total, longest)).stages)
            steps = 1.0
        if count and left > 0:
            steps += left / sum(costs.step(StepShape((), count, total, longest)).stages)
        result.append(max(1.0, steps))
    return np.array(result)
