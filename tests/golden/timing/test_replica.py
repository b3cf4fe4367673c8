"""A replica against a server that looks at every request in every step."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.timing.cluster import Cluster, ReplicaSpec
from fanweave.golden.timing.config import IntakeModel, ReplicaConfig
from fanweave.golden.timing.invariants import check_run
from fanweave.golden.timing.requests import Request, RequestTrace
from fanweave.golden.timing.step import Chunk, StepShape

from .conftest import LinearCosts


@dataclass(eq=False)
class Plain:
    """One request of the plain server."""

    index: int
    request: Request
    prompt: int
    computed: int = 0
    generated: int = 0
    blocks: int = 0
    tokens_at: list[int] = field(default_factory=list)

    @property
    def stored(self):
        """Tokens with keys and values before the next step."""
        if self.computed < self.prompt:
            return self.computed
        return self.prompt + self.after

    after: int = 0


class PlainServer:
    """The batching of a replica with one stage, request by request and step by step."""

    def __init__(self, trace, costs, config):
        self.costs, self.config = costs, config
        self.requests = [
            Plain(index, request, request.input_tokens)
            for index, request in enumerate(trace.requests)
        ]
        self.free = config.kv_blocks
        self.waiting, self.running, self.flight = [], [], []
        self.queued, self.scheduled, self.device = {}, {}, 0
        self.preemptions = 0

    def need(self, plain, stored):
        return -(-stored // self.config.block_tokens) - plain.blocks

    def preempt(self, plain):
        self.preemptions += 1
        self.free += plain.blocks
        plain.blocks = plain.computed = plain.after = 0
        plain.prompt = plain.request.input_tokens + plain.generated
        self.running.remove(plain)
        self.waiting.insert(0, plain)

    def unfinished(self):
        return [p for p in self.running if p.generated < p.request.output_tokens]

    def schedule(self, now):
        before = self.preemptions
        decodes = [p for p in self.unfinished() if p.computed == p.prompt]
        while sum(self.need(p, p.stored + 1) for p in decodes) > self.free:
            self.preempt(self.unfinished()[-1])
            decodes = [p for p in self.unfinished() if p.computed == p.prompt]
        for plain in decodes:
            self.grow(plain, plain.stored + 1)
        budget, work, blocked = self.config.token_budget - len(decodes), [], False
        for plain in [p for p in self.unfinished() if p.computed < p.prompt]:
            tokens = min(budget, plain.prompt - plain.computed)
            if tokens < 1 or plain not in self.running:
                break
            if self.need(plain, plain.computed + tokens) > self.free:
                blocked = True
                break
            self.grow(plain, plain.computed + tokens)
            work.append((plain, Chunk(tokens, plain.computed)))
            budget -= tokens
        while (
            self.waiting
            and budget > 0
            and not blocked
            and before == self.preemptions
            and len(self.running) < self.config.max_sequences
        ):
            plain = self.waiting[0]
            tokens = min(budget, plain.prompt)
            if self.need(plain, tokens) > self.free:
                break
            self.waiting.pop(0)
            self.running.append(plain)
            self.scheduled.setdefault(plain.index, now)
            self.grow(plain, tokens)
            work.append((plain, Chunk(tokens, 0)))
            budget -= tokens
        if not work and not decodes:
            return False
        contexts = [p.stored for p in decodes]
        shape = StepShape(
            tuple(chunk for _, chunk in work), len(decodes), sum(contexts), max(contexts, default=0)
        )
        time = self.costs.step(shape)
        self.device = max(now + time.host, self.device) + time.stages[0]
        ending = []
        for plain in decodes:
            plain.after += 1
            ending += self.token(plain)
        for plain, chunk in work:
            plain.computed += chunk.tokens
            if plain.computed == plain.prompt:
                ending += self.token(plain)
        self.flight.append((self.device, ending))
        return True

    def grow(self, plain, stored):
        need = self.need(plain, stored)
        self.free -= need
        plain.blocks += need

    def token(self, plain):
        plain.generated += 1
        plain.tokens_at.append(self.device)
        return [plain] if plain.generated == plain.request.output_tokens else []

    def play(self):
        arrivals = list(self.requests)
        now = 0
        while arrivals or self.waiting or self.running:
            if self.flight:
                now, ending = self.flight.pop(0)
                for plain in ending:
                    self.running.remove(plain)
                    self.free += plain.blocks
            else:
                now = max(now, arrivals[0].request.arrival)
            while arrivals and arrivals[0].request.arrival <= now:
                self.queued[arrivals[0].index] = now
                self.waiting.append(arrivals.pop(0))
            while len(self.flight) < (2 if self.config.asynchronous else 1):
                if not self.schedule(now):
                    break
        return self


def run_both(trace, costs, config):
    run = Cluster([ReplicaSpec(costs=costs, config=config)]).serve(trace)
    check_run(run)
    return run, PlainServer(trace, costs, config).play()


def agree(run, plain):
    record = run.recorder
    assert record.queued_at == [plain.queued[i] for i in range(len(plain.requests))]
    assert record.scheduled_at == [plain.scheduled[i] for i in range(len(plain.requests))]
    assert record.first_at == [p.tokens_at[0] for p in plain.requests]
    assert record.last_at == [p.tokens_at[-1] for p in plain.requests]
    gaps = sorted(
        later - earlier
        for p in plain.requests
        for earlier, later in zip(p.tokens_at[:-1], p.tokens_at[1:], strict=True)
    )
    counted = []
    for length, count in zip(record.gap_lengths, record.gap_counts, strict=True):
        counted += [length] * count
    assert sorted(counted) == gaps
    assert sum(record.preemption_counts) == plain.preemptions


REQUESTS = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(1, 60), st.integers(1, 30)),
    min_size=1,
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(
    rows=REQUESTS,
    sequences=st.integers(1, 6),
    budget=st.integers(6, 40),
    block=st.sampled_from([1, 4, 16]),
    spare=st.integers(0, 30),
    asynchronous=st.booleans(),
    host=st.sampled_from([0, 700]),
)
def test_equals_the_plain_server(rows, sequences, budget, block, spare, asynchronous, host):
    requests, now = [], 0
    for index, (gap, tokens, output) in enumerate(rows):
        now += gap
        requests.append(
            Request(name=str(index), arrival=now, input_tokens=tokens, output_tokens=output)
        )
    trace = RequestTrace(name="made", requests=tuple(requests))
    largest = max(-(-(r.input_tokens + r.output_tokens - 1) // block) for r in requests)
    config = ReplicaConfig(
        max_sequences=sequences,
        token_budget=budget,
        block_tokens=block,
        kv_blocks=largest + spare,
        asynchronous=asynchronous,
    )
    agree(*run_both(trace, LinearCosts(host=host), config))


def test_memory_runs_out_and_the_last_request_computes_again(trace_of):
    trace = trace_of((0, 20, 30), (0, 20, 30), (0, 20, 30))
    config = ReplicaConfig(kv_blocks=8, block_tokens=16, token_budget=256)
    run, plain = run_both(trace, LinearCosts(), config)
    agree(run, plain)
    assert plain.preemptions
    assert run.recorder.preemption_counts[0] == 0
    assert run.recorder.repeated


def test_a_long_prompt_is_cut_to_the_budget(trace_of):
    costs = LinearCosts()
    config = ReplicaConfig(kv_blocks=100, max_sequences=4, token_budget=100, asynchronous=False)
    run, _ = run_both(trace_of((0, 250, 1)), costs, config)
    steps = [Chunk(100, 0), Chunk(100, 100), Chunk(50, 200)]
    expected = sum(costs.step(StepShape((chunk,), 0, 0, 0)).stages[0] for chunk in steps)
    assert run.recorder.first_at == [expected]


def test_tokens_that_are_known_to_be_cached_are_not_computed(trace_of):
    costs = LinearCosts()
    trace = trace_of((0, 250, 20), (0, 40, 20))
    known = replace(trace.requests[0], cached_tokens=96)
    trace = replace(trace, requests=(known, trace.requests[1]))
    for caching, found in ((True, 96), (False, 0)):
        config = ReplicaConfig(
            kv_blocks=20, max_sequences=4, token_budget=100, prefix_caching=caching
        )
        run = Cluster([ReplicaSpec(costs=costs, config=config)]).serve(trace)
        check_run(run)
        assert run.recorder.cached_tokens == [found, 0]
        assert run.recorder.uses[0].prefill_tokens == 290 - found + run.recorder.repeated
    alone = replace(trace, requests=(known,))
    config = ReplicaConfig(kv_blocks=20, max_sequences=4, token_budget=100, asynchronous=False)
    run = Cluster([ReplicaSpec(costs=costs, config=config)]).serve(alone)
    # Cached tokens take memory as well.
    assert run.recorder.uses[0].peak_blocks == -(-(250 + 19) // 16)
    steps = [Chunk(100, 96), Chunk(54, 196)]
    expected = sum(costs.step(StepShape((chunk,), 0, 0, 0)).stages[0] for chunk in steps)
    assert run.recorder.first_at == [expected]


def test_a_place_is_free_one_step_later_when_scheduled_ahead(trace_of):
    trace = trace_of((0, 4, 3), (0, 4, 1))
    for asynchronous, steps in ((False, 3), (True, 4)):
        config = ReplicaConfig(
            kv_blocks=10, max_sequences=1, token_budget=64, asynchronous=asynchronous
        )
        run, _ = run_both(trace, LinearCosts(start=10**6), config)
        # The second request's only step follows the three of the first one, and with
        # scheduling ahead it was scheduled only when the last of them had ended.
        assert run.recorder.first_at[1] // 10**6 == 4
        assert run.recorder.scheduled_at[1] // 10**6 == 3
        assert steps


@pytest.mark.parametrize("asynchronous", [False, True])
def test_host_time_is_hidden_behind_the_step_before(trace_of, asynchronous):
    config = ReplicaConfig(kv_blocks=10, asynchronous=asynchronous)
    base = LinearCosts(start=1000, token=0, stored=0, longest=0)
    for host, delay in ((400, 400), (1500, 1500)):
        costs = LinearCosts(start=1000, token=0, stored=0, longest=0, host=host)
        slow, _ = run_both(trace_of((0, 4, 5)), costs, config)
        fast, _ = run_both(trace_of((0, 4, 5)), base, config)
        lost = slow.recorder.last_at[0] - fast.recorder.last_at[0]
        if not asynchronous:
            assert lost == 5 * host
        elif host < 1000:
            assert lost == delay
        else:
            assert lost > delay


def test_a_host_that_slept_long_takes_requests_in_more_slowly(trace_of):
    intake = IntakeModel(ps=10, slow_ps=50, short_ps=1000, long_ps=3000)
    assert [intake.behind(step) for step in (0, 1000, 2000, 3000, 9000)] == [10, 10, 30, 50, 50]
    config = ReplicaConfig(kv_blocks=1000, asynchronous=False, intake=intake)
    # The first step takes 1000 + 10 * 150 = 2500, so each one behind it waits 40.
    trace = trace_of((0, 150, 2), (100, 5, 1), (200, 5, 1), (10**6, 5, 1))
    record = Cluster([ReplicaSpec(costs=LinearCosts(), config=config)]).serve(trace).recorder
    assert record.first_at[0] == 10 + 2500
    assert record.queued_at[1:3] == [2510, 2550]
    assert record.scheduled_at[1:3] == [2590, 2590]
    # One that comes to an idle server.
    assert record.scheduled_at[3] == 10**6 + 10
    for wrong in ({"ps": -1}, {"ps": 5}, {"short_ps": 1}):
        with pytest.raises(InputError, match="needs 0 <= ps <= slow_ps"):
            IntakeModel(**wrong)
