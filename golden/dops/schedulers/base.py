"""What a scheduler is, and what several of them share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fanweave.golden.dops.costs.tables import StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import KV_WRITERS, Kind
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.timing import Timing
from fanweave.golden.dops.work import Phase
from fanweave.golden.errors import InputError

__all__ = ["Pass", "Plan", "Scheduler", "allowed_devices", "anywhere"]

#: Types of devices that execute operators, most preferred first.
EXECUTORS = ("npu", "pim")


@dataclass(kw_only=True)
class Pass:
    """One pass that a scheduler is asked to place.

    Attributes
    ----------
    timing : Timing
        The machine; the scheduler commits every operator to it.
    costs : StepCosts
    phase : str
    token : int
        Number of the token in decode, 0 in prefill.
    tokens : int
        Tokens that are decoded in all.
    devices : list of list of int
        Devices that an operator may run on, most preferred first.
    """

    timing: Timing
    costs: StepCosts
    phase: Phase
    token: int
    tokens: int
    devices: list[list[int]]


@dataclass(frozen=True)
class Plan:
    """Order of the operators, and the device of each, by operator."""

    order: tuple[int, ...]
    devices: tuple[int, ...]


class Scheduler(ABC):
    """Decides order and devices."""

    name: str

    def types(self, kind: Kind, phase: Phase) -> tuple[str, ...]:
        """Types of devices that an operator may run on, keys and values apart."""
        return anywhere(kind)

    def start(self, flat: FlatGraph, platform: Platform) -> None:  # noqa: B027 - may do nothing
        """Forget what was learnt in an earlier run."""

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
        if flat.collective[index]:
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
