"""Long random traffic through the Verilated switch, held against the model."""

import random
from collections.abc import Iterator

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.presets import find_preset
from fanweave.sim.benches.cxl.checker import DifferenceError, TrafficChecker
from fanweave.sim.benches.cxl.records import Record
from fanweave.sim.benches.cxl.traffic import RandomTraffic
from fanweave.sim.benches.cxl.verilated import Devices, Traffic

__all__ = ["check", "play"]

#: Cycles for what is on its way in the end.
_PATIENCE = 200_000


def check(config: SwitchConfig, records: Iterator[Record], devices: Devices) -> TrafficChecker:
    """Hold what happened against the model.

    Raises
    ------
    DifferenceError
        At the first difference, or if something is still open in the end.
    """
    checker = TrafficChecker(config)
    checker.faulty, checker.silent = set(devices.faulty), set(devices.silent)
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
    fault = generator.choice(("none", "faulty", "silent"))
    every = frozenset(range(switch.upstream, switch.ports))
    devices = Devices(
        stall=generator.choice((0.0, 0.2, 0.5)),
        delay=generator.choice(((1, 10), (5, 200))),
        faulty=every if fault == "faulty" else frozenset(),
        silent=frozenset({switch.ports - 1}) if fault == "silent" else frozenset(),
    )
    # Whose a snooped line is, is decided a while after the switch takes the snoop: the log does not
    # show when, so bindings stay while there are snoops.
    rebinds = generator.choice((0, 20)) if fault == "none" else 0
    traffic = RandomTraffic(
        switch,
        seed=generator.getrandbits(31),
        requests=generator.choice((10_000, 30_000)),
        gap=generator.choice((0.5, 2.0)),
        rebinds=rebinds,
        snoops=0 if rebinds else generator.choice((0, 500)),
    )
    with Traffic(switch) as simulation:
        records = simulation.play(
            # Where answers may be lost, some of them are; elsewhere none, however slow links are.
            traffic.plan(timeout=100 if fault == "faulty" else 2000),
            limit=traffic.end + 100 * traffic.requests + _PATIENCE,
            seed=generator.getrandbits(31),
            devices=devices,
        )
        checker = check(switch, records, devices)
    count = checker.count
    return (
        f"{name}: {count['taken']} messages taken, {count['answered']} answers, "
        f"{count['lost']} lost, {count['snooped']} snoops; fault {fault}, stall {devices.stall}"
    )
