"""Instructions a cycle on small loops, in RTL."""

import time
from collections.abc import Callable

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cluster import RESET_ADDRESS
from fanweave.sim.benches.core.programs import (
    DATA_BASE,
    ScalarProgram,
    assemble,
    csr_access,
    load_constant,
)
from fanweave.sim.benches.core.soak import image_of
from fanweave.sim.benches.core.verilated import CoreRun, run_core
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["LOOPS", "loop_program", "rows", "run_loop"]

_QUICK, _TURNS = 2_000, 20_000
#: Cycles of the run that shows how fast the simulation is.
_SPEED_CYCLES = 3_000_000
#: Registers: turns left, and pointers to two arrays of which each loop sees 64 bytes.
_COUNTER, _A, _B = 5, 6, 7


def _op(name: str, **fields: int) -> int:
    return assemble(name, **fields)


def _dependent() -> list[int]:
    return [_op("addi", rd=10, rs1=10, imm=1) for _ in range(8)]


def _copy() -> list[int]:
    """Eight words, four loads ahead of their stores."""
    body = []
    for half in (0, 16):
        body += [_op("lw", rd=10 + n, rs1=_A, imm=half + 4 * n) for n in range(4)]
        body += [_op("sw", rs2=10 + n, rs1=_B, imm=half + 4 * n) for n in range(4)]
    return body


def _load_use() -> list[int]:
    """Each load is used at once."""
    body = []
    for n in range(4):
        body += [_op("lw", rd=10, rs1=_A, imm=4 * n), _op("add", rd=11, rs1=11, rs2=10)]
    return body


def _multiply(registers: int) -> list[int]:
    """Products into so many registers in turn."""
    return [_op("mul", rd=10 + n % registers, rs1=10 + n % registers, rs2=9) for n in range(8)]


def _dot(sums: int) -> list[int]:
    """A dot product of eight numbers with so many partial sums; operands are loaded before."""
    body = []
    for n in range(8):
        body += [
            _op("flw", fd=8 + n, rs1=_A, imm=4 * n),
            _op("flw", fd=16 + n, rs1=_B, imm=4 * n),
        ]
    for n in range(8):
        body.append(_op("fmadd.s", fd=n % sums, fs1=8 + n, fs2=16 + n, fs3=n % sums))
    return body


def _divide() -> list[int]:
    return [_op("div", rd=10, rs1=9, rs2=8), _op("add", rd=11, rs1=10, rs2=11)]


def _branches() -> list[int]:
    """A branch that is taken every second time."""
    return [
        _op("andi", rd=10, rs1=_COUNTER, imm=1),
        _op("beq", rs1=10, rs2=0, imm=12),
        _op("addi", rd=11, rs1=11, imm=1),
        _op("addi", rd=12, rs1=12, imm=1),
        _op("addi", rd=13, rs1=13, imm=1),
    ]


#: Body of a loop, and the instructions a cycle that it should reach.
LOOPS: dict[str, tuple[Callable[[], list[int]], float | None]] = {
    "eight dependent additions": (_dependent, 0.99),
    "copy of eight words": (_copy, 0.99),
    "four loads, each used at once": (_load_use, 0.7),
    "eight multiplications, two chains": (lambda: _multiply(2), 0.99),
    "eight multiplications, one chain": (lambda: _multiply(1), None),
    "dot product, four sums": (lambda: _dot(4), 0.99),
    "dot product, one sum": (lambda: _dot(1), None),
    "a branch taken every second time": (_branches, None),
    "a division, used at once": (_divide, None),
}


def loop_program(body: list[int], turns: int) -> ScalarProgram:
    """A program that goes round a loop; it counts down to zero in the end of the body."""
    words = [
        *load_constant(31, 0x2000),
        csr_access("csrrs", "mstatus", 0, 31),
        *load_constant(_A, DATA_BASE),
        *load_constant(_B, DATA_BASE + 256),
        *load_constant(_COUNTER, turns),
        *load_constant(8, 7),
        *load_constant(9, 1_000_003),
    ]
    words += [*body, assemble("addi", rd=_COUNTER, rs1=_COUNTER, imm=-1)]
    words.append(assemble("bne", rs1=_COUNTER, rs2=0, imm=-4 * (len(body) + 1)))
    end = RESET_ADDRESS + 4 * len(words)
    return ScalarProgram(words=(*words, assemble("jal", rd=0, imm=0)), data=bytes(512), end=end)


def run_loop(body: list[int], turns: int) -> CoreRun:
    """Run it; without the cycles that the bench adds behind its end.

    Raises
    ------
    FaultError
        If it does not end.
    """
    program = loop_program(body, turns)
    run = run_core(image_of(program), boot=RESET_ADDRESS, end=program.end, limit=100_000_000)
    if run.ending != "end":
        raise FaultError(f"the loop does not end: {run.ending} at {run.pc:#x}")
    return run


def _rate(body: list[int], turns: int) -> float:
    """Instructions a cycle of the loop alone: of the difference of two lengths."""
    short, long = run_loop(body, turns // 2), run_loop(body, turns)
    return (long.instructions - short.instructions) / (long.cycles - short.cycles)


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Rows of ``fanweave bench core``; nothing here is random."""
    del seed
    turns = _QUICK if quick else _TURNS
    found = [
        BenchRow(
            case=case,
            metric="instructions_per_cycle",
            value=_rate(make(), turns),
            unit="1",
            goal=goal,
            origin="rtl",
        )
        for case, (make, goal) in LOOPS.items()
    ]
    body = _dot(4)
    begin = time.perf_counter()
    run = run_loop(body, (_SPEED_CYCLES // (10 if quick else 1)) // (len(body) + 2))
    speed = run.cycles / (time.perf_counter() - begin)
    found.append(
        BenchRow(
            case="dot product in Verilator",
            metric="simulated_cycles_per_second",
            value=speed,
            unit="cycles/s",
            goal=30_000,
            origin="measured",
        )
    )
    return found
