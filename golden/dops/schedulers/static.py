"""Static baselines of the published study: a list of devices a phase, least busy first."""

from collections import deque

from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedulers.base import Pass, Scheduler, anywhere
from fanweave.golden.dops.work import Phase

__all__ = ["STATIC", "Static", "first_come"]

_PIM, _NPU, _BOTH = ("pim",), ("npu",), ("npu", "pim")
_ATTENTION = frozenset(
    {Kind.Q, Kind.K, Kind.V, Kind.O, Kind.QK, Kind.SOFTMAX, Kind.SV, Kind.ROUTER}
)
_ALL = frozenset(Kind)

#: Scheduler -> phase -> types of devices -> operators. The published model chooses by letters
#: in an operator's name; the lists are what comes out, odd members included (a router counts
#: as attention, W3 is not linear, V and SV count as feed-forward).
_LISTS: dict[str, dict[str, dict[tuple[str, ...], frozenset[Kind]]]] = {
    "PD": {"prefill": {_NPU: _ALL}, "decode": {_PIM: _ALL}},
    "AF": {phase: {_PIM: _ATTENTION, _NPU: _ALL - _ATTENTION} for phase in ("prefill", "decode")},
    "PD+Attn": {
        "prefill": {_NPU: _ALL},
        "decode": {
            _PIM: frozenset({Kind.QK, Kind.SV, Kind.SOFTMAX}),
            _NPU: _ALL - {Kind.QK, Kind.SV, Kind.SOFTMAX},
        },
    },
    "PD+Linear": {
        "prefill": {_NPU: _ALL},
        "decode": {
            _PIM: _ATTENTION | {Kind.W1, Kind.W2},
            _NPU: frozenset({Kind.LN, Kind.ADD, Kind.SWIGLU, Kind.W3}),
        },
    },
    "PD+FFN": {
        "prefill": {_NPU: _ALL},
        "decode": {
            _NPU: frozenset({Kind.Q, Kind.K, Kind.QK, Kind.SOFTMAX, Kind.ADD}),
            _BOTH: _ALL - {Kind.Q, Kind.K, Kind.QK, Kind.SOFTMAX, Kind.ADD},
        },
    },
    "all-NPU": {"prefill": {_NPU: _ALL}, "decode": {_NPU: _ALL}},
}

#: Names of the static baselines.
STATIC = tuple(_LISTS)


def first_come(work: Pass) -> Plan:
    """Take operators as they become ready, each to the device that is free first."""
    timing, flat = work.timing, work.timing.flat
    position = flat.position.tolist()
    waiting = [len(p) for p in flat.graph.predecessors]
    ready = deque(sorted((i for i, n in enumerate(waiting) if not n), key=position.__getitem__))
    order: list[int] = []
    while ready:
        operator = ready.popleft()
        device = min(work.devices[operator], key=timing.available.__getitem__)
        timing.commit(operator, device)
        order.append(operator)
        now_ready = []
        for consumer in flat.graph.successors[operator]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                now_ready.append(consumer)
        ready.extend(sorted(now_ready, key=position.__getitem__))
    return Plan(tuple(order), tuple(timing.place))


class Static(Scheduler):
    """A baseline by name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def types(self, kind: Kind, phase: Phase) -> tuple[str, ...]:
        """Types that the baseline's list has for an operator."""
        for types, kinds in _LISTS[self.name][phase].items():
            if kind in kinds:
                return types
        return anywhere(kind)

    def place(self, work: Pass) -> Plan:
        """Take operators as they become ready."""
        return first_come(work)
