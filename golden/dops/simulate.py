"""Runs a workload: one prefill pass, then one pass a token."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fanweave.golden.dops.costs.tables import LONGEST, CostTables
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.dops.schedulers.base import Machine, Pass, Scheduler, allowed_devices
from fanweave.golden.dops.work import Phase, Step
from fanweave.golden.errors import InputError

__all__ = ["PassTimes", "Watcher", "Workload", "run", "sample_tokens"]

#: Is told of every pass: what was asked for, what happened (the log is only valid then), and
#: the plan.
Watcher = Callable[[Pass, PassLog, Plan], None]
#: Tokens of a sample: so many from the first one on, then so many groups up to the last one.
_FIRST_TOKENS, _GROUPS = 16, 8


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
    """Ends of all passes in picoseconds; of a sample, `ran` has the tokens that were run."""

    prefill: int
    tokens: list[int]
    ran: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        """When everything has ended."""
        return max([self.prefill, *self.tokens])

    def interpolate(self, count: int, period: int) -> None:
        """Fill in the tokens that were not run, by their place in the period of planning.

        The time of a token is that between its neighbours of the sample, on a line; so it is
        exact where times grow evenly with the context.
        """
        befores = itertools.accumulate(self.tokens, max, initial=self.prefill)
        steps = {
            token: max(0, end - before)
            for token, end, before in zip(self.ran, self.tokens, befores, strict=False)
        }
        filled: list[int] = []
        for token in range(count):
            phase = [t for t in self.ran if t % period == token % period]
            left = max((t for t in phase if t <= token), default=phase[0])
            right = min((t for t in phase if t >= token), default=left)
            step = steps[left]
            if right > left:
                step += (steps[right] - steps[left]) * (token - left) // (right - left)
            filled.append((filled[-1] if filled else self.prefill) + step)
        self.tokens = filled

    @property
    def decode(self) -> int:
        """Time of all decoded tokens, from the end of prefill."""
        return self.total - self.prefill


def sample_tokens(count: int, period: int) -> list[int]:
    """Tokens of a sample: whole periods of planning, dense at first and then evenly apart."""
    first = -(-_FIRST_TOKENS // period)
    periods = -(-count // period)
    chosen = set(range(min(first, periods)))
    for group in range(1, _GROUPS + 1):
        chosen.add(first + (periods - 1 - first) * group // _GROUPS)
    tokens = (period * each + offset for each in sorted(chosen) for offset in range(period))
    return [token for token in tokens if 0 <= token < count]


def _counted(machine: Machine) -> int:
    """End of all that was placed, which may not be later than can be counted."""
    end = machine.makespan()
    if end >= LONGEST:
        raise InputError(
            f"the run takes over {LONGEST // PICOSECONDS:,} s, the longest time that is counted; "
            f"give {machine.platform.name} faster devices or links, or ask for fewer tokens"
        )
    return end


def run(
    tables: CostTables,
    machine: Machine,
    scheduler: Scheduler,
    workload: Workload,
    *,
    refresh: int,
    spill: bool,
    watch: Watcher,
    tokens: Sequence[int] | None = None,
    in_order: bool = False,
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
    tokens : sequence of int, optional
        The tokens to run, rising, whole periods of planning; all if not given.
    in_order : bool
        Whether a pass begins when all of the one before has ended.

    Raises
    ------
    InputError
        If it takes longer than can be counted.
    """
    flat, platform = machine.flat, machine.platform
    scheduler.start(flat, platform)

    def begin(phase: Phase, token: int, devices: list[list[int]]) -> Pass:
        context = workload.prefill + token
        costs = tables.step(Step(phase, workload.batch, context))
        if in_order and (phase, token) != ("prefill", 0):
            machine.wait(machine.makespan())
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
    first = scheduler.place(work)
    watch(work, machine.log(), first)
    times = PassTimes(prefill=_counted(machine), tokens=[])
    devices = allowed_devices(flat, platform, lambda kind: scheduler.types(kind, "decode"))
    plan: Plan | None = None
    for token in range(workload.decode) if tokens is None else tokens:
        work = begin("decode", token, devices)
        if plan is None or token < 2 or (refresh and token % refresh == 0):
            plan = scheduler.place(work)
        else:
            machine.replay(plan)
        watch(work, machine.log(), plan)
        times.tokens.append(_counted(machine))
        times.ran.append(token)
    return times
