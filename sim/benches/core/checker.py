"""Steps golden's core for each instruction of another, and compares."""

from collections import Counter, defaultdict, deque

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_encoding import Access, MemoryShape
from fanweave.golden.riscv.disassembler import disassemble
from fanweave.golden.riscv.hart import Hart

__all__ = ["Checker", "DifferenceError"]


class DifferenceError(FaultError):
    """The core did something else than golden's."""


class Checker:
    """Results may come later than their instruction, but for each register in order.

    Parameters
    ----------
    hart : Hart
        Golden's core, before the program.
    watch : tuple of int
        First address and bytes of memory in which words of whole vector registers are compared as
        they are stored.

    Attributes
    ----------
    instructions, traps : int
        How many.
    registers : dict of str to int
        What the core wrote last, such as ``x5`` and ``f1``.
    completed : Counter of str
        How many instructions of a mnemonic did not trap.
    """

    def __init__(self, hart: Hart, *, watch: tuple[int, int] = (0, 0)) -> None:
        self.hart = hart
        self.watch = watch
        self.completed: Counter[str] = Counter()
        self.instructions = self.traps = 0
        self.registers: dict[str, int] = {}
        #: Values that registers, and words of memory that is watched, are still to get, in order.
        self._expected: dict[str, deque[int]] = defaultdict(deque)
        self._last = ""

    @property
    def settled(self) -> bool:
        """Whether every result has come."""
        return not any(self._expected.values())

    @property
    def floats_settled(self) -> bool:
        """Whether every floating-point result has come, and so every exception flag."""
        return not any(value for key, value in self._expected.items() if key[0] == "f")

    def fail(self, text: str) -> None:
        """Report a difference at the last instruction.

        Raises
        ------
        DifferenceError
            Always.
        """
        raise DifferenceError(f"{text}, at or before {self._last}")

    def instruction(self, pc: int, word: int, trapped: bool) -> None:
        """An instruction completes or traps."""
        hart = self.hart
        self._last = f"{pc:#x}: {disassemble(word)}"
        if hart.pc != pc:
            self.fail(f"pc is {pc:#x}; expected {hart.pc:#x}")
        retired = hart.retired
        hart.step()
        if (hart.retired == retired) != trapped:
            self.fail(f"trapped is {trapped}; expected {not trapped}")
        self.instructions += 1
        self.traps += trapped
        if not trapped:
            self._expect(word)

    def _expect(self, word: int) -> None:
        """Note what the registers of an instruction become."""
        hart, kind = self.hart, kind_of(word)
        if kind is None:
            self.fail(f"{word:#x} is no instruction")
            return
        self.completed[kind.name] += 1
        fields = kind.decode(word)
        if kind.memory is not None and kind.memory.store:
            self._expect_store(hart.x[fields["rs1"]], kind.memory)
        if fields.get("rd"):
            self._expected[f"x{fields['rd']}"].append(hart.x[fields["rd"]])
        if "fd" in fields:
            self._expected[f"f{fields['fd']}"].append(hart.f[fields["fd"]])
        if kind.name.endswith(".rrpost") and fields["rs1"]:
            self._expected[f"x{fields['rs1']}"].append(hart.x[fields["rs1"]])

    def _expect_store(self, address: int, shape: MemoryShape) -> None:
        """Note what a store of whole registers stores, if somebody watches there."""
        base, size = self.watch
        if shape.access is not Access.WHOLE or not base <= address < base + size:
            return
        span = self.hart.memory.span(address, shape.fields * self.hart.config.register_bytes)
        assert span is not None
        for place, value in enumerate(span.view(np.uint32).tolist()):
            self._expected[_stored_at(address + 4 * place)].append(value)

    def stored(self, address: int, value: int) -> None:
        """A word of memory that is watched is stored."""
        self.written(_stored_at(address), value)

    def written(self, register: str, value: int) -> None:
        """A register gets a value."""
        waiting = self._expected[register]
        if not waiting:
            self.fail(f"{register} is written with {value:#x}; expected is nothing")
        self.registers[register] = value
        wanted = waiting.popleft()
        if value != wanted:
            self.fail(f"{register} becomes {value:#x}; expected {wanted:#x}")

    def halted(self, cause: int, pc: int, value: int) -> None:
        """The core stands still: so must golden's, for the same reason."""
        trap = self.hart.unhandled
        wanted = None if trap is None else (int(trap.cause), self.hart.pc, trap.value)
        if (cause, pc, value) != wanted:
            self.fail(f"the core halts with {(cause, pc, value)}; expected {wanted}")


def _stored_at(address: int) -> str:
    return f"[{address:#x}]"
