"""Programs in an island, with traffic that they judge."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.isa.cxl_event import Channel
from fanweave.sim.benches.cxl.checker import DifferenceError
from fanweave.sim.benches.cxl.contents import LineContents
from fanweave.sim.benches.cxl.island_checker import IslandChecker
from fanweave.sim.benches.cxl.records import Planned, Record, Wrote
from fanweave.sim.benches.cxl.verilated import Devices, Traffic
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now
from fanweave.sw.ebpf.driver.objects import install_object, object_contents
from fanweave.sw.ebpf.object.contents import Contents, machine_of, map_contents
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["judge_all", "play_policed"]

_ALL_PAGES = (1 << 20) - 1


def judge_all(config: IslandConfig, *, deny: bool = False) -> Iterator[Planned]:
    """Writes of registers: program 0 judges every request, inline."""
    entries = {entry.name: entry for entry in config.switch.registers}
    hosts = (1 << config.switch.upstream) - 1
    channels = 1 << Channel.M2S_REQ | 1 << Channel.M2S_RWD
    for name, fields in (
        ("match", {"ports": hosts, "channels": channels}),
        ("opcodes", {"mask": 0xFFFF}),
        ("last_high", {"page": _ALL_PAGES}),
        ("control", {"enable": 1, "inline": 1, "deny": int(deny)}),
    ):
        entry = entries[f"rule_0_{name}"]
        yield Planned(cycle=0, sent=Wrote(entry.address, entry.pack(**fields)))


def play_policed(
    config: IslandConfig,
    loaded: ObjectFile,
    contents: Contents,
    plan: Iterable[Planned],
    *,
    budget: int,
    limit: int,
    rules: Iterable[Planned] | None = None,
    deny: bool = False,
    seed: int = 0,
    devices: Devices | None = None,
    seen: list[Record] | None = None,
    dump: Path | None = None,
    window: tuple[int, int] = (0, 0),
) -> tuple[IslandChecker, Contents, Contents]:
    """Play a plan with programs that judge requests, held against golden.

    Parameters
    ----------
    config : IslandConfig
        The island.
    loaded : ObjectFile
        Its first program judges, or what the rules say.
    contents : mapping
        What the host puts into its maps.
    plan : iterable of Planned
        The traffic.
    budget : int
        Instructions that an event may take.
    limit, seed, devices
        As of `Traffic.play`; with ``single``, what hosts read is held against what they wrote.
    rules : iterable of Planned, optional
        Rules of the filter, all with one default; without, that of `judge_all`.
    deny : bool
        That default.
    seen : list of Record, optional
        Gets all that happened.
    dump : Path, optional
        A VCD of the cycles in `window`.
    window : (int, int)
        As of `Traffic.play`.

    Returns
    -------
    checker : IslandChecker
        What was seen.
    rtl, golden : Contents
        What is in the maps in the end.

    Raises
    ------
    DifferenceError
        If a message, an event or a verdict is not as it must be.
    FaultError
        If the window of the dump is not reached.
    """
    machine = machine_of(loaded, contents, engines=config.engine.engines, budget=budget)
    checker = IslandChecker(config, machine, deny=deny)
    if devices is not None and devices.single:
        checker.contents = LineContents()

    async def prepare(simulation: Traffic) -> EngineDriver:
        driver = await EngineDriver.identify(over(simulation))
        await driver.set_budget(budget)
        await install_object(driver, loaded, contents)
        return driver

    with Traffic(config, waves=dump is not None) as simulation:
        driver = run_now(prepare(simulation))
        records = simulation.play(
            [*(judge_all(config, deny=deny) if rules is None else rules), *plan],
            limit=limit,
            seed=seed,
            devices=devices,
            window=window,
        )
        for record in records:
            if seen is not None:
                seen.append(record)
            checker.see(record)
        if not checker.settled:
            raise DifferenceError("not everything is answered in the end")
        found = run_now(object_contents(driver, loaded))
        if dump is not None:
            simulation.keep_dump(dump, window[0])
    return checker, found, map_contents(machine.maps)
