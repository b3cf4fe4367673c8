"""Long random traffic through the Verilated switch, held against the model."""

import random
from collections.abc import Iterable

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.presets import find_preset
from fanweave.sim.benches.cxl.checker import DifferenceError, TrafficChecker
from fanweave.sim.benches.cxl.contents import LineContents
from fanweave.sim.benches.cxl.records import Record
from fanweave.sim.benches.cxl.traffic import RandomTraffic
from fanweave.sim.benches.cxl.verilated import Devices, Traffic
from fanweave.sim.coverage.store import record as record_coverage

__all__ = ["check", "play"]

#: Cycles for what is on its way in the end.
_PATIENCE = 200_000


#: Cycles that a device has where answers may be lost, so that some of them are; elsewhere none is,
#: however slow links are.
_SHORT = {"faulty": 100, "dying": 300}
_LONG = 2000


def check(config: SwitchConfig, records: Iterable[Record], devices: Devices) -> TrafficChecker:
    """Hold what happened against the model.

    Where a host has one request for a line at most, what it reads is held against what it wrote.

    Raises
    ------
    DifferenceError
        At the first difference, or if something is still open in the end.
    """
    checker = TrafficChecker(config)
    checker.faulty, checker.silent = set(devices.faulty), set(devices.silent)
    if devices.single:
        checker.contents = LineContents()
    for record in records:
        checker.see(record)
    if not checker.settled:
        raise DifferenceError("not everything is answered in the end")
    return checker


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If there is no such preset.
    """
    name = config or "default"
    switch = find_preset("switch", name, PRESETS)
    generator = random.Random(seed)
    fault = generator.choice(("none", "faulty", "silent", "dying"))
    moves = generator.choice((0, 5, 50))
    every = frozenset(range(switch.upstream, switch.ports))
    devices = Devices(
        stall=generator.choice((0.0, 0.2, 0.5)),
        delay=generator.choice(((1, 10), (5, 200))),
        faulty=every if fault == "faulty" else frozenset(),
        silent=frozenset({switch.ports - 1}) if fault == "silent" else frozenset(),
        promote=0.5,
        single=moves > 0 or fault == "dying",
        missing=generator.choice((0.0, 0.0, 0.01)),
    )
    traffic = _traffic(switch, generator, fault, moves)
    with Traffic(switch) as simulation:
        records = simulation.play(
            traffic.plan(timeout=_SHORT.get(fault, _LONG)),
            limit=traffic.end + 100 * traffic.requests + _PATIENCE,
            seed=generator.getrandbits(31),
            devices=devices,
        )
        checker = check(switch, records, devices)
    record_coverage("switch", checker.covered)
    count = checker.count
    return (
        f"{name}: {count['taken']} messages taken, {count['answered']} answers, "
        f"{count['lost']} lost, {count['snooped']} snoops, {count['end'] + count['home']} pages "
        f"moved, {count['give_up']} moves given up; fault {fault}, stall {devices.stall}"
    )


def _traffic(
    switch: SwitchConfig, generator: random.Random, fault: str, moves: int
) -> RandomTraffic:
    # Whose a snooped line is, is decided a while after the switch takes the snoop: the log does not
    # show when, so bindings stay, and ports live, while there are snoops.
    rebinds = generator.choice((0, 20)) if fault == "none" else 0
    return RandomTraffic(
        switch,
        seed=generator.getrandbits(31),
        requests=generator.choice((10_000, 30_000)),
        gap=generator.choice((0.5, 2.0)),
        rebinds=rebinds,
        snoops=0 if rebinds or fault == "dying" else generator.choice((0, 500)),
        moves=moves,
        deaths=8 if fault == "dying" else 0,
    )
