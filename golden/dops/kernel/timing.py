"""The compiled machine behind the interface of the plain one."""

import itertools
from collections.abc import Sequence

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.kernel import machine as compiled
from fanweave.golden.dops.kernel.passes import replay
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.errors import InputError

__all__ = ["CompiledTiming", "device_lists"]


#: What a state consists of: rows of tables are valid as far as they are counted.
_STATE = tuple(
    name
    for name in compiled.Machine._fields
    if name not in ("limit", "layouts", "messages", "reads", "since", "journal")
)


class CompiledTiming:
    """See `fanweave.golden.dops.timing.Timing`.

    Parameters
    ----------
    flat : FlatGraph
    platform : Platform
        Without a star.
    limits, reserved : sequence of int
        Bytes of each device, and of them for keys and values.
    local_history : bool[d]
    layouts : sequence of int
    rules : MachineRules, optional
        The published ones if not given.
    """

    def __init__(
        self,
        flat: FlatGraph,
        platform: Platform,
        limits: Sequence[int],
        reserved: Sequence[int],
        *,
        local_history: np.ndarray,
        layouts: Sequence[int],
        rules: MachineRules | None = None,
    ) -> None:
        self.rules = rules or MachineRules()
        self.flat, self.platform = flat, platform
        self.layouts: Sequence[int] = list(layouts)
        self._reserved = np.array(reserved, np.int64)
        devices, operators = len(platform.devices), len(flat.graph.operators)
        weights, edges = len(flat.graph.weights), len(flat.pred)
        self.shape = compiled.shape_of(
            flat, platform.indices("npu"), devices, local_history, platform.host, self.rules
        )
        self.weight_class = np.array(flat.graph.weight_class, np.int64)
        head = np.full((devices, weights + 1), weights, np.int64)
        # Each operator loads at most one weight, spills once and reads its history over a link
        # once; each edge is moved at most twice, and brings at most one device into a ring.
        messages = 3 * edges + 4 * operators
        self.machine = compiled.Machine(
            available=np.zeros(devices, np.int64),
            begun=np.zeros(devices, np.int64),
            link_end=np.zeros((devices, devices), np.int64),
            limit=np.array(limits, np.int64) - np.array(reserved, np.int64),
            activations=np.zeros(devices, np.int64),
            weights=np.zeros(devices, np.int64),
            present=np.zeros((devices, weights), np.bool_),
            used_in=np.zeros((devices, weights), np.int64),
            after=head,
            before=head.copy(),
            layouts=np.array(layouts, np.int64),
            loads=np.zeros((weights, devices), np.int64),
            start=np.zeros(operators, np.int64),
            finish=np.zeros(operators, np.int64),
            place=np.full(operators, -1, np.int64),
            kept=np.zeros(operators, np.bool_),
            stored=np.full(operators, -1, np.int64),
            waiting=np.zeros(operators, np.int64),
            copies=np.zeros(operators, np.int64),
            peak=np.zeros(devices, np.int64),
            counts=np.zeros(5, np.int64),
            messages=np.zeros((messages, 6), np.int64),
            reads=np.zeros((operators, 4), np.int64),
            since=np.zeros(devices, np.int64),
            # Each operator uses or loads one weight; what is dropped was there or was loaded.
            journal=np.zeros((2 * operators + devices * weights, 5), np.int64),
        )

    def begin(self, costs: StepCosts, *, spill_everything: bool = False) -> None:
        """Start a pass."""
        self.costs = costs
        compiled.begin(self.shape, self.machine, spill_everything)

    @property
    def arguments(self) -> tuple[compiled.Shape, StepCosts, compiled.Machine, np.ndarray]:
        """What every compiled function takes first."""
        return self.shape, self.costs, self.machine, self.weight_class

    @property
    def available(self) -> list[int]:
        """When each device is free."""
        return self.machine.available.tolist()

    @property
    def place(self) -> list[int]:
        """Device of each operator of this pass."""
        return self.machine.place.tolist()

    def wait(self, time: int) -> None:
        """Let no device begin anything before a time."""
        np.maximum(self.machine.available, time, out=self.machine.available)

    def probe(self, operator: int, device: int) -> int:
        """When an operator would finish on a device."""
        return int(compiled.probe(*self.arguments, operator, device))

    def commit(self, operator: int, device: int) -> tuple[int, int]:
        """Run an operator on a device; return start and finish."""
        finish = int(compiled.commit(*self.arguments, operator, device))
        self.check_placed(finish < FOREVER, operator)
        return int(self.machine.start[operator]), finish

    def check_placed(self, good: bool, operator: int) -> None:
        """Complain of an operator that could not run."""
        if not good:
            name = self.flat.graph.operators[operator].name
            raise InputError(
                f"operator {name} can run on none of its devices, or not in countable time"
            )

    def resident(self, weight: int, device: int) -> bool:
        """Whether a weight is in a device's memory."""
        return bool(self.machine.present[device, weight])

    def room(self, device: int) -> int:
        """Bytes of a device's memory for activations and weights."""
        return int(self.machine.limit[device])

    def preload(self, weight: int, device: int) -> None:
        """Put a weight into a device's memory before anything runs; ValueError without room."""
        if not compiled.preload(self.costs, self.machine, self.weight_class, weight, device):
            raise ValueError(f"weight {weight} does not fit on device {device}")

    def replay(self, plan: Plan) -> None:
        """Commit a plan again."""
        order = np.array(plan.order, np.int64)
        done = replay(*self.arguments, order, np.array(plan.devices, np.int64))
        self.check_placed(done == len(order), int(order[min(done, len(order) - 1)]))

    def makespan(self) -> int:
        """End of the pass so far."""
        return int(self.machine.finish.max())

    def load_counts(self) -> np.ndarray:
        """How often each weight was loaded onto each device."""
        return self.machine.loads

    def snapshot(self) -> object:
        """The state, for `restore`."""
        return {name: getattr(self.machine, name).copy() for name in _STATE}

    def restore(self, state: object) -> None:
        """Go back to a state of the same pass."""
        assert isinstance(state, dict)
        for name, saved in state.items():
            getattr(self.machine, name)[...] = saved

    def log(self) -> PassLog:
        """What happened in the pass; valid until the next one begins."""
        state = self.machine
        return PassLog(
            start=state.start,
            finish=state.finish,
            place=state.place,
            copies=state.copies,
            messages=state.messages[: state.counts[0]],
            reads=state.reads[: state.counts[1]],
            used=state.peak + self._reserved,
        )


def device_lists(devices: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lay lists of devices out as arrays."""
    starts = np.zeros(len(devices) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, devices), np.int64, len(devices)), out=starts[1:])
    flat = itertools.chain.from_iterable(devices)
    return starts, np.fromiter(flat, np.int64, int(starts[-1]))
