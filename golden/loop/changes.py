"""What a round changed: costs, and operators that run elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.loop.costs import Cost, Costs

__all__ = ["CostChange", "Move", "Places", "changed_costs", "moves"]

#: Pass -> operator -> device.
Places = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """A cost that has another value now."""

    name: str
    before: Cost
    after: Cost

    @property
    def factor(self) -> float:
        """How far it went, either way; at least 1, infinite from or to nothing."""
        low, high = sorted((self.before.value, self.after.value))
        return high / low if low else float("inf")


def changed_costs(before: Costs, after: Costs) -> list[CostChange]:
    """Costs with another value, those that went farthest first."""
    found = [
        CostChange(name=name, before=before[name], after=cost)
        for name, cost in after.items()
        if cost.value != before[name].value
    ]
    return sorted(found, key=lambda change: (-change.factor, change.name))


@dataclass(frozen=True, kw_only=True)
class Move:
    """Operators of one kind that went from one device to another, in one pass."""

    when: str
    kind: str
    source: str
    target: str
    operators: tuple[str, ...]


def moves(before: Places, after: Places, kinds: Mapping[str, str]) -> list[Move]:
    """Operators that run elsewhere, in the order of passes and operators.

    Parameters
    ----------
    before, after : Places
        Of the same operators.
    kinds : mapping of str to str
        Kind of each operator.
    """
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for when, places in after.items():
        for operator, target in places.items():
            source = before[when][operator]
            if source != target:
                groups.setdefault((when, kinds[operator], source, target), []).append(operator)
    return [
        Move(when=when, kind=kind, source=source, target=target, operators=tuple(operators))
        for (when, kind, source, target), operators in groups.items()
    ]
