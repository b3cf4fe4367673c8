"""A replica: continuous batching with chunked prefill over paged memory."""

from collections import deque
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

from fanweave.golden.errors import FaultError
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.kv_memory import KvMemory
from fanweave.golden.timing.lane import Lane
from fanweave.golden.timing.record import Recorder
from fanweave.golden.timing.sequence import Sequence
from fanweave.golden.timing.step import Chunk, StepCosts, StepShape

__all__ = ["Replica", "ScheduledStep"]


@dataclass(kw_only=True, slots=True)
class ScheduledStep:
    """A step that runs: when its tokens come, and who leaves then.

    Attributes
    ----------
    end : int
        When it ends, picoseconds.
    lane : Lane
        Whose step it is.
    leaving : list of Sequence
        Requests that have their last token of this replica from it.
    duration : int
        How long it takes on all stages together, picoseconds.
    """

    end: int
    lane: Lane
    leaving: list[Sequence] = field(default_factory=list)
    duration: int = 0


class Replica:
    """One copy of a model on its devices.

    Requests are taken in when the host is free: between two steps, or at once if nothing runs.
    A step holds one token of each decoding request, then prompts in work, then waiting requests
    in the order of their arrival, as far as tokens, sequences and memory allow. If decoding
    needs memory and there is none, the request that was admitted last gives its memory back,
    and computes it again later.

    With several pipeline stages there is a lane for each: the steps of different lanes are in
    different stages at the same time, and each lane has its share of the sequences.

    Parameters
    ----------
    index : int
        Its number.
    costs : StepCosts
        Says how long a step takes.
    config : ReplicaConfig
        Batching.
    unit_tokens : int
        Tokens of a prefix hash of the trace.
    recorder : Recorder
        Takes down what happens.
    admitted : callable, optional
        Called as ``admitted(sequence, now)`` when a request that decodes elsewhere than it was
        prefilled has memory here; its cache may come. `join` says that it has come.
    """

    def __init__(
        self,
        index: int,
        costs: StepCosts,
        config: ReplicaConfig,
        *,
        unit_tokens: int,
        recorder: Recorder,
        admitted: Callable[[Sequence, int], None] | None = None,
    ) -> None:
        self.index, self.costs, self.config = index, costs, config
        self.recorder, self._admitted = recorder, admitted
        unit = unit_tokens if config.prefix_caching else 0
        self.memory = KvMemory(config.kv_blocks, config.block_tokens, unit)
        self._unit_blocks = unit // config.block_tokens
        self.lanes = [Lane(config.block_tokens) for _ in range(costs.stages)]
        self._depth = 2 if config.asynchronous and costs.stages == 1 else 1
        self._lane_limit = -(-config.max_sequences // len(self.lanes))
        self._stage_free = [0] * costs.stages
        #: When the last step ended, and how long it took.
        self._ended = -1, 0
        self.inbox: deque[Sequence] = deque()
        self.waiting: deque[Sequence] = deque()
        self.running: dict[int, Sequence] = {}
        #: Tokens that requests sent here have yet to compute or generate.
        self.outstanding = 0
        self.preemptions = 0

    @property
    def busy(self) -> bool:
        """Whether a step is in flight."""
        return any(lane.in_flight for lane in self.lanes)

    def send(self, sequence: Sequence) -> None:
        """Let a request arrive."""
        self.inbox.append(sequence)
        self.outstanding += sequence.remaining

    def join(self, sequence: Sequence) -> None:
        """The cache of an admitted request has come; it decodes from the next step on."""
        self.lanes[sequence.lane].joined.append(sequence)

    def run(self, now: int) -> list[ScheduledStep]:
        """Take in what has arrived and schedule what can be scheduled."""
        ended, duration = self._ended
        intake = self.config.intake.behind(duration if now == ended else 0)
        while self.inbox:
            sequence = self.inbox.popleft()
            self.recorder.queued(sequence.index, now)
            self.waiting.append(sequence)
            now += intake
        steps = []
        for lane in self.lanes:
            while lane.in_flight < self._depth:
                step = self._schedule(lane, now)
                if step is None:
                    break
                steps.append(step)
        return steps

    def finish(self, step: ScheduledStep) -> list[Sequence]:
        """Process the tokens of a step that has ended; return the requests that leave."""
        step.lane.in_flight -= 1
        self._ended = step.end, step.duration
        for sequence in step.leaving:
            del self.running[sequence.index]
            if self.config.role != "prefill":
                self.free(sequence)
        return step.leaving

    def free(self, sequence: Sequence) -> None:
        """Give back all memory of a request."""
        self.memory.give(sequence.private)
        self.memory.release(sequence.shared)
        sequence.private, sequence.shared = 0, []

    def _schedule(self, lane: Lane, now: int) -> ScheduledStep | None:
        self._admit_joined(lane)
        preemptions = self.preemptions
        self._make_room(lane)
        work: list[tuple[Sequence, Chunk]] = []
        budget = self._continue_prompts(lane, self.config.token_budget - lane.count, work)
        if preemptions == self.preemptions:
            self._admit(lane, budget, work, now)
        if not work and not lane.count:
            return None
        shape = StepShape(
            tuple(chunk for _, chunk in work), lane.count, lane.context_sum, lane.context_max
        )
        if shape.tokens > self.config.token_budget:
            raise FaultError(f"replica {self.index}: a step of {shape.tokens} tokens")
        end, duration = self._place(shape, lane, now)
        step = ScheduledStep(end=end, lane=lane, duration=duration)
        self._emit(step, lane, work)
        lane.in_flight += 1
        lane.last_end = end
        return step

    def _place(self, shape: StepShape, lane: Lane, now: int) -> tuple[int, int]:
        """Put a step on the devices of each stage; return its end and how long they work."""
        time = self.costs.step(shape)
        start = now + time.host
        for stage, duration in enumerate(time.stages):
            start = max(start, self._stage_free[stage])
            self.recorder.busy(self.index, stage, start, duration)
            self._stage_free[stage] = start + duration
            start += duration + time.transfer
        end = start - time.transfer
        self.recorder.step(self, shape, time, now)
        return end, sum(time.stages)

    def _emit(
        self, step: ScheduledStep, lane: Lane, work: SequenceOf[tuple[Sequence, Chunk]]
    ) -> None:
        """Account for the tokens that come at the end of a step."""
        end, recorder = step.end, self.recorder
        recorder.gaps(end - lane.last_end, lane.count - len(lane.joined))
        for sequence in lane.joined:
            recorder.gaps(end - sequence.last_token, 1)
        lane.joined.clear()
        self.outstanding -= lane.count + sum(chunk.tokens for _, chunk in work)
        number = lane.step
        for sequence in lane.advance():
            step.leaving.append(sequence)
            recorder.last_token(sequence.index, end)
            stored = sequence.base + number + 1
            sequence.private = self.memory.blocks_of(stored) - self._shared_blocks(sequence)
        for sequence, chunk in work:
            sequence.computed += chunk.tokens
            if sequence.computed < sequence.prompt:
                continue
            lane.prefilling.remove(sequence)
            sequence.generated += 1
            if sequence.last_token < 0:
                recorder.first_token(sequence.index, end)
            else:
                recorder.gaps(end - sequence.last_token, 1)
            sequence.last_token = end
            if sequence.finished:
                step.leaving.append(sequence)
                if sequence.generated == sequence.request.output_tokens:
                    recorder.last_token(sequence.index, end)
            else:
                lane.add(sequence, sequence.prompt, number + 1)

    def _make_room(self, lane: Lane) -> None:
        """Take the blocks that decoding needs, from other requests if there are none."""
        while lane.count and not self.memory.take(lane.new_blocks):
            victim = self._victim(lane)
            if victim is None:
                raise FaultError(f"replica {self.index}: no request can give memory back")
            self._preempt(victim)

    def _victim(self, lane: Lane) -> Sequence | None:
        """The request that was admitted last, of those whose memory nobody is using."""
        for sequence in reversed(self.running.values()):
            # One that waits for its cache from elsewhere holds memory that is being written.
            rests = sequence.decoding or sequence.computed < sequence.prompt
            own = self.lanes[sequence.lane]
            if rests and (own is lane or not own.in_flight):
                return sequence
        return None

    def _preempt(self, sequence: Sequence) -> None:
        lane = self.lanes[sequence.lane]
        if sequence.decoding:
            stored = lane.stored(sequence)
            sequence.private = self.memory.blocks_of(stored) - self._shared_blocks(sequence)
            # A request that joined and has not decoded here had its last token elsewhere.
            if sequence in lane.joined:
                lane.joined.remove(sequence)
            else:
                sequence.last_token = lane.last_end
            lane.remove(sequence)
        else:
            lane.prefilling.remove(sequence)
        self.free(sequence)
        del self.running[sequence.index]
        self.preemptions += 1
        self.outstanding -= sequence.remaining
        whole = sequence.computed == sequence.prompt
        sequence.preempted = True
        sequence.prompt = sequence.request.input_tokens + sequence.generated
        self.recorder.preempted(sequence.index, sequence.prompt if whole else sequence.computed)
        sequence.computed, sequence.lane = 0, -1
        self.outstanding += sequence.remaining
        self.waiting.appendleft(sequence)

    def _shared_blocks(self, sequence: Sequence) -> int:
        return len(sequence.shared) * self._unit_blocks

    def _continue_prompts(self, lane: Lane, budget: int, work: list[tuple[Sequence, Chunk]]) -> int:
        """Add prompts in work to a step; return the tokens that are left."""
        for sequence in lane.prefilling:
            tokens = min(budget, sequence.prompt - sequence.computed)
            if tokens < 1:
                return 0
            while not self._take_chunk(sequence, tokens):
                # Behind it can only be requests of other lanes.
                victim = self._victim(lane)
                if victim is None or victim is sequence:
                    return 0
                self._preempt(victim)
            work.append((sequence, Chunk(tokens, sequence.computed)))
            budget -= tokens
        return budget

    def _take_chunk(self, sequence: Sequence, tokens: int) -> bool:
        """Take the blocks of a chunk, and share the units that it completes."""
        stored = sequence.computed + tokens
        count = self.memory.blocks_of(stored) - self._shared_blocks(sequence) - sequence.private
        if not self.memory.take(count):
            return False
        sequence.private += count
        if self.memory.unit_tokens:
            whole = stored // self.memory.unit_tokens
            for value in sequence.request.prefix[len(sequence.shared) : whole]:
                # A unit that another request computed at the same time stays private here.
                if not self.memory.store(value):
                    break
                sequence.shared.append(value)
                sequence.private -= self._unit_blocks
        return True

    def _admit(self, lane: Lane, budget: int, work: list[tuple[Sequence, Chunk]], now: int) -> None:
        """Begin waiting requests while tokens, sequences and memory last."""
        while self.waiting and budget > 0 and len(self.running) < self.config.max_sequences:
            if self._lane_members(lane) >= self._lane_limit:
                return
            sequence = self.waiting[0]
            if self.config.role == "decode" and not sequence.preempted:
                if not self._admit_decode(sequence, lane, now):
                    return
                continue
            hits = self._hits(sequence)
            found = self._found(sequence, hits)
            tokens = min(budget, sequence.prompt - found)
            needed = self.memory.blocks_of(found + tokens) + self.memory.idle_among(hits)
            if needed - len(hits) * self._unit_blocks > self.memory.available:
                return
            self.memory.hold(hits)
            sequence.shared = list(hits)
            sequence.computed = found
            self.outstanding -= sequence.computed
            if not self._take_chunk(sequence, tokens):
                raise FaultError(f"replica {self.index}: memory that was counted is not there")
            self._start(sequence, lane)
            lane.prefilling.append(sequence)
            self.recorder.scheduled(sequence.index, now, sequence.computed)
            work.append((sequence, Chunk(tokens, sequence.computed)))
            budget -= tokens

    def _start(self, sequence: Sequence, lane: Lane) -> None:
        self.waiting.popleft()
        sequence.lane = self.lanes.index(lane)
        self.running[sequence.index] = sequence

    def _lane_members(self, lane: Lane) -> int:
        if len(self.lanes) == 1:
            return lane.members
        return sum(self.lanes[sequence.lane] is lane for sequence in self.running.values())

    def _hits(self, sequence: Sequence) -> tuple[int, ...]:
        """Stored units at the start of a prompt; at least one token is left to compute."""
        if not self.memory.unit_tokens or not sequence.request.prefix:
            return ()
        most = min(len(sequence.request.prefix), (sequence.prompt - 1) // self.memory.unit_tokens)
        return sequence.request.prefix[: self.memory.matched(sequence.request.prefix, most)]

    def _found(self, sequence: Sequence, hits: tuple[int, ...]) -> int:
        """Tokens of a prompt that need no computing: stored units, or what is known of it."""
        known = sequence.request.cached_tokens
        if sequence.preempted or not self.config.prefix_caching:
            known = 0
        return max(known, len(hits) * self.memory.unit_tokens)

    def _admit_decode(self, sequence: Sequence, lane: Lane, now: int) -> bool:
        """Give memory to a request whose cache is elsewhere, so that it can be sent."""
        if not self.memory.take(self.memory.blocks_of(sequence.prompt)):
            return False
        sequence.private = self.memory.blocks_of(sequence.prompt)
        self._start(sequence, lane)
        assert self._admitted is not None
        self._admitted(sequence, now)
        return True

    def _admit_joined(self, lane: Lane) -> None:
        for sequence in lane.joined:
            if not sequence.decoding:
                lane.add(sequence, sequence.prompt, lane.step)
