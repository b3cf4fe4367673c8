"""Bifocal: every ready operator on every device is scored by its finish and by what follows."""

import itertools
from dataclasses import dataclass
from typing import Literal

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.base import EXECUTORS, Pass, Scheduler
from fanweave.golden.dops.schedulers.ranks import upward_ranks
from fanweave.golden.errors import InputError

__all__ = ["Bifocal", "BifocalParameters", "coin_state"]

#: Scores nearer than this are equal: 1 ns, as published.
_TIE = 1000


@dataclass(frozen=True, kw_only=True)
class BifocalParameters:
    """Weights of the terms, in thousandths where a term is multiplied.

    Attributes
    ----------
    horizon : int
        Operators of a lookahead chain, the scored one included; 1 looks at none.
    gamma : int
        Share of the lookahead in the score, thousandths.
    consistency : int
        Price of leaving a device that an earlier lookahead had in mind, and of leaving the type
        of device that has a weight (lambda), thousandths.
    hints : int
        Devices of coming operators that are remembered.
    reuse : int
        Gain in prefill of a device that could hold all weights (eta), thousandths.
    amortise : int
        Share of the token term (alpha), thousandths; 0 leaves it out.
    least_reuse : int
        Least number of uses that a load is spread over.
    reuse_probability : int
        Chance that a coming token uses the weight again, thousandths.
    memory : str
        How long hints and types last: ``pass`` or ``run``.
    """

    horizon: int = 3
    gamma: int = 400
    consistency: int = 3000
    hints: int = 3
    reuse: int = 0
    amortise: int = 1000
    least_reuse: int = 1
    reuse_probability: int = 1000
    memory: Literal["pass", "run"] = "pass"

    def __post_init__(self) -> None:
        for name, low, high in (
            ("horizon", 1, 6),
            ("gamma", 0, 1000),
            ("consistency", 0, 10**6),
            ("hints", 0, 1000),
            ("reuse", 0, 10**6),
            ("amortise", 0, 10**6),
            ("least_reuse", 1, 10**6),
            ("reuse_probability", 0, 1000),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise InputError(
                    f"bifocal: {name} = {value!r} must be an integer from {low} to {high}"
                )
        if self.memory not in ("pass", "run"):
            raise InputError(f"bifocal: memory = {self.memory!r} must be 'pass' or 'run'")

    @property
    def looks_ahead(self) -> bool:
        """Whether lookahead has any weight."""
        return self.horizon > 1 and self.gamma > 0


def coin_state(seed: int) -> int:
    """First state of the coins of a seed: 32 bits, not zero."""
    return (seed * 2654435761 + 0x9E3779B9) & 0xFFFFFFFF or 1


@dataclass(frozen=True)
class _Choice:
    """Best device of an operator with its score, finish, and the devices it has in mind."""

    score: int
    finish: int
    device: int
    hints: dict[int, int]


class Bifocal(Scheduler):
    """The published scheduler.

    Parameters
    ----------
    parameters : BifocalParameters
    seed : int
        Of the coins that decide between devices of equal score and finish.
    """

    name = "Bifocal"

    def __init__(self, parameters: BifocalParameters | None = None, *, seed: int = 0) -> None:
        self.parameters = parameters or BifocalParameters()
        self.seed = seed

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Throw the coins from the seed again, forget all hints."""
        self._coins = coin_state(self.seed)
        self._hints: dict[int, int] = {}
        self._types: dict[int, str] = {}

    def place(self, work: Pass) -> Plan:
        """Commit the operator of the least score until all are placed."""
        if self.parameters.memory == "pass":
            self._hints, self._types = {}, {}
        self._work, self._timing, self._costs = work, work.timing, work.costs
        flat, platform = work.timing.flat, work.timing.platform
        self._flat, self._platform = flat, platform
        self._ranks = upward_ranks(work)
        self._amortised: dict[tuple[int, int], int] = {}
        self._executors = [i for kind in EXECUTORS for i in platform.indices(kind)]
        self._can_hold = self._devices_for_all_weights()
        waiting = [len(p) for p in flat.graph.predecessors]
        ready = [i for i in flat.graph.order if not waiting[i]]
        order: list[int] = []
        placed: set[int] = set()
        while ready:
            operator, choice = self._next(ready)
            ready.remove(operator)
            self._timing.commit(operator, choice.device)
            order.append(operator)
            placed.add(operator)
            self._remember(operator, choice, placed)
            for consumer in flat.graph.successors[operator]:
                waiting[consumer] -= 1
                if not waiting[consumer]:
                    ready.append(consumer)
            ready.sort(key=flat.position.__getitem__)
        return Plan(tuple(order), tuple(self._timing.place))

    def _next(self, ready: list[int]) -> tuple[int, _Choice]:
        """The ready operator with the least score; by rank if nothing looks ahead."""
        position = self._flat.position
        if not self.parameters.looks_ahead or len(self._executors) < 2:
            operator = max(ready, key=lambda o: (self._ranks[o], -position[o]))
            return operator, self._best(operator)
        choices = {operator: self._best(operator) for operator in ready}
        operator = min(
            ready,
            key=lambda o: (choices[o].score, choices[o].finish, -self._ranks[o], position[o]),
        )
        return operator, choices[operator]

    def _best(self, operator: int) -> _Choice:
        parameters = self.parameters
        chain = self._chain(operator)
        best = _Choice(FOREVER * 1000, FOREVER, -1, {})
        for device in self._work.devices[operator]:
            finish = self._timing.probe(operator, device)
            if finish >= FOREVER:
                continue
            ahead, hints = self._look_ahead(chain, device, finish)
            score = (1000 - parameters.gamma) * finish + parameters.gamma * ahead
            score += self._weight_bias(operator, device)
            score += self._token_bias(operator, device)
            near = abs(score - best.score) < _TIE * 1000
            if score < best.score or (
                near
                and (finish < best.finish or (abs(finish - best.finish) < _TIE and self._coin()))
            ):
                best = _Choice(score, finish, device, hints)
        return best

    def _coin(self) -> bool:
        """Next coin of a 32-bit xorshift generator."""
        state = self._coins
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        self._coins = state
        return bool(state & 1)

    # Lookahead

    def _chain(self, operator: int) -> list[int]:
        """The operator and its consumers along the heaviest edges."""
        flat, chain = self._flat, [operator]
        if not self.parameters.looks_ahead:
            return chain
        while len(chain) < self.parameters.horizon:
            edges = range(flat.succ_start[chain[-1]], flat.succ_start[chain[-1] + 1])
            if not edges:
                break
            heaviest = max(
                edges,
                key=lambda e: (
                    self._costs.edge_bytes[flat.succ_edge[e]],
                    self._ranks[flat.succ[e]],
                    -e,
                ),
            )
            chain.append(int(flat.succ[heaviest]))
        return chain

    def _look_ahead(self, chain: list[int], device: int, finish: int) -> tuple[int, dict[int, int]]:
        """Least end of the chain over the types of devices of its other operators."""
        if len(chain) == 1:
            return finish, {}
        nearest = [
            min(self._platform.indices(kind), key=self._timing.available.__getitem__)
            for kind in EXECUTORS
            if self._platform.indices(kind)
        ]
        options = [[d for d in nearest if d in self._work.devices[o]] for o in chain[1:]]
        if any(self._flat.collective[o] for o in chain[1:]) or not all(options):
            return finish, {}
        best: int = FOREVER
        best_devices: tuple[int, ...] = ()
        for devices in itertools.product(*options):
            end = self._chain_end(chain, (device, *devices), finish)
            if not best_devices or end < best:
                best, best_devices = end, devices
        return best, dict(zip(chain[1:], best_devices, strict=True))

    def _chain_end(self, chain: list[int], devices: tuple[int, ...], finish: int) -> int:
        """End of a chain without contention and other producers, with the price of new minds."""
        flat, costs, timing = self._flat, self._costs, self._timing
        free = {devices[0]: max(timing.available[devices[0]], finish)}
        loaded = {(devices[0], int(flat.weight_of[chain[0]]))}
        penalty = 0
        for index in range(1, len(chain)):
            operator, device, before = chain[index], devices[index], devices[index - 1]
            edge = self._edge(chain[index - 1], operator)
            ready = finish + int(costs.edge_move[edge, before, device])
            begin = max(free.get(device, timing.available[device]), ready)
            kind, weight = int(flat.class_of[operator]), int(flat.weight_of[operator])
            layout = timing.layouts[weight] if weight >= 0 else 0
            warm = weight < 0 or timing.resident(weight, device) or (device, weight) in loaded
            table = costs.compute if warm else costs.cold
            finish = free[device] = begin + int(table[layout, kind, device])
            hinted = self._hints.get(operator, device)
            if hinted != device:
                away = int(costs.hint_move[kind, hinted, device])
                penalty += self.parameters.consistency * away // 1000
        return finish + penalty

    def _edge(self, producer: int, consumer: int) -> int:
        flat = self._flat
        for edge in range(flat.succ_start[producer], flat.succ_start[producer + 1]):
            if flat.succ[edge] == consumer:
                return int(flat.succ_edge[edge])
        raise ValueError("no such edge")

    # Biases, in thousandths of picoseconds

    def _service(self, operator: int, device: int) -> tuple[int, int]:
        """Time with the weights on the device, and with loading them."""
        kind, weight = self._flat.class_of[operator], self._flat.weight_of[operator]
        layout = self._timing.layouts[weight]
        return (
            int(self._costs.compute[layout, kind, device]),
            int(self._costs.cold[layout, kind, device]),
        )

    def _missing(self, operator: int, device: int) -> bool:
        weight = int(self._flat.weight_of[operator])
        return weight >= 0 and not self._timing.resident(weight, device)

    def _weight_bias(self, operator: int, device: int) -> int:
        """Price of another type of device than the weight's last; gain of room for all."""
        if not self._missing(operator, device):
            return 0
        _, cold = self._service(operator, device)
        bias = 0
        last = self._types.get(int(self._flat.weight_of[operator]))
        if last is not None and last != self._platform.devices[device].type:
            bias += self.parameters.consistency * cold
        if self._work.phase == "prefill" and device in self._can_hold:
            bias -= self.parameters.reuse * cold
        return bias

    def _token_bias(self, operator: int, device: int) -> int:
        """Spreads a load over the tokens to come; computed once a pass."""
        parameters = self.parameters
        if self._work.phase != "decode" or not parameters.amortise:
            return 0
        if self._flat.weight_of[operator] < 0:
            return 0
        key = (operator, device)
        if key not in self._amortised:
            bias = 0
            if self._missing(operator, device):
                warm, cold = self._service(operator, device)
                coming = max(1, self._work.tokens - self._work.token)
                uses = max(
                    parameters.least_reuse * 1000, coming * parameters.reuse_probability, 1000
                )
                extra = max(0, cold - warm)
                bias = min(0, parameters.amortise * (warm + extra * 1000 // uses - cold))
            self._amortised[key] = bias
        return self._amortised[key]

    def _devices_for_all_weights(self) -> frozenset[int]:
        """Devices whose cache, with its peers of the same type if a PIM, holds all weights."""
        graph = self._flat.graph
        total = sum(int(self._costs.weight[c]) for c in graph.weight_class)
        pims = len(self._platform.indices("pim"))
        holds = []
        for device in self._executors:
            share = pims if self._platform.devices[device].type == "pim" else 1
            if self._timing.room(device) >= -(-total // share):
                holds.append(device)
        return frozenset(holds)

    def _remember(self, operator: int, choice: _Choice, placed: set[int]) -> None:
        weight = int(self._flat.weight_of[operator])
        if weight >= 0:
            self._types[weight] = self._platform.devices[choice.device].type
        if not self.parameters.hints:
            return
        self._hints = {o: d for o, d in self._hints.items() if o not in placed}
        for coming, device in choice.hints.items():
            if coming not in placed:
                self._hints.pop(coming, None)
                self._hints[coming] = device
        while len(self._hints) > self.parameters.hints:
            del self._hints[next(iter(self._hints))]
