"""Fair baselines: earliest finish, with a load that counts with its share of the coming uses."""

from dataclasses import replace

from fanweave.golden.dops.costs.tables import StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.base import Pass, Scheduler
from fanweave.golden.dops.work import Phase

__all__ = ["Affine", "amortised"]


def amortised(work: Pass) -> StepCosts:
    """Costs in which a load counts with its share of the coming uses."""
    uses, costs = work.uses, work.costs
    if uses == 1:
        return costs
    extra = costs.cold - costs.compute
    return costs._replace(cold=costs.compute + extra // uses, link=costs.link // uses)


class Affine(Scheduler):
    """A list scheduler that keeps to devices where the weights are.

    A weight that is on a device costs nothing there, and one that is not costs a part of its
    load for each token that is to come; so what is loaded stays in use.

    Parameters
    ----------
    inner : Scheduler
        Chooses by earliest finish.
    rule : Scheduler
        Gives the name and the devices that each operator may use.
    """

    def __init__(self, inner: Scheduler, rule: Scheduler) -> None:
        self.inner, self.rule, self.name = inner, rule, rule.name

    def types(self, kind: Kind, phase: Phase) -> tuple[str, ...]:
        """Those of the rule."""
        return self.rule.types(kind, phase)

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Start the list scheduler."""
        self.inner.start(flat, platform)

    def place(self, work: Pass) -> Plan:
        """Plan with shares of loads, then run the plan with all of them."""
        machine, costs = work.timing, amortised(work)
        if costs is work.costs:
            return self.inner.place(work)
        begin = machine.snapshot()
        machine.costs = costs
        plan = self.inner.place(replace(work, costs=costs))
        machine.restore(begin)
        machine.costs = work.costs
        machine.replay(plan)
        return plan
