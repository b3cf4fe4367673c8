"""Our own scheduler online, and its regret against the best static plan in hindsight."""

from collections.abc import Sequence
from dataclasses import dataclass

from fanweave.golden.dops.drawn_steps import draw_steps
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.online import regret
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import DEFAULT_RECORD, load_record
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["SETTINGS", "Setting", "online_rows"]

#: Most sequences that are open at once, and most tokens of one.
_SEQUENCES, _LONGEST = 16, 2048
_SEEDS = 3


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where sequences are run; with each seed there is one of each length."""

    model: str
    platform: str
    lengths: tuple[int, ...] = (16, 128)


SETTINGS = (
    Setting(model="qwen-1.8b", platform="hp32"),
    Setting(model="smollm2-135m", platform="sparse-edge"),
    Setting(model="qwen2-1.5b", platform="a100-pim"),
)


def online_rows(
    quick: bool, seed: int, settings: Sequence[Setting] = SETTINGS, seeds: int = _SEEDS
) -> list[BenchRow]:
    """Regret of every drawn sequence, against static schedulers alone and against all static plans.

    Parameters
    ----------
    quick : bool
        One seed and the shortest sequence of the first setting alone.
    seed : int
        The first of the seeds of sequences.
    settings : sequence of Setting
    seeds : int
        Sequences of each length.
    """
    if quick:
        settings, seeds = settings[:1], 1
    result: list[BenchRow] = []
    plans: list[float] = []
    schedulers: list[float] = []
    for setting in settings:
        work = Workload(batch=_SEQUENCES, prefill=_LONGEST, decode=0)
        platform, record = load_platform(setting.platform), load_record(DEFAULT_RECORD)
        case = sound_problems(load_model(setting.model), platform, work, record)[0]
        for drawn in range(seed, seed + seeds):
            for count in setting.lengths[: 1 if quick else None]:
                steps = draw_steps(count, drawn, sequences=_SEQUENCES, longest=_LONGEST)
                found = regret(case, steps, RollingHorizon(offline=False))
                where = f"{setting.model} on {setting.platform}, {count} steps, seed {drawn}"
                plans.append(found.over_plans)
                schedulers.append(found.over_schedulers)
                result += [
                    _row(f"{where}, over {found.scheduler}", schedulers[-1]),
                    _row(f"{where}, over plans of {found.plan}", plans[-1]),
                ]
    for name, values in (("static schedulers", schedulers), ("static plans", plans)):
        label = f"RHLS online, {len(values)} sequences, over the best of {name}"
        result.append(_row(f"{label}, mean", sum(values) / len(values)))
        result.append(_row(f"{label}, max", max(values)))
    return result


def _row(case: str, value: float) -> BenchRow:
    return BenchRow(case=case, metric="regret", value=value, unit="1", origin="model")
