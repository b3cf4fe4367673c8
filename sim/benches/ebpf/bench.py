"""How fast the golden machine runs ordinary programs, and how busy they keep the core in RTL."""

import time

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import Map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.core_run import play
from fanweave.sim.benches.ebpf.map_programs import MAP_PROGRAMS, map_of
from fanweave.sim.benches.ebpf.rtl_rows import classic_rows, load_rows, map_rows
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.ebpf import assemble

__all__ = ["PROGRAMS", "rows"]

_GOAL = 1_000_000
_SECONDS = 1.0
_REPEATS = 3

#: Programs by name.
PROGRAMS = {
    "arithmetic": """
        r0 = 1
        r6 = 5000
    again:
        r0 *= 31
        r0 += r6
        r1 = r0
        r1 >>= 13
        r0 ^= r1
        w1 = w0
        w1 <<= 3
        r0 -= r1
        r6 -= 1
        if r6 != 0 goto again
        exit
    """,
    "checksum of 1,500 bytes": """
        r0 = 0
        r6 = r1
        r7 = 750
    again:
        r2 = *(u16 *)(r6 + 0)
        r2 = be16 r2
        r0 += r2
        r6 += 2
        r7 -= 1
        if r7 != 0 goto again
        r1 = r0
        r1 >>= 16
        w0 &= 0xffff
        r0 += r1
        exit
    """,
    "sort on the stack": """
        r6 = 0
    fill:
        r1 = r6
        r1 *= 40503
        r1 &= 0xff
        r2 = r10
        r3 = r6
        r3 <<= 3
        r2 -= r3
        *(u64 *)(r2 - 8) = r1
        r6 += 1
        if r6 != 32 goto fill
        r6 = 31
    outer:
        r7 = 0
    inner:
        r2 = r10
        r3 = r7
        r3 <<= 3
        r2 -= r3
        r4 = *(u64 *)(r2 - 8)
        r5 = *(u64 *)(r2 - 16)
        if r4 <= r5 goto kept
        *(u64 *)(r2 - 8) = r5
        *(u64 *)(r2 - 16) = r4
    kept:
        r7 += 1
        if r7 < r6 goto inner
        r6 -= 1
        if r6 != 0 goto outer
        r0 = *(u64 *)(r10 - 8)
        exit
    """,
}
_IPC_GOAL = 0.9
_TURNS = 100
_LOOP = """
        r0 = 0
        r6 = {turns}
    again:
        r0 += r6
        r1 = r0
        r1 <<= 3
        r1 ^= r0
        *(u64 *)(r10 - 8) = r1
        r2 = *(u32 *)(r10 - 6)
        r0 *= 31
        r0 += r2
        r6 -= 1
        if r6 != 0 goto again
        exit
"""


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Run each program for a second, three times, and take the best.

    Parameters
    ----------
    quick : bool
        A tenth of the time, a fifth of the turns in RTL, and a quarter of the frames.
    seed : int
        Has no part in it.

    Raises
    ------
    FaultError
        If a program does not end as it should.
    """
    programs: list[tuple[str, str, list[Map]]] = [
        *((name, text, []) for name, text in PROGRAMS.items()),
        *((name, text, [map_of(spec)]) for name, (spec, text) in MAP_PROGRAMS.items()),
    ]
    seconds = _SECONDS / 10 if quick else _SECONDS
    measured = [
        BenchRow(
            case=f"golden machine, {name}",
            metric="instructions_per_second",
            value=_rate(Program.of(assemble(text), name), maps, seconds),
            unit="1/s",
            goal=_GOAL,
            origin="measured",
        )
        for name, text, maps in programs
    ]
    turns = _TURNS // 5 if quick else _TURNS
    loads = load_rows(events=16 if quick else 64)
    return measured + _core_rows(turns) + map_rows() + classic_rows() + loads


def _core_rows(turns: int) -> list[BenchRow]:
    """The core on a loop of arithmetic and accesses to the stack, as many events as threads."""
    result = []
    program = Program.of(assemble(_LOOP.format(turns=turns)), "loop")
    for threads, goal in ((8, _IPC_GOAL), (2, None)):
        config = EbpfConfig(threads=threads, slots=128, context_bytes=32)
        for events in (threads, 1):
            run = play(program, config=config, events=events)
            result.append(
                BenchRow(
                    case=f"core, {threads} threads, {events} at work",
                    metric="instructions_per_cycle",
                    value=run.instructions / run.cycles,
                    unit="1",
                    goal=goal if events == threads else None,
                    origin="rtl",
                )
            )
    return result


def _rate(program: Program, maps: list[Map], seconds: float) -> float:
    machine = Machine(maps)
    context = bytearray(range(250)) * 6
    best = 0.0
    for _ in range(_REPEATS):
        executed = 0
        start = time.perf_counter()
        while (taken := time.perf_counter() - start) < seconds / _REPEATS or not executed:
            outcome = machine.run(program, context)
            if outcome.fault is not FaultCause.NONE:
                raise FaultError(f"program {program.name!r} ended with {outcome.fault.name}")
            executed += outcome.instructions
        best = max(best, executed / taken)
    return best
