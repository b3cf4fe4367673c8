"""Cycles of the policy engine in RTL: classic programs, and operations on maps."""

import random
from collections import Counter

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.layout import needs
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.maps.hash import hash_key
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.classic_load import HXDP_INSTRUCTIONS_PER_CYCLE, classic_load
from fanweave.sim.benches.ebpf.map_bench import MapCall, play
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.ebpf.programs.cases import CASES, run_case

__all__ = ["classic_rows", "load_rows", "map_rows"]

_KEY = bytes(range(16))
_C = MapCommand
_FULL_MAPS = 20


def classic_rows() -> list[BenchRow]:
    """Cycles from an event's begin to its verdict, fill of the context included, one at a time.

    The goal is what hBPF has published for the same decision.

    Raises
    ------
    FaultError
        If a program does not give what it must.
    """
    rows = []
    for case in CASES:
        if case.published_cycles is None:
            continue
        result = run_case(case, engine="rtl")
        if result.fault is not FaultCause.NONE or result.r0 != case.r0 or result.cycles is None:
            raise FaultError(f"{case}: r0 = {result.r0}, {result.fault.name}")
        rows.append(
            BenchRow(
                case=str(case),
                metric="cycles",
                value=result.cycles,
                unit="cycles",
                goal=case.published_cycles,
                origin="rtl",
            )
        )
    return rows


def load_rows(events: int) -> list[BenchRow]:
    """Instructions a cycle of each classic program under load, and what hXDP has published.

    Parameters
    ----------
    events : int
        Frames of each program, the first that has published cycles.

    Raises
    ------
    FaultError
        If a program does not give what it must.
    """
    cases = {case.program: case for case in reversed(CASES) if case.published_cycles is not None}
    measured = {
        f"core, 8 threads, {case}, again and again": classic_load(case, events=events)
        for case in reversed(cases.values())
    }
    least, most = HXDP_INSTRUCTIONS_PER_CYCLE
    return [
        *(
            BenchRow(
                case=name,
                metric="instructions_per_cycle",
                value=run.instructions / run.cycles,
                unit="1",
                origin="rtl",
            )
            for name, run in measured.items()
        ),
        *(
            BenchRow(
                case=f"hXDP, 4 lanes, its own programs: {which}",
                metric="instructions_per_cycle",
                value=value,
                unit="1",
                origin="literature",
            )
            for which, value in (("least", least), ("most", most))
        ),
    ]


def _map(kind: MapType, key: int, value: int, entries: int) -> MapSpec:
    return MapSpec(
        name=kind.name.lower(), kind=kind, key_size=key, value_size=value, max_entries=entries
    )


def map_rows() -> list[BenchRow]:
    """Cycles of operations of the map unit, from being taken to their result."""
    specs = [
        _map(MapType.ARRAY, 4, 8, 64),
        _map(MapType.HASH, 16, 8, 64),
        _map(MapType.LRU_HASH, 16, 8, 2),
        _map(MapType.LPM_TRIE, 8, 8, 64),
        _map(MapType.RINGBUF, 0, 0, 4096),
    ]
    value, other = bytes(8), bytes(16)
    prefix = (32).to_bytes(4, "little") + bytes(4)
    array, hashed, youngest, trie, ring = range(5)
    timed: list[tuple[str, int | None, MapCall]] = [
        ("array: lookup", 2, MapCall(command=_C.LOOKUP, map=array, key=bytes(4))),
        ("array: update", 10, MapCall(command=_C.UPDATE, map=array, key=bytes(4), value=value)),
        (
            "hash, 16-byte key: update that inserts",
            10,
            MapCall(command=_C.UPDATE, map=hashed, key=_KEY, value=value),
        ),
        ("hash, 16-byte key: lookup", 6, MapCall(command=_C.LOOKUP, map=hashed, key=_KEY)),
        (
            "hash, 16-byte key: update",
            10,
            MapCall(command=_C.UPDATE, map=hashed, key=_KEY, value=value),
        ),
        ("hash, 16-byte key: delete", None, MapCall(command=_C.DELETE, map=hashed, key=_KEY)),
        (
            "LRU hash: update that inserts",
            10,
            MapCall(command=_C.UPDATE, map=youngest, key=_KEY, value=value),
        ),
        (
            "LRU hash: second insertion",
            10,
            MapCall(command=_C.UPDATE, map=youngest, key=other, value=value),
        ),
        (
            "LRU hash: update that evicts",
            10,
            MapCall(command=_C.UPDATE, map=youngest, key=b"\1" * 16, value=value),
        ),
        ("LPM: update", 10, MapCall(command=_C.UPDATE, map=trie, key=prefix, value=value)),
        ("LPM, 64 prefixes: lookup", 8, MapCall(command=_C.LOOKUP, map=trie, key=prefix)),
        (
            "ring buffer: output of 64 bytes",
            6,
            MapCall(command=_C.OUTPUT, map=ring, length=64, value=bytes(64)),
        ),
    ]
    replies = play(specs, [call for _, _, call in timed], PRESETS["default"])
    rows = [
        BenchRow(
            case=f"map unit, {case}",
            metric="map_cycles",
            value=reply.cycles,
            unit="cycles",
            goal=goal,
            origin="rtl",
        )
        for (case, goal, _), reply in zip(timed, replies, strict=True)
    ]
    return [*rows, _slowest_lookup()]


def _slowest_lookup() -> BenchRow:
    """A look-up takes two cycles, and one more for each further key of the bucket's chain."""
    generator = random.Random(0)
    entries = PRESETS["default"].entries
    mask = needs(_map(MapType.HASH, 16, 8, entries), 1)["buckets"] - 1
    longest = max(
        max(Counter(hash_key(generator.randbytes(16)) & mask for _ in range(entries)).values())
        for _ in range(_FULL_MAPS)
    )
    return BenchRow(
        case=f"map unit, {_FULL_MAPS} full maps of {entries:,} random keys: slowest hash lookup",
        metric="map_cycles",
        value=1 + longest,
        unit="cycles",
        goal=6,
        origin="model",
    )
