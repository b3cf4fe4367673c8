"""Executes operators on timelines of devices and links: the plain reference.

Each device runs one operator after the other, each directed link sends one message after the
other, both in the order in which things are asked for; nothing is put into a gap.
`fanweave.golden.dops.kernel` does the same, compiled.
"""

import copy
from collections.abc import Sequence

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.errors import InputError

__all__ = ["Timing"]


#: What a state consists of.
_STATE = (
    "memories",
    "available",
    "_begun",
    "place",
    "link_end",
    "loads",
    "finish",
    "_start",
    "_messages",
    "_reads",
    "_kept",
    "_stored",
    "_waiting",
    "_copies",
)


class Timing:
    """State of the machine, and what an operator would do to it or does.

    Parameters
    ----------
    flat : FlatGraph
    platform : Platform
    memories : sequence of DeviceMemory
        One a device.
    local_history : sequence of bool
        Devices whose operators contain the reading of their own keys and values.
    layouts : sequence of int
        `Layout` of each weight.
    rules : MachineRules, optional
        The published ones if not given.
    """

    def __init__(
        self,
        flat: FlatGraph,
        platform: Platform,
        memories: Sequence[DeviceMemory],
        *,
        local_history: Sequence[bool],
        layouts: Sequence[int],
        rules: MachineRules | None = None,
    ) -> None:
        self.rules = rules or MachineRules()
        self.flat, self.platform = flat, platform
        self.memories, self.local_history = memories, local_history
        self.layouts = layouts
        devices = len(platform.devices)
        self.available: list[int] = [0] * devices
        # Start of the last operator of each device.
        self._begun: list[int] = [0] * devices
        self.place: list[int] = []
        self.link_end = [[0] * devices for _ in range(devices)]
        self.loads: dict[tuple[int, int], int] = {}
        self._host = platform.host
        self._direct_only = platform.topology == "fc"
        graph = flat.graph
        self._preds, self._succs = graph.predecessors, graph.successors
        self._classes = flat.class_of.tolist()
        self._weights = flat.weight_of.tolist()
        self._homes = flat.home.tolist()
        self._stores = flat.store.tolist()

    def begin(self, costs: StepCosts, *, spill_everything: bool = False) -> None:
        """Start a pass: nothing of it has run, activations of the last one are gone.

        Parameters
        ----------
        costs : StepCosts
        spill_everything : bool
            Whether every output of an NPU goes to the host at once.
        """
        count = len(self._classes)
        self.costs, self.spill_everything = costs, spill_everything
        self._start = [0] * count
        self.finish = [0] * count
        self._messages: list[tuple[int, ...]] = []
        self._reads: list[tuple[int, ...]] = []
        self.place = [-1] * count
        self._kept = [False] * count
        self._stored = [-1] * count
        self._waiting = [len(s) for s in self._succs]
        self._copies: dict[int, frozenset[int]] = {}
        for memory in self.memories:
            memory.forget_activations()

    def wait(self, time: int) -> None:
        """Let no device begin anything before a time."""
        self.available = [max(free, time) for free in self.available]

    def probe(self, operator: int, device: int) -> int:
        """When an operator would finish on a device; FOREVER if it cannot run there."""
        return self._run(operator, device, commit=False)[1]

    def commit(self, operator: int, device: int) -> tuple[int, int]:
        """Run an operator on a device; return start and finish."""
        start, finish = self._run(operator, device, commit=True)
        if finish >= FOREVER:
            raise InputError(
                f"operator {self.flat.graph.operators[operator].name} cannot run on "
                f"{self.platform.devices[device].name}"
            )
        for producer in self._preds[operator]:
            self._waiting[producer] -= 1
            if not self._waiting[producer] and self._kept[producer]:
                self._kept[producer] = False
                held = int(self.costs.held[self._classes[producer]])
                self.memories[self.place[producer]].release(held)
        self._start[operator] = start
        return start, finish

    # Messages

    def _send(
        self,
        purpose: str,
        operator: int,
        source: int,
        target: int,
        time: int,
        earliest: int,
        commit: bool,
    ) -> tuple[int, int]:
        start = max(self.link_end[source][target], earliest)
        finish = start + time
        if commit:
            self.link_end[source][target] = finish
            if time:
                code = PURPOSES.index(purpose)
                self._messages.append((code, operator, source, target, start, finish))
        return start, finish

    def _store(self, producer: int, commit: bool) -> int:
        """When an output is at the host."""
        if self._stored[producer] >= 0:
            return self._stored[producer]
        kind, source = self._classes[producer], self.place[producer]
        earliest = self.finish[producer] + int(self.costs.read[kind, source])
        time = int(self.costs.move[kind, source, self._host])
        _, end = self._send("store", producer, source, self._host, time, earliest, commit)
        if commit:
            self._stored[producer] = end
        return end

    def _through_host(self, producer: int, device: int, commit: bool) -> int:
        ready = self._store(producer, commit)
        time = int(self.costs.move[self._classes[producer], self._host, device])
        return self._send("reload", producer, self._host, device, time, ready, commit)[1]

    def _direct(self, producer: int, device: int, commit: bool) -> int:
        if not self._kept[producer]:
            return FOREVER
        kind, source = self._classes[producer], self.place[producer]
        time = int(self.costs.move[kind, source, device])
        if not 0 < time < FOREVER:
            return FOREVER
        earliest = self.finish[producer] + int(self.costs.read[kind, source])
        return self._send("move", producer, source, device, time, earliest, commit)[1]

    def _arrival(self, producer: int, device: int, commit: bool) -> int:
        """When an output is on a device."""
        if device in self._copies.get(producer, ()):
            return self.finish[producer]
        if self.place[producer] == device:
            if self._kept[producer]:
                return self.finish[producer]
            return self._through_host(producer, device, commit)
        direct = self._direct(producer, device, False)
        if direct < FOREVER and (
            self._direct_only or direct < self._through_host(producer, device, False)
        ):
            return self._direct(producer, device, commit)
        return self._through_host(producer, device, commit)

    def _ready(self, operator: int, device: int, commit: bool) -> int:
        return max(
            (self._arrival(producer, device, commit) for producer in self._preds[operator]),
            default=0,
        )

    # Operators

    def _run(self, operator: int, device: int, *, commit: bool) -> tuple[int, int]:
        flat = self.flat
        if flat.collective[operator]:
            if flat.reduce[operator]:
                return self._reduce(operator, commit)
            if flat.scatter[operator]:
                return self._scatter(operator, commit)
            return self._all_reduce(operator, commit)
        ready = self._ready(operator, device, commit)
        if flat.writer[operator]:
            return self._write(operator, device, ready, commit)
        if flat.reader[operator]:
            ready = self._history(operator, device, ready, commit)
        start = max(self.available[device], ready)
        duration = self._service(operator, device, start, commit)
        finish = min(start + duration, FOREVER)
        if commit and finish < FOREVER:
            self._begun[device] = start
            self.available[device] = self.finish[operator] = finish
            self.place[operator] = device
            self._keep(operator, device, commit)
        return start, finish

    def _write(self, operator: int, device: int, ready: int, commit: bool) -> tuple[int, int]:
        start = max(self.available[device], ready)
        finish = start + int(self.costs.compute[0, self._classes[operator], device])
        if commit:
            self.available[device] = self.finish[operator] = finish
            self.place[operator] = device
        return start, finish

    def _history(self, operator: int, device: int, ready: int, commit: bool) -> int:
        """When stored keys or values are on a device."""
        kind, home = self._classes[operator], self._homes[operator]
        if not self.costs.kv_bytes[kind]:
            return ready
        if home == device and self.local_history[device]:
            return ready
        earliest = ready
        if home != self._host:
            begin = max(self.available[home], ready)
            earliest = begin + int(self.costs.kv_read[kind, home])
            if commit:
                self.available[home] = earliest
                if earliest > begin:
                    self._reads.append((operator, home, begin, earliest))
        if home == device:
            return max(ready, earliest)
        time = int(self.costs.kv_move[kind, home, device])
        if time < FOREVER:
            return self._send("history", operator, home, device, time, earliest, commit)[1]
        host = self._host
        time = int(self.costs.kv_move[kind, home, host])
        _, at_host = self._send("history", operator, home, host, time, earliest, commit)
        time = int(self.costs.kv_move[kind, host, device])
        return self._send("history", operator, host, device, time, at_host, commit)[1]

    def _service(self, operator: int, device: int, start: int, commit: bool) -> int:
        """Time on the device, with loading the weights if they are not there."""
        kind, weight = self._classes[operator], self._weights[operator]
        if weight < 0:
            return int(self.costs.compute[0, kind, device])
        layout, memory = self.layouts[weight], self.memories[device]
        if weight in memory:
            if commit:
                memory.touch(weight)
            return int(self.costs.compute[layout, kind, device])
        size = int(self.costs.weight[kind])
        if not memory.can_load(size):
            return FOREVER
        time = int(self.costs.link[layout, kind, device])
        early = self._begun[device] if self.rules.prefetch else start
        begin, _ = self._send(
            "weights", operator, self._stores[weight], device, time, early, commit
        )
        if commit:
            memory.load(weight, size)
            self.loads[weight, device] = self.loads.get((weight, device), 0) + 1
        loaded = begin - start + int(self.costs.cold[layout, kind, device])
        return max(loaded, int(self.costs.compute[layout, kind, device]))

    def _keep(self, operator: int, device: int, commit: bool) -> None:
        """Keep an output where it was made, or send it to the host if there is no room."""
        kind = self._classes[operator]
        spill = self.spill_everything and self.platform.devices[device].type == "npu"
        if not spill and self.memories[device].reserve(int(self.costs.held[kind])):
            self._kept[operator] = True
            return
        earliest = self.finish[operator] + int(self.costs.spill_read[kind, device])
        time = int(self.costs.spill[kind, device])
        _, end = self._send("spill", operator, device, self._host, time, earliest, commit)
        self._stored[operator] = end

    # Collectives

    def _participants(self, operator: int) -> dict[int, int]:
        """Devices that hold a piece, and since when."""
        since: dict[int, int] = {}
        for producer in self._preds[operator]:
            device = self.place[producer]
            since[device] = max(since.get(device, 0), self.finish[producer])
        return since

    def _all_reduce(self, operator: int, commit: bool) -> tuple[int, int]:
        """A ring between the devices that hold pieces; all of them wait and have the sum."""
        since = self._participants(operator)
        ring = sorted(since)
        pairs = list(zip(ring, [*ring[1:], ring[0]], strict=True)) if len(ring) > 1 else []
        start = max(max(since[d], self.available[d]) for d in ring)
        if self.rules.ring_links:
            start = max([start, *(self.link_end[a][b] for a, b in pairs)])
        finish = start
        if pairs:
            hops = self.costs.ring[self._classes[operator], len(ring)]
            finish += 2 * (len(ring) - 1) * max(int(hops[pair]) for pair in pairs)
        if commit:
            for source, target in pairs if self.rules.ring_links else ():
                self._send("ring", operator, source, target, finish - start, start, commit)
            self._end_collective(operator, ring[0], frozenset(ring), finish)
            for device in ring:
                self.available[device] = finish
        return start, finish

    def _reduce(self, operator: int, commit: bool) -> tuple[int, int]:
        """Every piece goes to the host, which adds them."""
        since, host, kind = self._participants(operator), self._host, self._classes[operator]
        start = max(self.available[host], *(max(since[d], self.available[d]) for d in since))
        arrived = start
        for device in since:
            if device != host:
                time = int(self.costs.move[kind, device, host])
                _, end = self._send("reduce", operator, device, host, time, start, commit)
                arrived = max(arrived, end)
        finish = arrived + (len(since) - 1) * int(self.costs.compute[0, kind, host])
        if commit:
            self._end_collective(operator, host, frozenset({host}), finish)
            self.available[host] = finish
            for device in since:
                self.available[device] = max(self.available[device], arrived)
        return start, finish

    def _scatter(self, operator: int, commit: bool) -> tuple[int, int]:
        """The host sends the sum to every PIM."""
        host, kind = self._host, self._classes[operator]
        targets = self.platform.indices("pim")
        start = max(self.available[host], self._ready(operator, host, commit))
        finish = start
        for device in targets:
            time = int(self.costs.move[kind, host, device])
            _, end = self._send("scatter", operator, host, device, time, start, commit)
            finish = max(finish, end)
        if commit:
            self._end_collective(operator, host, frozenset({*targets, host}), finish)
            self.available[host] = finish
            for device in targets:
                self.available[device] = max(self.available[device], finish)
        return start, finish

    def _end_collective(
        self, operator: int, place: int, copies: frozenset[int], finish: int
    ) -> None:
        self.finish[operator], self.place[operator] = finish, place
        self._copies[operator] = copies

    # Results

    def resident(self, weight: int, device: int) -> bool:
        """Whether a weight is in a device's memory."""
        return weight in self.memories[device]

    def room(self, device: int) -> int:
        """Bytes of a device's memory for activations and weights."""
        return self.memories[device].limit - self.memories[device].reserved

    def preload(self, weight: int, device: int) -> None:
        """Put a weight into a device's memory before anything runs.

        Raises
        ------
        ValueError
            If it does not fit beside what is there.
        """
        size = int(self.costs.weight[self.flat.graph.weight_class[weight]])
        memory = self.memories[device]
        if memory.used + size > memory.limit:
            raise ValueError(f"weight {weight} of {size} bytes does not fit on device {device}")
        memory.load(weight, size)

    def replay(self, plan: Plan) -> None:
        """Commit a plan again."""
        for operator in plan.order:
            self.commit(operator, plan.devices[operator])

    def snapshot(self) -> object:
        """The state, for `restore`."""
        return copy.deepcopy({name: getattr(self, name) for name in _STATE})

    def restore(self, state: object) -> None:
        """Go back to a state of the same pass."""
        assert isinstance(state, dict)
        vars(self).update(copy.deepcopy(state))

    def makespan(self) -> int:
        """End of the pass so far."""
        return max(self.finish)

    def load_counts(self) -> np.ndarray:
        """How often each weight was loaded onto each device."""
        counts = np.zeros((len(self.flat.graph.weights), len(self.memories)), np.int64)
        for place, count in self.loads.items():
            counts[place] = count
        return counts

    def log(self) -> PassLog:
        """What happened in the pass."""
        copies = np.zeros(len(self.finish), np.int64)
        for operator, devices in self._copies.items():
            copies[operator] = sum(1 << device for device in devices)
        return PassLog(
            start=np.array(self._start, np.int64),
            finish=np.array(self.finish, np.int64),
            place=np.array(self.place, np.int64),
            copies=copies,
            messages=np.array(self._messages, np.int64).reshape(-1, 6),
            reads=np.array(self._reads, np.int64).reshape(-1, 4),
            used=np.array([memory.peak for memory in self.memories], np.int64),
        )
