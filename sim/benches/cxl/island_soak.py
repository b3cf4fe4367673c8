"""Long random traffic through an island in Verilator, whose program judges it or moves pages."""

import random

from fanweave.golden.cxl.island_config import PRESETS, IslandConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.cxl_event import EVENT_FIELDS, Verdict, VerdictAction
from fanweave.golden.presets import find_preset
from fanweave.sim.benches.cxl.island_checker import IslandChecker
from fanweave.sim.benches.cxl.policed import play_policed
from fanweave.sim.benches.cxl.traffic import RandomTraffic, matching, tokens
from fanweave.sim.benches.cxl.verilated import Devices
from fanweave.sim.coverage.store import record as record_coverage
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["PROMOTES", "judge_by_tags", "play", "verdict_program"]

#: Moves the page of each event to port 2 or 3, by the lowest bit of the tag.
PROMOTES = """
    r0 = 0x205
    r2 = *(u16 *)(r1 + 20)
    r2 &= 1
    r2 <<= 8
    r0 += r2
    exit
"""
#: Bits of a tag that give every action, and every port up to 3.
_ACTIONS, _PORTS = 0x7, 0x300
_TAG = next(field.offset for field in EVENT_FIELDS if field.name == "tag")
_BUDGET = 100
_PATIENCE = 200_000
_TIMEOUT = 2000


def verdict_program(mask: int, fixed: int) -> str:
    """A program whose verdict is made of bits of its request's tag.

    Parameters
    ----------
    mask : int
        Which bits count; up to 16.
    fixed : int
        Bits that are set; up to 31.
    """
    return f"""
        r0 = *(u16 *)(r1 + {_TAG})
        r0 &= {mask:#x}
        r0 |= {fixed:#x}
        exit
    """


def judge_by_tags(
    island: IslandConfig,
    *,
    mask: int,
    fixed: int,
    seed: int,
    requests: int,
    gap: float,
    snoops: int = 0,
    skip: int = 0,
    deny: bool = False,
    devices: Devices | None = None,
) -> IslandChecker:
    """Play requests of all opcodes, and a program that says all that fits into a mask.

    Parameters
    ----------
    island : IslandConfig
        The island.
    mask, fixed : int
        See `verdict_program`.
    seed : int
        Decides the rest.
    requests, gap, snoops
        As of `RandomTraffic`.
    skip, deny
        As of `matching`; what is passed over is not denied, so not both.
    devices : Devices, optional
        Not with ``single``: what a verdict sends elsewhere is not where its host reads.

    Raises
    ------
    DifferenceError
        If something differs from golden.
    """
    generator = random.Random(seed)
    traffic = RandomTraffic(
        island.switch,
        seed=generator.getrandbits(31),
        requests=requests,
        gap=gap,
        snoops=snoops,
        even=True,
    )
    rules = [
        *tokens(island.switch, rate=64, limit=16, delay_limit=100),
        *matching(island.switch, skip=skip, inline=True, deny=deny),
    ]
    checker, _, _ = play_policed(
        island,
        _object(verdict_program(mask, fixed)),
        {},
        traffic.plan(timeout=_TIMEOUT),
        rules=rules,
        deny=deny,
        budget=_BUDGET,
        limit=traffic.end + 100 * traffic.requests + _PATIENCE,
        seed=generator.getrandbits(31),
        devices=devices,
    )
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
    name = config or "tiny"
    island = find_preset("island", name, PRESETS)
    generator = random.Random(seed)
    stall = generator.choice((0.0, 0.2, 0.5))
    delay = generator.choice(((1, 10), (5, 100)))
    missing = generator.choice((0.0, 0.0, 0.01))
    devices = Devices(stall=stall, delay=delay, missing=missing, single=generator.random() < 0.5)
    if devices.single:
        checker, what = _moving(island, generator, devices), "moves pages"
    else:
        checker, what = _judging(island, generator, devices)
    record_coverage("switch", checker.covered)
    count = checker.count
    reads = checker.contents.reads if checker.contents else 0
    return (
        f"{name}: {count['taken']} messages taken, {count['asked']} events, {count['judged']} "
        f"judged, {reads} reads of what was written, {count['end'] + count['home']} pages moved; "
        f"program {what}, stall {stall}"
    )


def _moving(island: IslandConfig, generator: random.Random, devices: Devices) -> IslandChecker:
    """A program that moves pages, and all that hosts read."""
    inline = generator.choice((False, True))
    traffic = RandomTraffic(
        island.switch,
        seed=generator.getrandbits(31),
        requests=generator.choice((5_000, 20_000)),
        gap=generator.choice((1.0, 4.0)),
        snoops=generator.choice((0, 200)),
    )
    checker, _, _ = play_policed(
        island,
        _object(PROMOTES),
        {},
        traffic.plan(timeout=_TIMEOUT),
        rules=matching(island.switch, skip=generator.choice((4, 40)), inline=inline),
        budget=_BUDGET,
        limit=traffic.end + 100 * traffic.requests + _PATIENCE,
        seed=generator.getrandbits(31),
        devices=devices,
    )
    return checker


def _judging(
    island: IslandConfig, generator: random.Random, devices: Devices
) -> tuple[IslandChecker, str]:
    """A program that says anything, of requests that are seldom enough for it."""
    mask, fixed = _masks(generator)
    deny = generator.random() < 0.3
    checker = judge_by_tags(
        island,
        mask=mask,
        fixed=fixed,
        seed=generator.getrandbits(31),
        requests=generator.choice((1_000, 4_000)),
        gap=generator.choice((10.0, 30.0, 60.0)),
        snoops=generator.choice((0, 200)),
        skip=0 if deny else generator.choice((0, 0, 2)),
        deny=deny,
        devices=devices,
    )
    return checker, f"says tag & {mask:#x} | {fixed:#x}"


def _masks(generator: random.Random) -> tuple[int, int]:
    """Most masks give verdicts that say something; some give any bits."""
    kind = generator.random()
    if kind < 0.2:
        return generator.getrandbits(16), generator.getrandbits(16)
    action = generator.choice(list(VerdictAction))
    if kind < 0.6:
        return _ACTIONS | _PORTS, 0
    if action in (VerdictAction.DELAY, VerdictAction.SPILL):
        price = generator.choice((1, 16, 200))
        return generator.choice((0, 1)), Verdict(action=action, tokens=price).encode()
    if action in (VerdictAction.PASS, VerdictAction.DENY):
        return 0, Verdict(action=action).encode()
    return _PORTS, Verdict(action=action).encode()


def _object(text: str) -> ObjectFile:
    return ObjectFile.of_code(Program.of(assemble(text)))
