"""Many events at once on the Verilated policy engine: shared counters, programs that change."""

from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_machine import FaultCause, map_handle
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.engine_server import EngineServer
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now

__all__ = ["Replacements", "count_in_shared_maps", "replace_under_load"]

_KEYS = 4
#: Counters by the number of their map.
_COUNTERS = (
    MapSpec(name="in_array", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=_KEYS),
    MapSpec(name="in_hash", kind=MapType.HASH, key_size=4, value_size=8, max_entries=_KEYS),
)


def count_in_shared_maps(
    config: EbpfConfig, *, events: int, turns: int, dump: Path | None = None
) -> dict[str, list[int]]:
    """Let all threads of all engines add to the same counters at the same time.

    Each event adds 1 to one counter of each map, `turns` times; a key that is not there is made.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    events : int
        Of each engine.
    turns : int
        Rounds of each event.
    dump : Path, optional
        A VCD of all of it, from a reset on.

    Returns
    -------
    dict of str to list of int
        Sums by map, in the order of keys.
    """
    with EngineServer(config, waves=dump is not None) as server:
        if dump is not None:
            server.begin_dump(dump)
            server.reset()
        driver = run_now(EngineDriver.identify(over(server)))
        run_now(driver.maps.create(_COUNTERS))
        run_now(driver.programs.install(0, _counting(turns)))
        for tag in range(events):
            for engine in range(config.engines):
                server.offer(b"", tag=tag, program=0, engine=engine)
        for _ in range(events):
            for engine in range(config.engines):
                server.verdict(engine)
        return {
            spec.name: [
                int.from_bytes(value, "little")
                for _, value in sorted(run_now(driver.maps.items(number)))
            ]
            for number, spec in enumerate(_COUNTERS)
        }


def _counting(turns: int) -> Program:
    """Counts turns down in r6; the key is the turn modulo the number of keys."""
    parts = "".join(_COUNT_ONCE.format(map=map_handle(n), label=n) for n in range(len(_COUNTERS)))
    text = f"""
        r6 = {turns}
        *(u64 *)(r10 - 16) = 0
    again:
        r1 = r6
        r1 &= {_KEYS - 1}
        *(u32 *)(r10 - 4) = r1
        {parts}
        r6 -= 1
        if r6 != 0 goto again
        r0 = 0
        exit
    """
    return Program.of(assemble(text), "counting")


_COUNT_ONCE = """
        r1 = {map:#x} ll
        r2 = r10
        r2 += -4
        call 1
        if r0 != 0 goto found_{label}
        r1 = {map:#x} ll
        r2 = r10
        r2 += -4
        r3 = r10
        r3 += -16
        r4 = 1
        call 2
        r1 = {map:#x} ll
        r2 = r10
        r2 += -4
        call 1
    found_{label}:
        r1 = 1
        lock *(u64 *)(r0 + 0) += r1
"""


@dataclass(frozen=True, kw_only=True)
class Replacements:
    """What became of events while their program was replaced.

    Attributes
    ----------
    results : tuple of int
        r0 by event, in the order in which they were offered; to the engines in turn.
    programs : int
        Versions that there were; version n gives n.
    images_left : int
        Images that are not free in the end.
    """

    results: tuple[int, ...]
    programs: int
    images_left: int


def replace_under_load(config: EbpfConfig, *, versions: int, events: int) -> Replacements:
    """Replace a program again and again while events come in.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    versions : int
        Programs one after the other.
    events : int
        Offered after each replacement, without waiting for their verdicts.

    Raises
    ------
    FaultError
        If an event has no verdict or two, or ends with a fault.
    """
    with EngineServer(config) as server:
        driver = run_now(EngineDriver.identify(over(server)))
        for version in range(versions):
            run_now(driver.programs.install(0, _version(version)))
            for number in range(events):
                tag = version * events + number
                server.offer(b"", tag=tag, program=0, engine=tag % config.engines)
        results: dict[int, int] = {}
        for offered in range(versions * events):
            verdict = server.verdict(offered % config.engines)
            if verdict.cause is not FaultCause.NONE or verdict.tag in results:
                raise FaultError(f"event {verdict.tag}: {verdict.cause.name}, or a second verdict")
            results[verdict.tag] = verdict.r0
        counted = run_now(driver.counters())
        if counted["events"] != len(results) or counted["verdicts_none"] != len(results):
            raise FaultError(f"{len(results)} events; the engine counts {counted}")
        run_now(driver.programs.tidy())
        return Replacements(
            results=tuple(results[tag] for tag in sorted(results)),
            programs=versions,
            images_left=driver.programs.images,
        )


def _version(number: int) -> Program:
    """Takes its time, then gives its number."""
    text = f"""
        r1 = 40
    again:
        r1 -= 1
        if r1 != 0 goto again
        r0 = {number}
        exit
    """
    return Program.of(assemble(text), f"version {number}")
