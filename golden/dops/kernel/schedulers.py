"""The schedulers that have compiled passes, by name."""

from typing import cast

import numpy as np

from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.kernel import passes, rolling
from fanweave.golden.dops.kernel.bifocal import bifocal
from fanweave.golden.dops.kernel.lookahead import Hints, Rules, scratch_of
from fanweave.golden.dops.kernel.timing import CompiledTiming, device_lists
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.base import EXECUTORS, Pass, Scheduler
from fanweave.golden.dops.schedulers.bifocal import Bifocal, coin_state
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.schedulers.window_search import SearchState

__all__ = [
    "CompiledBifocal",
    "CompiledHeft",
    "CompiledRollingHorizon",
    "CompiledStatic",
    "compiled_twin",
]


def _finish(timing: CompiledTiming, order: np.ndarray, done: int) -> Plan:
    if done < len(order):
        timing.check_placed(False, int(np.argmin(timing.machine.place)))
    return Plan(tuple(order.tolist()), tuple(timing.place))


class CompiledStatic(Static):
    """See `Static`."""

    def place(self, work: Pass) -> Plan:
        """Take operators as they become ready."""
        timing = cast(CompiledTiming, work.timing)
        order = np.empty(len(work.devices), np.int64)
        done = passes.first_come(*timing.arguments, *device_lists(work.devices), order)
        return _finish(timing, order, done)


class CompiledHeft(Heft):
    """See `Heft`."""

    def place(self, work: Pass) -> Plan:
        """Earliest finish in the order of upward ranks."""
        timing = cast(CompiledTiming, work.timing)
        lists = device_lists(work.devices)
        shape, costs, machine, _ = timing.arguments
        ranks = passes.upward_ranks(shape, costs, machine, *lists)
        order = np.empty(len(work.devices), np.int64)
        bonus = np.zeros((len(order), len(machine.available)), np.int64)
        done = passes.list_schedule(*timing.arguments, *lists, ranks, bonus, order)
        return _finish(timing, order, done)


class CompiledBifocal(Bifocal):
    """See `Bifocal`."""

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Throw the coins from the seed again, forget all hints."""
        operators, types = len(flat.graph.operators), [platform.indices(k) for k in EXECUTORS]
        longest = max(len(indices) for indices in types)
        self._type_devices = np.array(
            [indices + [-1] * (longest - len(indices)) for indices in types if indices], np.int64
        )
        self._type_of = np.array(
            [EXECUTORS.index(d.type) if d.type in EXECUTORS else -1 for d in platform.devices],
            np.int64,
        )
        self._executor_count = sum(len(indices) for indices in types)
        self._remembered = Hints(
            device=np.full(operators, -1, np.int64),
            order=np.zeros(operators + 8, np.int64),
            number=np.zeros(1, np.int64),
            last_type=np.full(len(flat.graph.weights), -1, np.int64),
            coins=np.array([coin_state(self.seed)], np.int64),
        )
        settings = self.parameters
        self._settings = np.array(
            [
                settings.horizon,
                settings.gamma,
                settings.consistency,
                settings.hints,
                settings.reuse,
                settings.amortise,
                settings.least_reuse,
                settings.reuse_probability,
            ],
            np.int64,
        )

    def place(self, work: Pass) -> Plan:
        """Commit the operator of the least score until all are placed."""
        timing = cast(CompiledTiming, work.timing)
        hints = self._remembered
        if self.parameters.memory == "pass":
            hints.device[:] = hints.last_type[:] = -1
            hints.number[0] = 0
        starts, devices = device_lists(work.devices)
        shape, costs, machine, _ = timing.arguments
        rules = Rules(
            device_start=starts,
            device_list=devices,
            ranks=passes.upward_ranks(shape, costs, machine, starts, devices),
            settings=self._settings,
            prefill=work.phase == "prefill",
            coming=max(1, work.tokens - work.token),
            type_of=self._type_of,
            type_devices=self._type_devices,
            can_hold=self._can_hold_all(timing),
            executors=self._executor_count,
            zero=int(machine.available.max()),
        )
        order = np.empty(len(work.devices), np.int64)
        scratch = scratch_of(len(order), len(machine.available), len(self._type_devices))
        done = bifocal(*timing.arguments, rules, hints, scratch, order)
        return _finish(timing, order, done)

    def state(self) -> tuple[int, dict[int, int], dict[int, str]]:
        """Coins, devices of coming operators, types of weights' last devices, as in `Bifocal`."""
        found = self._remembered
        coming = found.order[: found.number[0]].tolist()
        hints = {operator: int(found.device[operator]) for operator in coming}
        last = enumerate(found.last_type.tolist())
        types = {weight: EXECUTORS[kind] for weight, kind in last if kind >= 0}
        return int(found.coins[0]), hints, types

    def _can_hold_all(self, timing: CompiledTiming) -> np.ndarray:
        total = int(timing.costs.weight[timing.weight_class].sum())
        pims = len(timing.platform.indices("pim"))
        return np.array(
            [
                device.type in EXECUTORS
                and limit >= -(-total // (pims if device.type == "pim" else 1))
                for device, limit in zip(
                    timing.platform.devices, timing.machine.limit.tolist(), strict=True
                )
            ],
            np.bool_,
        )


class CompiledRollingHorizon(RollingHorizon):
    """See `RollingHorizon`."""

    def _list_plan(self, name: str, work: Pass) -> Plan:
        scheduler = CompiledStatic(name) if name in STATIC else CompiledHeft()
        return scheduler.place(work)

    def _sweep(
        self,
        work: Pass,
        plan: Plan,
        twin: np.ndarray,
        settings: tuple[int, int, int, int, int],
        state: SearchState,
    ) -> Plan | None:
        timing = cast(CompiledTiming, work.timing)
        order, devices = np.array(plan.order, np.int64), np.array(plan.devices, np.int64)
        lists = device_lists(work.devices)
        done = rolling.sweep(*timing.arguments, *lists, order, devices, twin, settings, state.array)
        if done < len(order):
            return None
        return Plan(tuple(order.tolist()), tuple(devices.tolist()))


def compiled_twin(scheduler: Scheduler) -> Scheduler | None:
    """The compiled counterpart of a scheduler; None if it has none."""
    if type(scheduler) is Static:
        return CompiledStatic(scheduler.name)
    if type(scheduler) is Heft:
        return CompiledHeft()
    if type(scheduler) is Bifocal:
        return CompiledBifocal(scheduler.parameters, seed=scheduler.seed)
    if type(scheduler) is RollingHorizon:
        return CompiledRollingHorizon(
            scheduler.effort, statics=scheduler.statics, seed=scheduler.seed
        )
    return None
