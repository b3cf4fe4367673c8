"""A window of a scenario on islands in RTL, held against golden to the cycle."""

from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.state import COUNTS
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_island import ISLAND_COUNTERS, ISLAND_REGISTERS
from fanweave.sim.benches.system.simulation import REST, SystemSimulation
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
    cycles : int
        That the messages took.
    run : SystemRun
        The run, with the cycles of all messages.
    """

    setting: str
    messages: int
    verdicts: int
    maps: int
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
        If a latency, a verdict, a map or a count differs; the message names the first.
    """
    golden = run_golden(prepared, config, window=window, keep=True)
    maps = 0
    drivers: dict[str, EngineDriver] = {}
    with SystemSimulation(config, islands=len(prepared.islands)) as simulation:
        for number, island in enumerate(prepared.islands):
            if island in prepared.built:
                simulation.choose(number)
                drivers[island] = run_now(_install(simulation, prepared, island))
        done, told = simulation.play(
            prepared.around,
            _writes(prepared),
            _messages(golden),
            limit=int(golden.system.state.clock[0]) + 10 * REST,
        )
        _compare_latencies(prepared, golden, done)
        verdicts = _compare_verdicts(prepared, golden, told)
        for number, island in enumerate(prepared.islands):
            simulation.choose(number)
            if island in prepared.built:
                _compare_counts(simulation, prepared, golden, number)
                maps += _compare_maps(drivers[island], prepared, golden, island)
    return WindowResult(
        setting=prepared.name,
        messages=len(done),
        verdicts=verdicts,
        maps=maps,
        cycles=golden.result.cycles,
        run=golden,
    )


def _writes(prepared: Prepared) -> list[tuple[int, int, int, int]]:
    """Registers first; programs see the time from the first message on."""
    found = [
        (island, 0, address, word)
        for island, own in enumerate(prepared.writes)
        for address, word in own
    ]
    clock = _REGISTERS["clock"].address
    return [*found, *((island, START - 1, clock, 0) for island in range(len(prepared.islands)))]


def _messages(golden: SystemRun) -> np.ndarray:
    traffic, sent = golden.system.traffic, int(golden.system.state.clock[1])
    kinds = traffic.flows[traffic.flow[:sent], 3]
    line = traffic.line[:sent]
    columns = [traffic.sent[:sent], traffic.host[:sent], kinds, traffic.tag[:sent]]
    return np.stack([*columns, line & 0xFFFFFFFF, line >> 32], axis=1)


async def _install(simulation: SystemSimulation, prepared: Prepared, island: str) -> EngineDriver:
    built = prepared.built[island]
    driver = await EngineDriver.identify(over(simulation))
    await driver.set_budget(budget_of(built.unit.place))
    await install_object(driver, built.loaded, built.contents)
    return driver


def _compare_latencies(prepared: Prepared, golden: SystemRun, done: np.ndarray) -> None:
    traffic = golden.system.traffic
    expected = traffic.done[: len(done)]
    wrong = np.flatnonzero(expected != done)
    if not len(wrong):
        return
    m = int(wrong[0])
    raise FaultError(
        f"setting {prepared.name!r}: {len(wrong)} of {len(done)} messages are answered in another "
        f"cycle than golden says; the first is message {m} of "
        f"{prepared.plan.movements[traffic.flow[m]]}, sent in cycle {traffic.sent[m]} and answered "
        f"in {done[m]} instead of {expected[m]}"
    )


def _compare_verdicts(prepared: Prepared, golden: SystemRun, told: np.ndarray) -> int:
    """Each verdict that an island's switch was told, and when."""
    kept = golden.system.traffic.told
    rows = kept[: int(golden.system.state.clock[3])]
    if len(rows) and len(rows) == len(kept):
        raise FaultError("golden had no place for all verdicts")
    for number, island in enumerate(prepared.islands):
        mine, theirs = rows[rows[:, 0] == number], told[told[:, 0] == number].astype(np.int64)
        r0 = mine[:, 3] | mine[:, 4] << 8 | mine[:, 5] << 16
        expected = np.stack([mine[:, 1], np.where(mine[:, 2], r0, -1)], axis=1)
        word = np.where(theirs[:, 4] == 0, theirs[:, 2] | theirs[:, 3] << 32, -1)
        found = np.stack([theirs[:, 1], word], axis=1)
        both = min(len(found), len(expected))
        wrong = np.flatnonzero((found[:both] != expected[:both]).any(axis=1))
        if len(wrong) or len(found) != len(expected):
            at = int(wrong[0]) if len(wrong) else both
            raise FaultError(
                f"{island}: verdict {at} of {len(expected)} (in RTL of {len(found)}): cycle and r0 "
                f"are {found[at : at + 1].tolist()} instead of "
                f"{expected[at : at + 1].tolist()}"
            )
    return len(rows)


def _compare_counts(
    simulation: SystemSimulation, prepared: Prepared, golden: SystemRun, island: int
) -> None:
    counted = zip(COUNTS._fields, golden.system.state.counts[island], strict=True)
    expected = {name: int(count) for name, count in counted}
    for name, _ in ISLAND_COUNTERS:
        if name == "forgotten":  # before the traffic, when registers were written
            continue
        found = simulation.register(_REGISTERS[f"counter_{name}"].address)
        wanted = expected.get(name, 0)
        if found != wanted:
            where = prepared.islands[island]
            raise FaultError(f"{where}: {found} {name} were counted instead of {wanted}")


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
