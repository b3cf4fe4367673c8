"""What a scheduler is, and what several of them share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fanweave.golden.dops.costs.tables import StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import KV_WRITERS, Kind
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.dops.work import Phase
from fanweave.golden.errors import InputError

__all__ = ["EXECUTORS", "Machine", "Pass", "Scheduler", "allowed_devices", "anywhere"]

#: Types of devices that execute operators, most preferred first.
EXECUTORS = ("npu", "pim")


class Machine(Protocol):
    """The machine that schedulers place operators on, plain or compiled."""

    flat: FlatGraph
    platform: Platform
    layouts: Sequence[int]
    costs: StepCosts
    rules: MachineRules

    @property
    def available(self) -> list[int]:
        """When each device is free."""
        ...

    @property
    def place(self) -> list[int]:
        """Device of each operator of this pass, -1 if it has none yet."""
        ...

    def begin(self, costs: StepCosts, *, spill_everything: bool = False) -> None:
        """Start a pass."""
        ...

    def wait(self, time: int) -> None:
        """Let no device begin anything before a time."""
        ...

    def probe(self, operator: int, device: int) -> int:
        """When an operator would finish on a device; FOREVER if it cannot run there."""
        ...

    def commit(self, operator: int, device: int) -> tuple[int, int]:
        """Run an operator on a device; return start and finish."""
        ...

    def resident(self, weight: int, device: int) -> bool:
        """Whether a weight is in a device's memory."""
        ...

    def room(self, device: int) -> int:
        """Bytes of a device's memory for activations and weights."""
        ...

    def preload(self, weight: int, device: int) -> None:
        """Put a weight into a device's memory before anything runs."""
        ...

    def replay(self, plan: Plan) -> None:
        """Commit a plan again."""
        ...

    def snapshot(self) -> object:
        """The state, for `restore`."""
        ...

    def restore(self, state: object) -> None:
        """Go back to a state of the same pass."""
        ...

    def makespan(self) -> int:
        """End of the pass so far."""
        ...

    def load_counts(self) -> np.ndarray:
        """How often each weight was loaded onto each device, int64[w, d]."""
        ...

    def log(self) -> PassLog:
        """What happened in the pass."""
        ...


@dataclass(kw_only=True)
class Pass:
    """One pass that a scheduler is asked to place.

    Attributes
    ----------
    timing : Machine
        The machine; the scheduler commits every operator to it.
    costs : StepCosts
    phase : str
    token : int
        Number of the token in decode, 0 in prefill.
    tokens : int
        Tokens that are decoded in all.
    devices : list of list of int
        Devices that an operator may run on, most preferred first.
    expected : int
        Passes of this phase that are thought to come, this one included; 0 if `tokens` says it.
    """

    timing: Machine
    costs: StepCosts
    phase: Phase
    token: int
    tokens: int
    devices: list[list[int]]
    expected: int = 0

    @property
    def uses(self) -> int:
        """How often a weight that is loaded now will be used, one pass of prefill in a run."""
        if self.expected:
            return self.expected
        return max(1, self.tokens - self.token) if self.phase == "decode" else 1


class Scheduler(ABC):
    """Decides order and devices."""

    name: str

    def types(self, kind: Kind, phase: Phase) -> tuple[str, ...]:
        """Types of devices that an operator may run on, keys and values apart."""
        return anywhere(kind)

    def start(self, flat: FlatGraph, platform: Platform) -> None:  # noqa: B027 - may do nothing
        """Forget what was learnt in an earlier run."""

    def rehearse(self, total: "Callable[[Scheduler], int]") -> "Scheduler":
        """The scheduler that a run is left to, itself mostly.

        Parameters
        ----------
        total : callable
            When the whole run would end with a scheduler, picoseconds.
        """
        return self

    @abstractmethod
    def place(self, work: Pass) -> Plan:
        """Commit all operators of a pass and return what was decided."""


def anywhere(kind: Kind) -> tuple[str, ...]:
    """Every executor; a router's softmax and sorting are not for a PIM."""
    return ("npu",) if kind is Kind.ROUTER else EXECUTORS


def allowed_devices(
    flat: FlatGraph, platform: Platform, types: Callable[[Kind], Iterable[str]]
) -> list[list[int]]:
    """Devices of each operator by type, in the order of `EXECUTORS`.

    Raises
    ------
    InputError
        If an operator may run nowhere; the message names it and the types it may run on.
    """
    by_type = {name: platform.indices(name) for name in EXECUTORS}
    executors = by_type if by_type["npu"] else {**by_type, "cpu": platform.indices("cpu")}
    result = []
    for index, operator in enumerate(flat.graph.operators):
        if flat.collective[index] or operator.kind is Kind.EMBEDDING:
            result.append([platform.host])
            continue
        if operator.kind in KV_WRITERS:
            result.append([int(flat.home[index])])
            continue
        chosen = set(types(operator.kind))
        places = [
            place
            for name, indices in executors.items()
            if name in chosen or (name == "cpu" and "npu" in chosen)
            for place in indices
            if flat.legal[index, place]
        ]
        if not places:
            raise InputError(
                f"operator {operator.name} may only run on {' or '.join(sorted(chosen))} here, "
                f"and platform {platform.name} has no such device for it; use another scheduler "
                "or platform"
            )
        result.append(places)
    return result
