"""Runs a workload: one prefill pass, then one pass a token."""

from collections.abc import Callable
from dataclasses import dataclass

from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedulers.base import Machine, Pass, Scheduler, allowed_devices
from fanweave.golden.dops.work import Phase, Step
from fanweave.golden.errors import InputError

__all__ = ["PassTimes", "Watcher", "Workload", "run"]

#: Is told of every pass: what was asked for, and what happened. The log is only valid then.
Watcher = Callable[[Pass, PassLog], None]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Sequences, and tokens of each before and after the first answer.

    Raises
    ------
    InputError
        If there is no sequence or no token before, or tokens after are negative.
    """

    batch: int
    prefill: int
    decode: int

    def __post_init__(self) -> None:
        for name, least in (("batch", 1), ("prefill", 1), ("decode", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(
                    f"workload: {name} = {value!r} must be an integer of at least {least}"
                )


@dataclass(kw_only=True)
class PassTimes:
    """Ends of all passes in picoseconds."""

    prefill: int
    tokens: list[int]

    @property
    def total(self) -> int:
        """When everything has ended."""
        return max([self.prefill, *self.tokens])

    @property
    def decode(self) -> int:
        """Time of all decoded tokens, from the end of prefill."""
        return self.total - self.prefill


def run(
    tables: CostTables,
    machine: Machine,
    scheduler: Scheduler,
    workload: Workload,
    *,
    refresh: int,
    spill: bool,
    watch: Watcher,
) -> PassTimes:
    """Place and time a workload.

    Every token up to the second and every `refresh`-th one is scheduled anew; those between
    repeat the last order and devices, with the loads, messages and sizes of their own.

    Parameters
    ----------
    tables, machine, scheduler, workload
    refresh : int
        0 never plans anew.
    spill : bool
        Whether an NPU sends every output of prefill to the host.
    watch : callable
        Called after every pass.
    """
    flat, platform = machine.flat, machine.platform
    scheduler.start(flat, platform)

    def begin(phase: Phase, token: int, devices: list[list[int]]) -> Pass:
        context = workload.prefill + token
        costs = tables.step(Step(phase, workload.batch, context))
        machine.begin(costs, spill_everything=spill and phase == "prefill")
        return Pass(
            timing=machine,
            costs=costs,
            phase=phase,
            token=token,
            tokens=workload.decode,
            devices=devices,
        )

    devices = allowed_devices(flat, platform, lambda kind: scheduler.types(kind, "prefill"))
    work = begin("prefill", 0, devices)
    scheduler.place(work)
    watch(work, machine.log())
    times = PassTimes(prefill=machine.makespan(), tokens=[])
    devices = allowed_devices(flat, platform, lambda kind: scheduler.types(kind, "decode"))
    plan: Plan | None = None
    for token in range(workload.decode):
        work = begin("decode", token, devices)
        if plan is None or token < 2 or (refresh and token % refresh == 0):
            plan = scheduler.place(work)
        else:
            machine.replay(plan)
        watch(work, machine.log())
        times.tokens.append(machine.makespan())
    return times
