"""Numbers of goals: what each kind can be told, and what it is if it is told nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanweave.golden.dops.tables import whole
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Goal, GoalKind, Graph

__all__ = ["SETTINGS", "Setting", "only_goal", "setting"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A number of a goal.

    Attributes
    ----------
    default, least, most : int
    meaning : str
        In a line.
    """

    default: int
    least: int
    most: int
    meaning: str

    def read(self, where: str, key: str, value: Any) -> int:
        """A value of it.

        Raises
        ------
        InputError
            If it is no integer, or beyond its limits.
        """
        number = whole(where, key, value, least=self.least)
        if number > self.most:
            raise InputError(f"{where}: {key} = {number} must be at most {self.most}")
        return number


_WORD = (1 << 32) - 1
_K = GoalKind
#: By kind of goal, by name.
SETTINGS: Mapping[GoalKind, Mapping[str, Setting]] = {
    _K.STEER_OBJECTS: {
        "mirror": Setting(default=0, least=0, most=1, meaning="1: writes go to the copy too"),
    },
    _K.KEEP_HOT_NEAR: {
        "threshold": Setting(default=64, least=1, most=_WORD, meaning="uses that make a page hot"),
        "page_shift": Setting(default=12, least=12, most=30, meaning="pages of 2^n bytes"),
        "sketch": Setting(default=0, least=0, most=1, meaning="1: counted by a sketch"),
        "by_phase": Setting(
            default=0, least=0, most=1, meaning="1: counts begin anew with each attention phase"
        ),
    },
    _K.BALANCE_DUPLEX: {
        "window": Setting(default=8, least=1, most=1 << 30, meaning="messages out of balance"),
        "tokens": Setting(default=4, least=0, most=_WORD, meaning="price of a delay"),
    },
    _K.BOUND_TAIL_LATENCY: {
        "bound_ns": Setting(default=1000, least=1, most=_WORD, meaning="what is slow"),
        "step": Setting(default=4, least=1, most=1 << 16, meaning="tokens a step of the price"),
        "most": Setting(default=256, least=1, most=1 << 16, meaning="highest price, tokens"),
        "bulk_weight": Setting(default=4, least=1, most=255, meaning="price factor of the others"),
        "sample_mask": Setting(default=63, least=0, most=_WORD, meaning="a power of two less 1"),
    },
    _K.ISOLATE_TENANTS: {
        "share_mbit_s": Setting(
            default=0, least=0, most=1 << 20, meaning="of a tenant's sends; 0: no limit"
        ),
        "burst": Setting(
            default=65536, least=64, most=1 << 30, meaning="bytes that a tenant may save up"
        ),
        "deny_late": Setting(
            default=0, least=0, most=1, meaning="1: a request is denied if its verdict is late"
        ),
    },
    _K.PREFETCH_STREAMS: {
        "region_shift": Setting(default=16, least=7, most=40, meaning="regions of 2^n bytes"),
        "confidence": Setting(default=2, least=1, most=255, meaning="equal strides in a row"),
        "distance": Setting(default=4, least=1, most=255, meaning="strides ahead"),
    },
    _K.SPREAD_READS: {
        "open": Setting(default=56, least=0, most=4096, meaning="reads that stay, at most"),
        "least": Setting(default=16, least=0, most=4096, meaning="reads that stay under a load"),
        "step": Setting(default=4, least=1, most=4096, meaning="of what stays, by an answer"),
    },
}


def setting(goal: Goal, name: str) -> int:
    """A number of a goal, or its default."""
    return goal.settings.get(name, SETTINGS[goal.kind][name].default)


def only_goal(graph: Graph, kind: GoalKind, device: str) -> Goal | None:
    """The goal of a kind, for a device that does not tell objects apart; None if there is none.

    Raises
    ------
    InputError
        If there is more than one.
    """
    found = [goal for goal in graph.goals if goal.kind is kind]
    if len(found) > 1:
        raise InputError(
            f"{graph.name}: {device!r} has {len(found)} goals {kind}; put all their objects into "
            "one goal"
        )
    return found[0] if found else None
