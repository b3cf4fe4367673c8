"""A window of a scenario on islands in RTL, held against golden to the cycle."""

from dataclasses import dataclass, field

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_island import ISLAND_REGISTERS
from fanweave.sim.benches.system.compare import (
    compare_answers,
    compare_counts,
    compare_pages,
    compare_verdicts,
    forgotten,
    messages_of,
    time_for,
)
from fanweave.sim.benches.system.simulation import SystemSimulation
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now
from fanweave.sw.ebpf.driver.objects import install_object, object_contents
from fanweave.sw.ebpf.object.contents import Contents, map_contents
from fanweave.sw.fabric.unit import budget_of
from fanweave.sw.system.run import START, SystemRun, run_golden
from fanweave.sw.system.setups import Prepared

__all__ = ["WindowResult", "check_window"]

_REGISTERS = {entry.name: entry for entry in ISLAND_REGISTERS}


@dataclass(frozen=True, kw_only=True)
class WindowResult:
    """What was held against golden, without a difference.

    Attributes
    ----------
    setting : str
    messages, verdicts, maps : int
    pages : int
        That are elsewhere than their ranges say, in the end.
    cycles : int
        That the messages took.
    run : SystemRun
        The run, with the cycles of all messages.
    """

    setting: str
    messages: int
    verdicts: int
    maps: int
    pages: int
    cycles: int
    run: SystemRun = field(repr=False, compare=False)


def check_window(prepared: Prepared, config: IslandConfig, *, window: int) -> WindowResult:
    """Run a setting's first messages in golden and in RTL, and compare all of it.

    Parameters
    ----------
    prepared : Prepared
    config : IslandConfig
        Of all islands.
    window : int
        Messages.

    Raises
    ------
    FaultError
        If a latency, a verdict, a map, a count or a page's place differs; the message names the
        first.
    """
    golden = run_golden(prepared, config, window=window, keep=True)
    maps = pages = 0
    drivers: dict[str, EngineDriver] = {}
    with SystemSimulation(config, islands=len(prepared.islands)) as simulation:
        for number, island in enumerate(prepared.islands):
            if island in prepared.built:
                simulation.choose(number)
                drivers[island] = run_now(_install(simulation, prepared, island))
        before = _forgotten(simulation, prepared)
        done, told = simulation.play(
            prepared.around,
            _writes(prepared),
            messages_of(golden.system),
            **time_for(golden.system),
        )
        compare_answers(
            golden.system,
            done,
            where=f"setting {prepared.name!r}",
            name=lambda flow: prepared.plan.movements[flow],
        )
        verdicts = compare_verdicts(golden.system, told, prepared.islands)
        for number, island in enumerate(prepared.islands):
            simulation.choose(number)
            compare_counts(simulation, golden.system, number, island=island, before=before[number])
            pages += compare_pages(simulation, golden.system, number, island=island)
            if island in prepared.built:
                maps += _compare_maps(drivers[island], prepared, golden, island)
    return WindowResult(
        setting=prepared.name,
        messages=len(done),
        verdicts=verdicts,
        maps=maps,
        pages=pages,
        cycles=golden.result.cycles,
        run=golden,
    )


def _forgotten(simulation: SystemSimulation, prepared: Prepared) -> list[int]:
    """How often each island forgot its verdicts while programs were installed."""
    found = []
    for number in range(len(prepared.islands)):
        simulation.choose(number)
        found.append(forgotten(simulation))
    return found


def _writes(prepared: Prepared) -> list[tuple[int, int, int, int]]:
    """Registers first; programs see the time from the first message on."""
    found = [
        (island, 0, address, word)
        for island, own in enumerate(prepared.writes)
        for address, word in own
    ]
    clock = _REGISTERS["clock"].address
    return [*found, *((island, START - 1, clock, 0) for island in range(len(prepared.islands)))]


async def _install(simulation: SystemSimulation, prepared: Prepared, island: str) -> EngineDriver:
    built = prepared.built[island]
    driver = await EngineDriver.identify(over(simulation))
    await driver.set_budget(budget_of(built.unit.place))
    await install_object(driver, built.loaded, built.contents)
    return driver


def _compare_maps(driver: EngineDriver, prepared: Prepared, golden: SystemRun, island: str) -> int:
    built = prepared.built[island]
    found: Contents = run_now(object_contents(driver, built.loaded))
    expected = map_contents(golden.machines[island].maps)
    for number, entries in expected.items():
        if _ordered(found[number]) != _ordered(entries):
            name = built.loaded.maps[number].spec.name
            raise FaultError(f"{island}: map {name!r} holds something else than golden's")
    return len(expected)


def _ordered(entries: object) -> list[tuple[bytes, bytes]]:
    return sorted(entries)  # type: ignore[call-overload]
