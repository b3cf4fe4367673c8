"""The layout arbiter: which layout the weights of a block of layers have at the host.

The published search (YIAI-02/TriForm, README and `dops` sources): begin with linear weights, let
a model of reloads propose another layout for some blocks, run the scheduler, and take single
blocks back where that is quicker. Every layout that is tried is a whole run of the scheduler from
empty memories, with all invariants checked and a second account of loads and evictions.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.place import Problem, imitate
from fanweave.golden.dops.schedule import Schedule
from fanweave.golden.dops.schedulers.base import EXECUTORS, Scheduler
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import FaultError, InputError

__all__ = ["ArbiterParameters", "Arbitration", "Block", "arbitrate", "blocks_of"]

#: A step back of a single block must gain more than this, as published: 1 us in picoseconds.
_LEAST_GAIN = 10**6
#: Layouts that a block may get; two copies are a row of their own.
_CHOICES = (Layout.LINEAR, Layout.NPU, Layout.PIM)
_NAME = re.compile(r"L\d+_(?P<kind>.+?)(_s\d+)?")


@dataclass(frozen=True, kw_only=True)
class ArbiterParameters:
    """How blocks are made and searched.

    Attributes
    ----------
    span : int
        Layers of a block; 4 as in the published example.
    passes : int
        Passes over all blocks. Each changes one part in so many of the blocks, at least one.
    spread : int
        Power of the number of devices of a type that loads are divided by, thousandths; 1000
        counts loads of a device.
    tries : int
        Blocks that are taken back on trial after each pass, those with most misplaced loads
        first. The published code tries all.
    dominant : bool
        Begin with the best single layout for all weights, and not with linear ones as published.
    """

    span: int = 4
    passes: int = 5
    spread: int = 1000
    tries: int = 4
    dominant: bool = False

    def __post_init__(self) -> None:
        for name, least in (("span", 1), ("passes", 1), ("spread", 0), ("tries", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(
                    f"arbiter: {name} = {value!r} must be an integer of at least {least}"
                )


@dataclass(frozen=True, kw_only=True)
class Block:
    """Weights of one kind in a run of layers: they have one layout."""

    kind: str
    first_layer: int
    weights: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Arbitration:
    """What a search found.

    Attributes
    ----------
    blocks : tuple of Block
    chosen : tuple of Layout
        One a block.
    layouts : tuple of int
        `Layout` of each weight.
    schedule : Schedule
        Of the best layouts.
    linear : int
        End with linear weights, picoseconds.
    tried : int
        Runs of the scheduler.
    """

    blocks: tuple[Block, ...]
    chosen: tuple[Layout, ...]
    layouts: tuple[int, ...]
    schedule: Schedule
    linear: int
    tried: int


def blocks_of(case: Problem, span: int) -> tuple[Block, ...]:
    """Weights by their name without layer and piece, `span` layers together."""
    graph = case.flat.graph
    found: dict[tuple[str, int], list[int]] = {}
    for operator in graph.operators:
        if operator.weight < 0:
            continue
        match = _NAME.fullmatch(operator.name)
        assert match is not None, operator.name
        key = (match["kind"], operator.layer // span * span)
        found.setdefault(key, []).append(operator.weight)
    return tuple(
        Block(kind=kind, first_layer=layer, weights=tuple(weights))
        for (kind, layer), weights in found.items()
    )


class _Search:
    """Runs the scheduler under layouts of blocks and remembers the best."""

    def __init__(
        self,
        case: Problem,
        scheduler: Callable[[], Scheduler],
        settings: ArbiterParameters,
        sampled: bool,
    ) -> None:
        self.case, self.scheduler, self.settings = case, scheduler, settings
        self.sampled = sampled
        self.blocks = blocks_of(case, settings.span)
        self.tried = 0
        self.best: tuple[Schedule, list[Layout]] | None = None
        work = case.workload
        self._cold = case.tables.step(Step("prefill", work.batch, work.prefill)).cold
        self._types = {kind: case.platform.indices(kind) for kind in EXECUTORS}

    def layouts(self, chosen: Sequence[Layout]) -> list[int]:
        """`Layout` of each weight."""
        result = [int(Layout.LINEAR)] * len(self.case.flat.graph.weights)
        for block, layout in zip(self.blocks, chosen, strict=True):
            for weight in block.weights:
                result[weight] = int(layout)
        return result

    def run(self, chosen: list[Layout]) -> Schedule:
        """Run the scheduler, checked, with a second account of memory."""
        account = MemoryTrace()
        schedule = imitate(
            self.case,
            self.scheduler(),
            layouts=self.layouts(chosen),
            sampled=self.sampled,
            observer=account,
        )
        if not np.array_equal(account.loads, schedule.loads):
            raise FaultError(
                "schedule: rule 'bytes are conserved' is broken: loads of weights are not those "
                "of the second account"
            )
        self.tried += 1
        if self.best is None or schedule.total < self.best[0].total:
            self.best = schedule, list(chosen)
        return schedule

    def reloads(self, schedule: Schedule, block: Block) -> dict[str, float]:
        """Loads of a block's weights onto each type, spread over its devices."""
        power = self.settings.spread / 1000
        return {
            kind: float(schedule.loads[np.ix_(block.weights, devices)].sum())
            / len(devices) ** power
            for kind, devices in self._types.items()
            if devices
        }

    def proposals(
        self, schedule: Schedule, chosen: Sequence[Layout]
    ) -> Iterator[tuple[float, int, Layout]]:
        """Gain by the model of reloads, number and layout of linear blocks; only real gains."""
        kinds = self.case.flat.graph.weight_class
        power = self.settings.spread / 1000
        for number, block in enumerate(self.blocks):
            if chosen[number] != Layout.LINEAR:
                continue
            prices = dict.fromkeys(_CHOICES, 0.0)
            for devices in self._types.values():
                for weight in block.weights if devices else ():
                    loads = schedule.loads[weight, devices].sum() / len(devices) ** power
                    for layout in _CHOICES:
                        prices[layout] += loads * int(self._cold[layout, kinds[weight], devices[0]])
            best = min(_CHOICES, key=prices.__getitem__)
            gain = prices[Layout.LINEAR] - prices[best]
            if gain > 0:
                yield gain, number, best

    def propose(self, schedule: Schedule, chosen: list[Layout]) -> list[Layout]:
        """Give the blocks of the largest gains another layout."""
        most = -(-len(self.blocks) // self.settings.passes)
        ranked = sorted(self.proposals(schedule, chosen), key=lambda p: (-p[0], p[1]))
        result = list(chosen)
        for _, number, layout in ranked[:most]:
            result[number] = layout
        return result

    def misplaced(self, schedule: Schedule, chosen: Sequence[Layout]) -> list[int]:
        """Blocks whose layout is for the type that loads them less, worst first."""
        found = []
        for number, block in enumerate(self.blocks):
            loads = self.reloads(schedule, block)
            npu, pim = loads.get("npu", 0.0), loads.get("pim", 0.0)
            excess = {Layout.NPU: pim - npu, Layout.PIM: npu - pim}.get(chosen[number], 0.0)
            if excess > 0:
                found.append((-excess, number))
        return [number for _, number in sorted(found)][: self.settings.tries]

    def take_back(self, schedule: Schedule, chosen: list[Layout]) -> tuple[Schedule, list[Layout]]:
        """Try misplaced blocks linear, then for the other type; keep what ends sooner."""
        for number in self.misplaced(schedule, chosen):
            other = Layout.PIM if chosen[number] == Layout.NPU else Layout.NPU
            for layout in (Layout.LINEAR, other):
                trial = [*chosen[:number], layout, *chosen[number + 1 :]]
                found = self.run(trial)
                if found.total < schedule.total - _LEAST_GAIN:
                    schedule, chosen = found, trial
                    break
        return schedule, chosen


def arbitrate(
    case: Problem,
    scheduler: Callable[[], Scheduler],
    parameters: ArbiterParameters | None = None,
    *,
    sampled: bool = False,
) -> Arbitration:
    """Search layouts of blocks of weights under which a scheduler ends sooner.

    Parameters
    ----------
    case : Problem
        Of a record in which conversions cost something.
    scheduler : callable
        Makes the scheduler, a new one for every run.
    parameters : ArbiterParameters, optional
    sampled : bool
        As of `fanweave.golden.dops.place.imitate`.

    Raises
    ------
    InputError
        If conversions cost nothing under the record, so that there is nothing to search.
    FaultError
        If a schedule breaks a rule, or its loads are not those of the second account.
    """
    if case.record.pim != "trace" and case.record.npu != "table":
        raise InputError(
            f"layouts: conversions cost nothing under record {case.record.name}; use one whose "
            "devices convert, such as trace"
        )
    search = _Search(case, scheduler, parameters or ArbiterParameters(), sampled)
    chosen = [Layout.LINEAR] * len(search.blocks)
    schedule = search.run(chosen)
    linear = schedule.total
    if search.settings.dominant:
        for layout in _CHOICES[1:]:
            search.run([layout] * len(search.blocks))
        assert search.best is not None
        schedule, chosen = search.best
    for _ in range(search.settings.passes):
        proposed = search.propose(schedule, chosen)
        found = schedule if proposed == chosen else search.run(proposed)
        found, proposed = search.take_back(found, proposed)
        if proposed == chosen or found.total > schedule.total:
            break
        schedule, chosen = found, proposed
    assert search.best is not None
    schedule, chosen = search.best
    return Arbitration(
        blocks=search.blocks,
        chosen=tuple(chosen),
        layouts=tuple(search.layouts(chosen)),
        schedule=schedule,
        linear=linear,
        tried=search.tried,
    )
