"""Replicas that serve a trace of requests: events, routing, transfers of caches."""

import heapq
from dataclasses import dataclass

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.energy import Power
from fanweave.golden.timing.record import Recorder
from fanweave.golden.timing.replica import Replica, ScheduledStep
from fanweave.golden.timing.requests import Request, RequestTrace
from fanweave.golden.timing.sequence import Sequence
from fanweave.golden.timing.step import StepCosts

__all__ = ["Cluster", "KvLink", "ReplicaSpec"]

#: Order of events at the same time: what arrives is there before anything is scheduled.
_ARRIVAL, _TRANSFER, _STEP = range(3)


@dataclass(frozen=True, kw_only=True)
class ReplicaSpec:
    """A replica: who times its steps, how it batches, and its power where that is known."""

    costs: StepCosts
    config: ReplicaConfig
    power: Power | None = None


@dataclass(frozen=True, kw_only=True)
class KvLink:
    """Link over which caches go from the replicas that prefill to those that decode.

    Attributes
    ----------
    bytes_per_s : float
        Bandwidth between two replicas; caches between the same two come one after another.
    latency_ps : int
        Latency.
    bytes_per_token : int
        Size of a token's keys and values.
    """

    bytes_per_s: float
    latency_ps: int
    bytes_per_token: int

    def __post_init__(self) -> None:
        if not self.bytes_per_s > 0 or self.latency_ps < 0 or self.bytes_per_token < 1:
            raise InputError("a KV link needs bandwidth, bytes a token, and no negative latency")

    def time_ps(self, tokens: int) -> int:
        """Time of the cache of so many tokens without its latency."""
        return round(tokens * self.bytes_per_token / self.bytes_per_s * PICOSECONDS)


class Cluster:
    """Serves a trace. A request goes to the replica with the fewest outstanding tokens.

    Parameters
    ----------
    specs : list of ReplicaSpec
        Either all of role ``"both"``, or some ``"prefill"`` and some ``"decode"``.
    link : KvLink, optional
        Needed with roles.

    Raises
    ------
    InputError
        If the roles do not go together.
    """

    def __init__(self, specs: list[ReplicaSpec], link: KvLink | None = None) -> None:
        roles = {spec.config.role for spec in specs}
        if roles not in ({"both"}, {"prefill", "decode"}):
            raise InputError(
                f"replicas have the roles {', '.join(sorted(roles)) or 'none'}; give all of them "
                "'both', or some 'prefill' and some 'decode'"
            )
        if "decode" in roles and link is None:
            raise InputError("replicas that decode need a link over which caches come")
        self.specs, self.link = specs, link

    def serve(self, trace: RequestTrace, *, keep_steps: bool = False) -> "ServingRun":
        """Serve all requests of a trace.

        Parameters
        ----------
        trace : RequestTrace
        keep_steps : bool
            Keep every step in the recorder, for a timeline.

        Raises
        ------
        InputError
            If a request can never fit into the memory of a replica.
        FaultError
            If a request is not finished when nothing is left to happen.
        """
        self._check_capacity(trace)
        run = ServingRun(self, trace, keep_steps=keep_steps)
        run.play()
        return run

    def _check_capacity(self, trace: RequestTrace) -> None:
        for spec in self.specs:
            config = spec.config
            for request in trace.requests:
                tokens = request.input_tokens
                if config.role != "prefill":
                    tokens += request.output_tokens - 1
                blocks = -(-tokens // config.block_tokens)
                if blocks > config.kv_blocks:
                    raise InputError(
                        f"{trace.name}, request {request.name}: its {tokens} tokens need {blocks} "
                        f"blocks of the cache, which has {config.kv_blocks}; "
                        f"{(blocks - config.kv_blocks) * config.block_tokens} tokens are missing"
                    )


class ServingRun:
    """One run of a cluster over a trace.

    Attributes
    ----------
    recorder : Recorder
        What happened.
    replicas : list of Replica
        Their state at the end.
    link_busy : dict of (int, int) to int
        Time in which the link between two replicas worked, picoseconds.
    transferred : int
        Tokens whose caches were sent.
    """

    def __init__(self, cluster: Cluster, trace: RequestTrace, *, keep_steps: bool = False) -> None:
        self.cluster, self.trace = cluster, trace
        stages = [spec.costs.stages for spec in cluster.specs]
        self.recorder = Recorder(trace, stages, keep_steps=keep_steps)
        self.replicas = [
            Replica(
                index,
                spec.costs,
                spec.config,
                unit_tokens=trace.prefix_block,
                recorder=self.recorder,
                admitted=self._start_transfer if spec.config.role == "decode" else None,
            )
            for index, spec in enumerate(cluster.specs)
        ]
        self._first = [r for r in self.replicas if r.config.role != "decode"]
        self._second = [r for r in self.replicas if r.config.role == "decode"]
        self.link_busy: dict[tuple[int, int], int] = {}
        self._link_free: dict[tuple[int, int], int] = {}
        self.transferred = 0
        self._prefilled: dict[int, tuple[Replica, Sequence]] = {}
        self._decoding: dict[int, Replica] = {}
        self._events: list[tuple[int, int, int, object]] = []
        self._order = 0
        self.now = 0

    def _push(self, time: int, kind: int, what: object) -> None:
        heapq.heappush(self._events, (time, kind, self._order, what))
        self._order += 1

    def play(self) -> None:
        """Let everything happen."""
        arrivals = enumerate(self.trace.requests)
        self._next_arrival(arrivals)
        while self._events:
            time = self._events[0][0]
            if time < self.now:
                raise FaultError(f"time goes back from {self.now} to {time} ps")
            self.now = time
            touched: dict[int, Replica] = {}
            while self._events and self._events[0][0] == time:
                _, kind, _, what = heapq.heappop(self._events)
                if kind == _ARRIVAL:
                    self._arrive(what, touched)
                    self._next_arrival(arrivals)
                elif kind == _TRANSFER:
                    self._end_transfer(what, touched)
                else:
                    self._end_step(what, touched)
            for replica in touched.values():
                for step in replica.run(time):
                    self._push(step.end, _STEP, (replica, step))
        for index, last in enumerate(self.recorder.last_at):
            if last < 0:
                name = self.trace.requests[index].name
                raise FaultError(f"request {name} is not finished and nothing is left to happen")

    def _next_arrival(self, arrivals: "enumerate[Request]") -> None:
        following = next(arrivals, None)
        if following is not None:
            self._push(following[1].arrival, _ARRIVAL, following)

    def _arrive(self, what: object, touched: dict[int, Replica]) -> None:
        assert isinstance(what, tuple)
        index, request = what
        replica = _least(self._first)
        goal = 1 if replica.config.role == "prefill" else request.output_tokens
        replica.send(Sequence(index=index, request=request, prompt=request.input_tokens, goal=goal))
        _wake(replica, touched)

    def _end_step(self, what: object, touched: dict[int, Replica]) -> None:
        assert isinstance(what, tuple)
        replica, step = what
        assert isinstance(replica, Replica)
        assert isinstance(step, ScheduledStep)
        for sequence in replica.finish(step):
            if replica.config.role == "prefill":
                self._hand_over(replica, sequence, touched)
        touched[replica.index] = replica

    def _hand_over(self, replica: Replica, sequence: Sequence, touched: dict[int, Replica]) -> None:
        request = sequence.request
        if request.output_tokens == 1:
            replica.free(sequence)
            return
        target = _least(self._second)
        self._prefilled[sequence.index] = replica, sequence
        self._decoding[sequence.index] = target
        target.send(
            Sequence(
                index=sequence.index,
                request=request,
                prompt=request.input_tokens,
                computed=request.input_tokens,
                generated=1,
                goal=request.output_tokens,
                last_token=sequence.last_token,
            )
        )
        _wake(target, touched)

    def _start_transfer(self, sequence: Sequence, now: int) -> None:
        """The target has memory for the cache of a request: send it."""
        link = self.cluster.link
        assert link is not None
        pair = self._prefilled[sequence.index][0].index, self._decoding[sequence.index].index
        duration = link.time_ps(sequence.prompt)
        start = max(now, self._link_free.get(pair, 0))
        self._link_free[pair] = start + duration
        self.link_busy[pair] = self.link_busy.get(pair, 0) + duration
        self.transferred += sequence.prompt
        self._push(start + duration + link.latency_ps, _TRANSFER, sequence)

    def _end_transfer(self, what: object, touched: dict[int, Replica]) -> None:
        assert isinstance(what, Sequence)
        source, sequence = self._prefilled.pop(what.index)
        source.free(sequence)
        _wake(source, touched)
        target = self._decoding.pop(what.index)
        target.join(what)
        _wake(target, touched)


def _least(replicas: list[Replica]) -> Replica:
    return min(replicas, key=lambda replica: replica.outstanding)


def _wake(replica: Replica, touched: dict[int, Replica]) -> None:
    """An idle replica acts at once; a busy one at the end of its step."""
    if not replica.busy:
        touched[replica.index] = replica
