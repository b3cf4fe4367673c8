"""Runs a workload: one prefill pass, then one pass a token."""

from collections.abc import Iterable
from dataclasses import dataclass

from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.base import Pass, Plan, Scheduler, allowed_devices
from fanweave.golden.dops.timing import Timing
from fanweave.golden.dops.work import Step

__all__ = ["PassTimes", "Workload", "run"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Sequences, tokens of each before and after the first answer."""

    batch: int
    prefill: int
    decode: int


@dataclass(kw_only=True)
class PassTimes:
    """Ends of all passes in picoseconds."""

    prefill: int
    tokens: list[int]

    @property
    def decode(self) -> int:
        """Time of all decoded tokens."""
        return max(0, self.tokens[-1] - self.prefill) if self.tokens else 0


def run(
    flat: FlatGraph,
    platform: Platform,
    tables: CostTables,
    timing: Timing,
    scheduler: Scheduler,
    workload: Workload,
    *,
    refresh: int,
    spill: bool,
) -> PassTimes:
    """Place and time a workload.

    Every token up to the second and every `refresh`-th one is scheduled anew; those between
    repeat the last order and devices, with the loads, messages and sizes of their own.
    """
    scheduler.start(flat, platform)
    steps: Iterable[tuple[int, Step]] = [
        (token, Step("decode", workload.batch, workload.prefill + token))
        for token in range(workload.decode)
    ]
    devices = allowed_devices(flat, platform, lambda kind: scheduler.types(kind, "prefill"))
    costs = tables.step(Step("prefill", workload.batch, workload.prefill))
    timing.begin(costs, spill_everything=spill)
    scheduler.place(
        Pass(
            timing=timing,
            costs=costs,
            phase="prefill",
            token=0,
            tokens=workload.decode,
            devices=devices,
        )
    )
    times = PassTimes(prefill=timing.makespan(), tokens=[])
    devices = allowed_devices(flat, platform, lambda kind: scheduler.types(kind, "decode"))
    plan: Plan | None = None
    for token, step in steps:
        costs = tables.step(step)
        timing.begin(costs)
        if plan is None or token < 2 or (refresh and token % refresh == 0):
            plan = scheduler.place(
                Pass(
                    timing=timing,
                    costs=costs,
                    phase="decode",
                    token=token,
                    tokens=workload.decode,
                    devices=devices,
                )
            )
        else:
            for operator in plan.order:
                timing.commit(operator, plan.devices[operator])
        times.tokens.append(timing.makespan())
    return times
