"""Holds the core against golden's, instruction by instruction, in Amaranth's simulator."""

from dataclasses import dataclass
from typing import Any

from fanweave.golden.isa.cluster import RESET_ADDRESS, RegionName
from fanweave.golden.riscv.devices import Host
from fanweave.golden.riscv.hart import Hart
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.trap import TrapError
from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.core import Core
from fanweave.hw.core.testing import CoreBench, Memories
from fanweave.sim.benches.core.checker import Checker, DifferenceError
from fanweave.sim.benches.core.programs import DATA_BASE, ScalarProgram

__all__ = ["GoldenMemories", "LockstepResult", "load", "run_lockstep"]

_CSRS = ("mie", "mscratch", "mcause", "mtval", "mtvec", "mepc", "frm")


def load(program: ScalarProgram) -> Memory:
    """A memory with a program in it, and the host's mailbox."""
    memory = Memory((Host(1),))
    code = memory.part(RegionName.INSTRUCTIONS).data
    for place, word in enumerate(program.words):
        code[4 * place : 4 * place + 4] = list(word.to_bytes(4, "little"))
    for place, byte in enumerate(program.data):
        memory.store(DATA_BASE + place, 1, byte)
    return memory


class GoldenMemories(Memories):
    """Golden's memory behind the core's ports."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def fetch(self, address: int) -> int:
        return self.memory.fetch(address)

    def access(self, address: int, write: bool, mask: int, data: int) -> int | None:
        word = address & ~3
        try:
            if not write:
                return self.memory.load(word, 4)
            if mask == 0b1111:
                self.memory.store(word, 4, data)
            else:
                for lane in range(4):
                    if mask >> lane & 1:
                        self.memory.store(word + lane, 1, data >> 8 * lane)
        except TrapError:
            return None
        return 0


@dataclass(frozen=True, kw_only=True)
class LockstepResult:
    """What was compared.

    Attributes
    ----------
    instructions, traps, cycles : int
        How many.
    stalls : dict of str to int
        Cycles without an instruction, by cause.
    registers : dict of str to int
        What the core wrote last, such as ``x5`` and ``f1``.
    memory : Memory
        The core's, at the end.
    halted : tuple of int or None
        Cause, address and value of a trap without a handler, which ended the run.
    """

    instructions: int
    traps: int
    cycles: int
    stalls: dict[str, int]
    registers: dict[str, int]
    memory: Memory
    halted: tuple[int, int, int] | None


class _Observer:
    """Feeds the checker, and compares CSRs after each instruction."""

    def __init__(self, checker: Checker, end: int) -> None:
        self.checker, self.end = checker, end
        self.ended = False
        self.halted: tuple[int, int, int] | None = None
        self._state: dict[str, int] | None = None

    def observe(self, ctx: Any, core: Core) -> bool:
        """One cycle; whether the program is over and everything written."""
        checker, seen = self.checker, ctx.get(core.observed)
        if self._state is not None:
            self._compare_state(ctx, core)
        if seen.retired or seen.trapped:
            checker.instruction(seen.pc, seen.word, bool(seen.trapped))
            self._state = self._expected_state()
            self.ended |= bool(seen.retired) and seen.pc == self.end
        for port, letter in (("x", "x"), ("late_x", "x"), ("late_f", "f")):
            if seen[f"{port}_write"]:
                register = f"{letter}{seen[f'{port}_register']}"
                checker.written(register, seen[f"{port}_value"])
        halt = ctx.get(core.halt)
        if halt.halted:
            self.halted = (halt.cause, halt.pc, halt.value)
            checker.halted(*self.halted)
            return True
        return self.ended and checker.settled

    def _expected_state(self) -> dict[str, int]:
        csrs = self.checker.hart.csrs
        return {name: csrs.read(name) for name in (*_CSRS, "mstatus", "fflags")} | {
            "minstret": csrs.read("minstreth") << 32 | csrs.read("minstret")
        }

    def _compare_state(self, ctx: Any, core: Core) -> None:
        """CSRs after the last instruction; all flags only when no result is on its way."""
        wanted, self._state = self._state, None
        assert wanted is not None
        flags, found = wanted.pop("fflags"), ctx.get(core.stored["fflags"])
        if found & ~flags or (self.checker.floats_settled and found != flags):
            self.checker.fail(f"fflags is {found:#x}; expected {flags:#x}")
        values = {name: ctx.get(core.stored[name]) for name in (*_CSRS, "minstret")}
        values["mstatus"] = ctx.get(core.status())
        for name, value in wanted.items():
            if values[name] != value:
                self.checker.fail(f"{name} is {values[name]:#x}; expected {value:#x}")


def run_lockstep(
    program: ScalarProgram,
    *,
    seed: int = 0,
    pause: float = 0.0,
    config: ScalarConfig | None = None,
    limit: int = 200_000,
) -> LockstepResult:
    """Run a program on both.

    Parameters
    ----------
    program : ScalarProgram
        What they run; mcycle must not be read.
    seed, pause
        See `CoreBench`.
    config : ScalarConfig or None
        Of the core.
    limit : int
        Cycles at most.

    Raises
    ------
    DifferenceError
        At the first difference, or if the program does not end.
    """
    config = config or ScalarConfig()
    golden, memory = load(program), load(program)
    checker = Checker(Hart(golden, number=config.hart))
    observer = _Observer(checker, program.end)
    bench = CoreBench(
        memories=GoldenMemories(memory),
        boot=RESET_ADDRESS,
        seed=seed,
        pause=pause,
        config=config,
    )
    if not bench.run(observer.observe, limit=limit):
        raise DifferenceError(f"the program does not end within {limit} cycles")
    for name in (RegionName.L1, RegionName.INSTRUCTIONS):
        if (golden.part(name).data != memory.part(name).data).any():
            raise DifferenceError(f"memory {name.value} differs in the end")
    return LockstepResult(
        instructions=checker.instructions,
        traps=checker.traps,
        cycles=bench.cycles,
        stalls=dict(bench.stalls),
        registers=checker.registers,
        memory=memory,
        halted=observer.halted,
    )
