"""Long random traffic through an island in Verilator, whose program moves the pages of hosts."""

import random

from fanweave.golden.cxl.island_config import PRESETS
from fanweave.golden.ebpf.program import Program
from fanweave.golden.presets import find_preset
from fanweave.sim.benches.cxl.policed import play_policed
from fanweave.sim.benches.cxl.traffic import RandomTraffic, matching
from fanweave.sim.benches.cxl.verilated import Devices
from fanweave.sim.coverage.store import record as record_coverage
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["PROMOTES", "play"]

#: Moves the page of each event to port 2 or 3, by the lowest bit of the tag.
PROMOTES = """
    r0 = 0x205
    r2 = *(u16 *)(r1 + 20)
    r2 &= 1
    r2 <<= 8
    r0 += r2
    exit
"""
_BUDGET = 100
_PATIENCE = 200_000


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
    name = config or "tiny"
    island = find_preset("island", name, PRESETS)
    generator = random.Random(seed)
    inline = generator.choice((False, True))
    devices = Devices(
        stall=generator.choice((0.0, 0.2, 0.5)),
        delay=generator.choice(((1, 10), (5, 100))),
        single=True,
    )
    skip = generator.choice((4, 40))
    traffic = RandomTraffic(
        island.switch,
        seed=generator.getrandbits(31),
        requests=generator.choice((5_000, 20_000)),
        gap=generator.choice((1.0, 4.0)),
        answered=True,
    )
    checker, _, _ = play_policed(
        island,
        ObjectFile.of_code(Program.of(assemble(PROMOTES))),
        {},
        traffic.plan(timeout=2000),
        rules=matching(island.switch, skip=skip, inline=inline),
        budget=_BUDGET,
        limit=traffic.end + 100 * traffic.requests + _PATIENCE,
        seed=generator.getrandbits(31),
        devices=devices,
    )
    record_coverage("switch", checker.covered)
    count = checker.count
    reads = checker.contents.reads if checker.contents else 0
    return (
        f"{name}: {count['taken']} messages taken, {count['asked']} events, {reads} reads of what "
        f"was written, {count['end'] + count['home']} pages moved; stall {devices.stall}"
    )
