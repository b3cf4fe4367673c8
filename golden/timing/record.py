"""Takes down what happens during a run."""

from array import array
from typing import TYPE_CHECKING, NamedTuple

from fanweave.golden.errors import FaultError
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.step import StepShape, StepTime

if TYPE_CHECKING:
    from fanweave.golden.timing.replica import Replica

__all__ = ["KeptStep", "Recorder", "ReplicaUse"]


class KeptStep(NamedTuple):
    """One step, for a timeline.

    Attributes
    ----------
    replica : int
        Whose step it is.
    intervals : tuple of (int, int)
        Begin and end on each stage, picoseconds.
    prefill_tokens, decodes : int
        What it computes.
    blocks : int
        Blocks of the cache in use while it runs.
    """

    replica: int
    intervals: tuple[tuple[int, int], ...]
    prefill_tokens: int
    decodes: int
    blocks: int


class ReplicaUse:
    """What one replica did.

    Attributes
    ----------
    steps, decode_tokens, prefill_tokens : int
        Steps, and tokens that they computed.
    busy : list of int
        Time in which the devices of each stage worked, picoseconds.
    intervals : list of (array, array)
        Begin and end of each interval of work of each stage; neighbouring ones are joined.
    peak_blocks, block_ps : int
        Most blocks in use, and blocks in use integrated over time.
    spread_ps : float
        Half-widths of the steps' intervals, summed over their durations.
    step_ps : int
        Durations of all steps and stages together.
    energy_pj : int
        Energy of all steps.
    extrapolated : int
        Steps outside the calibrated range.
    """

    def __init__(self, stages: int) -> None:
        self.steps = self.decode_tokens = self.prefill_tokens = 0
        self.busy = [0] * stages
        self.intervals = [(array("q"), array("q")) for _ in range(stages)]
        self.peak_blocks = self.block_ps = 0
        self.spread_ps, self.step_ps = 0.0, 0
        self.extrapolated = self.energy_pj = 0
        self._blocks_since = 0
        self._blocks = 0

    def blocks(self, now: int, used: int) -> None:
        """From now on so many blocks are in use."""
        self.block_ps += self._blocks * (now - self._blocks_since)
        self._blocks_since, self._blocks = now, used
        self.peak_blocks = max(self.peak_blocks, used)


class Recorder:
    """Times of every request, and totals.

    Attributes
    ----------
    queued_at, scheduled_at, first_at, last_at : list of int
        Picoseconds, one a request; -1 for what has not happened.
    cached_tokens, preemption_counts : list of int
        One a request.
    cached_all, repeated : int
        Tokens found in the cache, every admission counted; tokens that were stored and had to
        be computed again.
    gap_lengths, gap_counts : array
        Times between two tokens of a request, and how many had that time.
    uses : list of ReplicaUse
        One a replica.
    kept : list of KeptStep
        Every step, if they are kept.
    """

    def __init__(self, trace: RequestTrace, stages: list[int], *, keep_steps: bool = False) -> None:
        count = len(trace.requests)
        self.queued_at = [-1] * count
        self.scheduled_at = [-1] * count
        self.first_at = [-1] * count
        self.last_at = [-1] * count
        self.cached_tokens = [0] * count
        self.preemption_counts = [0] * count
        self.cached_all = self.repeated = 0
        self.gap_lengths, self.gap_counts = array("q"), array("q")
        self.uses = [ReplicaUse(each) for each in stages]
        self.kept: list[KeptStep] = []
        self._keep = keep_steps
        self._intervals: list[tuple[int, int]] = []

    def times(self, index: int) -> tuple[int, int, int, int]:
        """When a request was queued, first scheduled, and gave its first and its last token."""
        return (
            self.queued_at[index],
            self.scheduled_at[index],
            self.first_at[index],
            self.last_at[index],
        )

    def queued(self, index: int, now: int) -> None:
        """A request was taken in; the first replica counts."""
        if self.queued_at[index] < 0:
            self.queued_at[index] = now

    def scheduled(self, index: int, now: int, cached: int) -> None:
        """A request is in a step, with so many tokens found in the cache; the first time counts."""
        self.cached_all += cached
        if self.scheduled_at[index] < 0:
            self.scheduled_at[index] = now
            self.cached_tokens[index] = cached

    def first_token(self, index: int, end: int) -> None:
        """The first token of a request comes."""
        if self.first_at[index] >= 0:
            raise FaultError(f"request {index}: a second first token at {end} ps")
        self.first_at[index] = end

    def last_token(self, index: int, end: int) -> None:
        """The last token of a request comes."""
        if self.last_at[index] >= 0:
            raise FaultError(f"request {index}: finished a second time at {end} ps")
        self.last_at[index] = end

    def preempted(self, index: int, repeated: int) -> None:
        """A request gives its memory back, and will compute so many tokens again."""
        self.repeated += repeated
        self.preemption_counts[index] += 1

    def gaps(self, length: int, count: int) -> None:
        """So many requests got a token, each so long after its one before."""
        if count:
            if length < 0:
                raise FaultError(f"a token came {-length} ps before its predecessor")
            self.gap_lengths.append(length)
            self.gap_counts.append(count)

    def busy(self, replica: int, stage: int, start: int, duration: int) -> None:
        """The devices of a stage work."""
        use = self.uses[replica]
        use.busy[stage] += duration
        if self._keep:
            self._intervals.append((start, start + duration))
        begins, ends = use.intervals[stage]
        if ends and ends[-1] == start:
            ends[-1] = start + duration
            return
        if ends and ends[-1] > start:
            raise FaultError(f"replica {replica}, stage {stage}: two steps at {start} ps")
        begins.append(start)
        ends.append(start + duration)

    def step(self, replica: "Replica", shape: StepShape, time: StepTime, now: int) -> None:
        """A step was scheduled."""
        use = self.uses[replica.index]
        use.steps += 1
        use.decode_tokens += shape.decodes
        use.prefill_tokens += shape.prefill_tokens
        duration = sum(time.stages)
        use.step_ps += duration
        use.spread_ps += time.spread * duration
        use.extrapolated += not time.calibrated
        use.energy_pj += time.energy_pj
        use.blocks(now, replica.memory.used)
        if self._keep:
            self.kept.append(
                KeptStep(
                    replica=replica.index,
                    intervals=tuple(self._intervals),
                    prefill_tokens=shape.prefill_tokens,
                    decodes=shape.decodes,
                    blocks=replica.memory.used,
                )
            )
            self._intervals.clear()
