"""A core: its state, and how it runs."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.isa.cluster import REGIONS, RESET_ADDRESS, RegionName
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.isa.riscv_encoding import Extension
from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.riscv.csr import CsrFile
from fanweave.golden.riscv.expressions import Closure
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.scalar import ENDINGS, SCALAR
from fanweave.golden.riscv.scalar_float import SCALAR_FLOAT
from fanweave.golden.riscv.trap import EndError, TrapError, WaitError, illegal
from fanweave.golden.riscv.vector import vector_closure
from fanweave.golden.riscv.vector_state import VectorState

__all__ = ["Hart"]

#: Instructions of a block at most.
_BLOCK = 64


@dataclass(frozen=True, eq=False)
class _Block:
    """Instructions that run one after the other.

    Attributes
    ----------
    body : tuple of closures
        All but the last.
    last : closure
        Gives the address of the next block.
    length : int
        Instructions; a last closure that only leads on is none.
    """

    body: tuple[Closure, ...]
    last: Closure
    length: int


class Hart:
    """One core, instruction by instruction.

    Parameters
    ----------
    memory : Memory
        What it loads and stores.
    number : int
        ``mhartid``.
    config : CoreConfig
        Its parameters.

    Attributes
    ----------
    pc : int
        Address of the next instruction.
    x, f : list of int
        Registers, unsigned; x[32] takes what is written to x0.
    retired : int
        Instructions that have completed.
    bank : ndarray, uint32
        Ventaglio's accumulators.
    unhandled : TrapError or None
        A trap that had no handler to go to; the hart stands still at its instruction.
    """

    def __init__(
        self, memory: Memory, *, number: int = 0, config: CoreConfig | None = None
    ) -> None:
        self.memory = memory
        self.number = number
        self.config = config or CoreConfig()
        self.pc = RESET_ADDRESS
        self.x = [0] * 33
        self.f = [0] * 32
        self.fflags = self.frm = 0
        self.retired = 0
        self.reservation: tuple[int, int] | None = None
        self.unhandled: TrapError | None = None
        self.vector = VectorState(self.config)
        self.bank = np.zeros(self.config.accumulators, np.uint32)
        self.csrs = CsrFile(self)
        l1 = memory.part(RegionName.L1)
        self.fast_base, self.fast_end = l1.region.base, l1.region.end
        if memory.tohost is not None and l1.region.base <= memory.tohost < l1.region.end:
            self.fast_end = self.fast_base  # every store must be looked at
        self.fast = l1.views
        self._blocks: dict[int, _Block] = {}

    def reserve(self, address: int | None) -> None:
        """Take or drop the reservation of a load-reserved."""
        self.reservation = None if address is None else (address, self.memory.load(address, 4))

    def forget_code(self) -> None:
        """Translate instructions anew, as after ``fence.i``."""
        self._blocks.clear()

    def run(self, instructions: int) -> None:
        """Run until so many instructions have been tried, or the hart cannot go on.

        Instructions that trap count, though they do not retire.

        Raises
        ------
        EndError
            If the program ends the run.
        WaitError
            If it waits for another hart.
        """
        left = instructions
        while left > 0 and self.unhandled is None:
            block = self._blocks.get(self.pc)
            if block is None or block.length > left:
                block = self._translated(self.pc, min(left, _BLOCK))
            left -= self._run_block(block)

    def step(self) -> None:
        """Run one instruction."""
        self.run(1)

    def _run_block(self, block: _Block) -> int:
        """Run a block; returns the instructions that were tried."""
        current = block.last
        try:
            for current in block.body:
                current()
            current = block.last
            self.pc = current()
        except (TrapError, EndError, WaitError) as reason:
            before = len(block.body) if current is block.last else block.body.index(current)
            self.pc += 4 * before
            self.retired += before
            if isinstance(reason, TrapError):
                self._trap(reason)
                return before + 1
            if isinstance(reason, EndError):
                self.retired += 1
            raise
        self.retired += block.length
        return block.length

    def _trap(self, trap: TrapError) -> None:
        """Go to the trap handler, or stand still if there is none."""
        values = self.csrs.values
        value = trap.value
        if value is None:
            value = self.memory.fetch(self.pc)
        handler = values["mtvec"]
        if not any(r.fetch and r.base <= handler < r.end for r in REGIONS):
            self.unhandled = TrapError(trap.cause, value)
            return
        mstatus = values["mstatus"]
        values["mstatus"] = mstatus & ~0x88 | (mstatus >> 3 & 1) << 7
        values["mepc"], values["mcause"], values["mtval"] = self.pc, int(trap.cause), value
        self.reservation = None
        self.pc = handler

    def _translated(self, pc: int, limit: int) -> _Block:
        """The block at an address; kept if the limit did not cut it short."""
        body: list[Closure] = []
        at = pc
        while len(body) < limit:
            closure, ends = self._instruction(at)
            if ends and (not body or self._jumps(at)):
                block = _Block(tuple(body), closure, len(body) + 1)
                break
            if ends:  # it must see exact counters, so it stands alone
                block = _Block(tuple(body), _leading_to(at), len(body))
                break
            body.append(closure)
            at += 4
        else:
            block = _Block(tuple(body), _leading_to(at), len(body))
            if limit < _BLOCK:
                return block
        self._blocks[pc] = block
        return block

    def _jumps(self, address: int) -> bool:
        """Whether an instruction is a jump or a branch."""
        try:
            return self.memory.fetch(address) & 0x7F in (0x63, 0x67, 0x6F)
        except TrapError:
            return False

    def _instruction(self, pc: int) -> tuple[Closure, bool]:
        """An instruction's closure, and whether it ends a block."""
        try:
            word = self.memory.fetch(pc)
        except TrapError as trap:
            return _trapping(trap.cause, trap.value), True
        kind = kind_of(word)
        if kind is None or (kind.extension is Extension.ZVE64X and self.config.elen < 64):
            return _trapping(Cause.ILLEGAL_INSTRUCTION, word), True
        fields = kind.decode(word)
        if kind.name in ENDINGS:
            return ENDINGS[kind.name](self, fields, pc), True
        maker = SCALAR.get(kind.name) or SCALAR_FLOAT.get(kind.name)
        if maker is not None:
            return maker(self, fields, pc), False
        return vector_closure(self, kind, fields), False


def _leading_to(pc: int) -> Closure:
    return lambda: pc


def _trapping(cause: Cause, value: int | None) -> Closure:
    def run() -> int:
        raise TrapError(cause, value) if cause is not Cause.ILLEGAL_INSTRUCTION else illegal()

    return run
