"""Holds the core against golden's, instruction by instruction, in Amaranth's simulator."""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

from fanweave.golden.isa.cluster import RESET_ADDRESS, RegionName
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.riscv.disassembler import disassemble
from fanweave.golden.riscv.hart import Hart
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.trap import TrapError
from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.core import Core
from fanweave.hw.core.testing import CoreBench, Memories
from fanweave.sim.benches.core.programs import DATA_BASE, ScalarProgram

__all__ = ["DifferenceError", "GoldenMemories", "LockstepResult", "load", "run_lockstep"]

_CSRS = ("mie", "mscratch", "mcause", "mtval", "mtvec", "mepc", "frm")


class DifferenceError(AssertionError):
    """The core did something else than golden's."""


class _Words:
    """A few registers of words, as a peripheral."""

    def __init__(self, base: int, count: int) -> None:
        self._base, self.words = base, [0] * count

    def read(self, address: int) -> int | None:
        place = address - self._base >> 2
        return self.words[place] if 0 <= place < len(self.words) else None

    def write(self, address: int, value: int) -> bool:
        place = address - self._base >> 2
        if not 0 <= place < len(self.words):
            return False
        self.words[place] = value
        return True


def load(program: ScalarProgram) -> Memory:
    """A memory with a program in it, and four registers of a peripheral."""
    memory = Memory((_Words(0x20000008, 4),))
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


class _Checker:
    """Steps golden's core for each instruction of the other, and compares."""

    def __init__(self, hart: Hart, end: int) -> None:
        self.hart, self.end = hart, end
        self.instructions = self.traps = 0
        self.ended = False
        self.halted: tuple[int, int, int] | None = None
        self.registers: dict[str, int] = {}
        #: Values that registers are still to get, in order.
        self._expected: dict[str, deque[int]] = defaultdict(deque)
        self._state: dict[str, int] | None = None
        self._last = ""

    def observe(self, ctx: Any, core: Core) -> bool:
        """One cycle; whether the program is over and everything written."""
        trace = ctx.get(core.trace)
        if self._state is not None:
            self._compare_state(ctx, core)
        if trace.retired or trace.trapped:
            self._step(trace)
        for port, letter in (("x", "x"), ("late_x", "x"), ("late_f", "f")):
            if getattr(trace, f"{port}_write"):
                register = f"{letter}{getattr(trace, f'{port}_register')}"
                self._written(register, getattr(trace, f"{port}_value"))
        halt = ctx.get(core.halt)
        if halt.halted:
            self._halt(halt)
            return True
        return self.ended and not any(self._expected.values())

    def _halt(self, halt: Any) -> None:
        """The core stands still: so must golden's, for the same reason."""
        self.halted = (halt.cause, halt.pc, halt.value)
        trap = self.hart.unhandled
        wanted = None if trap is None else (int(trap.cause), self.hart.pc, trap.value)
        if self.halted != wanted:
            self._fail(f"the core halts with {self.halted}; expected {wanted}")

    def _fail(self, text: str) -> None:
        raise DifferenceError(f"{text}, at or before {self._last}")

    def _step(self, trace: Any) -> None:
        hart = self.hart
        self._last = f"{trace.pc:#x}: {disassemble(trace.word)}"
        if hart.pc != trace.pc:
            self._fail(f"pc is {trace.pc:#x}; expected {hart.pc:#x}")
        retired, pc = hart.retired, hart.pc
        hart.step()
        trapped = hart.retired == retired
        if trapped != bool(trace.trapped):
            self._fail(f"trapped is {trace.trapped}; expected {trapped}")
        self.instructions += 1
        self.traps += trapped
        self._state = self._expected_state()
        if trapped:
            return
        self.ended |= pc == self.end
        kind = kind_of(trace.word)
        if kind is None:
            self._fail(f"{trace.word:#x} is no instruction")
            return
        fields = kind.decode(trace.word)
        if fields.get("rd"):
            self._expected[f"x{fields['rd']}"].append(hart.x[fields["rd"]])
        if "fd" in fields:
            self._expected[f"f{fields['fd']}"].append(hart.f[fields["fd"]])
        if kind.name.endswith(".rrpost") and fields["rs1"]:
            self._expected[f"x{fields['rs1']}"].append(hart.x[fields["rs1"]])

    def _written(self, register: str, value: int) -> None:
        waiting = self._expected[register]
        if not waiting:
            self._fail(f"{register} is written with {value:#x}; expected is nothing")
        self.registers[register] = value
        wanted = waiting.popleft()
        if value != wanted:
            self._fail(f"{register} becomes {value:#x}; expected {wanted:#x}")

    def _expected_state(self) -> dict[str, int]:
        csrs = self.hart.csrs
        return {name: csrs.read(name) for name in (*_CSRS, "mstatus", "fflags")} | {
            "minstret": csrs.read("minstreth") << 32 | csrs.read("minstret")
        }

    def _compare_state(self, ctx: Any, core: Core) -> None:
        """CSRs after the last instruction; flags only when no result is on its way."""
        wanted, self._state = self._state, None
        assert wanted is not None
        # Where only some results are missing, flags that are there must be expected ones.
        flags = wanted.pop("fflags")
        found = ctx.get(core.stored["fflags"])
        floats = any(key[0] == "f" and value for key, value in self._expected.items())
        if found & ~flags or (not floats and found != flags):
            self._fail(f"fflags is {found:#x}; expected {flags:#x}")
        values = {name: ctx.get(core.stored[name]) for name in (*_CSRS, "minstret")}
        values["mstatus"] = ctx.get(core.status())
        for name, value in wanted.items():
            if values[name] != value:
                self._fail(f"{name} is {values[name]:#x}; expected {value:#x}")


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
    checker = _Checker(Hart(golden, number=config.hart), program.end)
    bench = CoreBench(
        memories=GoldenMemories(memory),
        boot=RESET_ADDRESS,
        seed=seed,
        pause=pause,
        config=config,
    )
    if not bench.run(checker.observe, limit=limit):
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
        halted=checker.halted,
    )
