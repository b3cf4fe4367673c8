"""``fanweave bench system``: each scenario under all of its settings, in golden and in RTL."""

from collections.abc import Sequence

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.dops.tables import nearest
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.scenario import Scenario, Setting, load_scenario, scenario_names
from fanweave.sim.benches.system.report import system_rows, window_rows
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.system.run import SystemResult, run_golden
from fanweave.sw.system.setups import COMPILED, prepare

__all__ = ["WINDOW", "chosen_settings", "results_of", "rows"]

#: Messages of each setting that RTL must agree about; of quick ones, of two settings.
WINDOW, _QUICK_WINDOW = 100_000, 1000


def chosen_settings(scenario: Scenario, names: Sequence[str] = ()) -> list[Setting | None]:
    """Settings by their names, the compiled policies (None) last; all if none is named.

    Raises
    ------
    InputError
        If the scenario has no such setting, or only the compiled policies are left.
    """
    known = [*(setting.name for setting in scenario.settings), COMPILED]
    for name in names:
        if name not in known:
            raise InputError(
                f"{scenario.name}: setting {name!r} is not known{nearest(name, known)}; choose one "
                f"of {', '.join(known)}"
            )
    chosen: list[Setting | None] = [
        each for each in scenario.settings if not names or each.name in names
    ]
    if not chosen:
        raise InputError(
            f"{scenario.name}: {COMPILED} alone has nothing to be compared with; add a setting "
            "without programs"
        )
    return [*chosen, None] if not names or COMPILED in names else chosen


def results_of(scenario: Scenario, names: Sequence[str] = ()) -> list[SystemResult]:
    """Settings of a scenario, see `chosen_settings`; none runs if one is refused."""
    config = IslandConfig()
    prepared = [prepare(scenario, setting) for setting in chosen_settings(scenario, names)]
    return [run_golden(each, config).result for each in prepared]


def rows(quick: bool, seed: int, part: str = "") -> list[BenchRow]:
    """Rows of ``fanweave bench system``; quick ones are of one layer, a part is a scenario.

    Raises
    ------
    FaultError
        If RTL does something else than golden.
    """
    from fanweave.sim.benches.system.window import check_window

    del seed  # nothing here is random
    names = [part] if part else scenario_names()
    if part and part not in scenario_names():
        raise InputError(
            f"part {part!r} is no scenario; choose one of {', '.join(scenario_names())}"
        )
    found: list[BenchRow] = []
    for name in names:
        scenario = load_scenario(name)
        if quick:
            scenario = scenario.with_layers(1)
        found += system_rows(name, results_of(scenario))
        for setting in (scenario.settings[0], None) if quick else (*scenario.settings, None):
            seen = check_window(
                prepare(scenario, setting),
                IslandConfig(),
                window=_QUICK_WINDOW if quick else WINDOW,
            )
            found += window_rows(name, seen, goal=None if quick else WINDOW)
    return found
