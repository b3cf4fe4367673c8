"""The cluster: harts, memory and devices, running a program to its end."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, STACK_BYTES, RegionName
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.riscv.devices import Barrier, Dma, Host
from fanweave.golden.riscv.hart import Hart
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.program import Program, load_program
from fanweave.golden.riscv.trap import EndError, TrapError, WaitError

__all__ = ["Cluster", "Ending", "Result", "Trap", "is_stack_overflow"]

DEFAULT_LIMIT = 100_000_000
#: Instructions that a hart runs before the next one has its turn.
_TURN = 1000


class Ending(enum.Enum):
    """How a run ended."""

    PASS = "pass"
    FAIL = "fail"
    TRAP = "trap"
    LIMIT = "limit"


@dataclass(frozen=True)
class Trap:
    """A trap that ended a run.

    Attributes
    ----------
    cause : int
        ``mcause``.
    pc : int
        Where.
    value : int
        ``mtval``.
    """

    cause: int
    pc: int
    value: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a run.

    Attributes
    ----------
    ending : Ending
        How it ended.
    code : int
        Exit code: 0 for a pass.
    output : bytes
        What the program printed.
    instructions : tuple of int
        Instructions retired, by hart.
    hart : int
        The hart that ended the run, or was running when the limit was reached.
    pcs : tuple of int
        Where each hart is.
    trap : Trap or None
        The trap that ended it.
    measures : mapping of str to str
        What an engine measured besides, in words; not compared.
    """

    ending: Ending
    code: int
    output: bytes
    instructions: tuple[int, ...]
    hart: int
    pcs: tuple[int, ...]
    trap: Trap | None = None
    measures: Mapping[str, str] = field(default_factory=dict, compare=False)


class Cluster:
    """One or more harts on one memory.

    Parameters
    ----------
    program : Program
        What they run.
    harts : int
        How many, from 1 to 8.
    config : CoreConfig or None
        Each of them.

    Attributes
    ----------
    memory : Memory
        Its contents, also after a run.
    harts : list of Hart
        Their states.
    """

    def __init__(
        self, program: Program, *, harts: int = 1, config: CoreConfig | None = None
    ) -> None:
        if not 1 <= harts <= 8:
            raise InputError(f"harts is {harts}; expected 1 to 8")
        self.host, self.barrier = Host(harts), Barrier(harts)
        self.memory = Memory((self.host, self.barrier))
        self.memory.add_devices((Dma(self.memory),))
        load_program(program, self.memory)
        self.harts = [Hart(self.memory, number=number, config=config) for number in range(harts)]
        for hart in self.harts:
            hart.pc = program.entry

    def run(self, limit: int = DEFAULT_LIMIT) -> Result:
        """Run until the program ends, or one hart has tried `limit` instructions."""
        spent = 0
        while spent < limit:
            turn = min(_TURN if len(self.harts) > 1 else limit, limit - spent)
            for hart in self.harts:
                self.barrier.hart = hart.number
                try:
                    hart.run(turn)
                except WaitError:
                    continue
                except EndError as end:
                    return self._ended(hart, end)
                if hart.unhandled is not None:
                    return self._unhandled(hart, hart.unhandled)
            spent += turn
        return self._result(Ending.LIMIT, 1, 0)

    def _result(self, ending: Ending, code: int, hart: int, trap: Trap | None = None) -> Result:
        return Result(
            ending=ending,
            code=code,
            output=bytes(self.host.output),
            instructions=tuple(each.retired for each in self.harts),
            hart=hart,
            pcs=tuple(each.pc for each in self.harts),
            trap=trap,
        )

    def _ended(self, hart: Hart, end: EndError) -> Result:
        if end.by_trap:
            values = self.host.values
            trap = Trap(values["trap_cause"], values["trap_pc"], values["trap_value"])
            return self._result(Ending.TRAP, 1, hart.number, trap)
        ending = Ending.FAIL if end.code else Ending.PASS
        return self._result(ending, end.code, hart.number)

    def _unhandled(self, hart: Hart, trap: TrapError) -> Result:
        found = Trap(int(trap.cause), hart.pc, trap.value or 0)
        return self._result(Ending.TRAP, 1, hart.number, found)


def is_stack_overflow(trap: Trap) -> bool:
    """Whether a trap is an access just below the stacks."""
    bottom = next(r.base for r in REGIONS if r.name is RegionName.L1)
    faults = (Cause.LOAD_FAULT, Cause.STORE_FAULT)
    return trap.cause in faults and bottom - 64 * STACK_BYTES <= trap.value < bottom
