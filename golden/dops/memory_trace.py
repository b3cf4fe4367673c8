"""A second account of memory, operator by operator, from what the machine says it did."""

from typing import NamedTuple

import numpy as np

from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.place import memory_limits
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedulers.base import Pass
from fanweave.golden.errors import FaultError

__all__ = ["MemoryPoint", "MemoryTrace"]

_WEIGHTS, _SPILL = PURPOSES.index("weights"), PURPOSES.index("spill")


class MemoryPoint(NamedTuple):
    """What a device's memory holds from a time on, in picoseconds and bytes."""

    time: int
    device: int
    weights: int
    activations: int


class MemoryTrace:
    """Repeats the memories' work in the order of the plans; an observer of a run.

    Attributes
    ----------
    reserved : list of int
        Bytes of each device for keys and values, and of a memory for weights that it stores.
    points : dict of (phase, token) -> list of MemoryPoint
        Of the passes that a schedule keeps.
    loads : int64[w, d]
        How often each weight was loaded onto each device.
    """

    def __init__(self) -> None:
        self.reserved: list[int] = []
        self.points: dict[tuple[str, int], list[MemoryPoint]] = {}
        self._memories: list[DeviceMemory] = []

    def _start(self, work: Pass) -> None:
        self.flat, self.platform = work.timing.flat, work.timing.platform
        limits = memory_limits(self.platform)
        self.reserved = [limit - work.timing.room(index) for index, limit in enumerate(limits)]
        pairs = zip(limits, self.reserved, strict=True)
        pinned = work.timing.rules.pinned
        self._memories = [DeviceMemory(*pair, pinned=pinned) for pair in pairs]
        self.loads = np.zeros((len(self.flat.graph.weights), len(limits)), np.int64)

    def __call__(self, work: Pass, log: PassLog, plan: Plan) -> None:
        """Account for a pass.

        Raises
        ------
        FaultError
            If the machine loaded what was there, did not load what was not, sent away an output
            that it had room for, or has other weights after the pass.
        """
        if not self._memories:
            self._start(work)
        flat, memories = self.flat, self._memories
        for memory in memories:
            memory.forget_activations()
        loaded = _ends(log, _WEIGHTS)
        spilt = _ends(log, _SPILL)
        held, sizes = work.costs.held.tolist(), work.costs.weight.tolist()
        waiting = [len(s) for s in flat.graph.successors]
        kept: set[int] = set()
        points: list[MemoryPoint] = []
        for operator in plan.order:
            device, kind = int(log.place[operator]), int(flat.class_of[operator])
            weight, memory = int(flat.weight_of[operator]), memories[device]
            if weight >= 0:
                missing = weight not in memory
                # Taking a weight up where it is stored sends nothing.
                if missing != (operator in loaded) and device != flat.store[weight]:
                    self._fail(operator, "its weights were loaded needlessly or not at all")
                if missing:
                    memory.load(weight, sizes[kind])
                    self.loads[weight, device] += 1
                    begin = int(log.start[operator])
                    points.append(self._point(loaded.get(operator, begin), device))
                else:
                    memory.touch(weight)
            if not flat.collective[operator] and not flat.writer[operator]:
                if operator not in spilt and memory.reserve(held[kind]):
                    kept.add(operator)
                    points.append(self._point(int(log.finish[operator]), device))
                elif operator not in spilt and held[kind] and self.platform.host != device:
                    self._fail(operator, "its output is neither kept nor sent to the host")
            for producer in flat.graph.predecessors[operator]:
                waiting[producer] -= 1
                if not waiting[producer] and producer in kept:
                    place = int(log.place[producer])
                    memories[place].release(held[flat.class_of[producer]])
                    points.append(self._point(int(log.finish[operator]), place))
        used_by = zip(memories, log.used.tolist(), self.platform.devices, strict=True)
        for memory, used, owner in used_by:
            if memory.peak != used:
                raise FaultError(
                    f"schedule: rule 'bytes are conserved' is broken: {owner.name} held "
                    f"{used} bytes, and {memory.peak} by the second account"
                )
        self._check_residents(work)
        if work.phase == "prefill" or work.token in (0, work.tokens - 1):
            self.points[work.phase, work.token] = points

    def _check_residents(self, work: Pass) -> None:
        """The machine has the weights that were loaded and not dropped, and no others."""
        names = self.flat.graph.weights
        for device, memory in enumerate(self._memories):
            for weight, name in enumerate(names):
                if work.timing.resident(weight, device) != (weight in memory):
                    raise FaultError(
                        "schedule: rule 'bytes are conserved' is broken: weight "
                        f"{name} is on {self.platform.devices[device].name} by one account alone"
                    )

    def _point(self, time: int, device: int) -> MemoryPoint:
        memory = self._memories[device]
        return MemoryPoint(time, device, memory.weights, memory.activations)

    def _fail(self, operator: int, what: str) -> None:
        name = self.flat.graph.operators[operator].name
        raise FaultError(f"schedule: rule 'bytes are conserved' is broken: {name}: {what}")


def _ends(log: PassLog, purpose: int) -> dict[int, int]:
    """Operator -> end of its message."""
    rows = log.messages[log.messages[:, 0] == purpose]
    return {int(row[1]): int(row[5]) for row in rows}
