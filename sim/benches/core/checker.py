"""Steps golden's core for each instruction of another, and compares."""

from collections import defaultdict, deque

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.riscv import kind_of
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

    Attributes
    ----------
    instructions, traps : int
        How many.
    registers : dict of str to int
        What the core wrote last, such as ``x5`` and ``f1``.
    """

    def __init__(self, hart: Hart) -> None:
        self.hart = hart
        self.instructions = self.traps = 0
        self.registers: dict[str, int] = {}
        #: Values that registers are still to get, in order.
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
        fields = kind.decode(word)
        if fields.get("rd"):
            self._expected[f"x{fields['rd']}"].append(hart.x[fields["rd"]])
        if "fd" in fields:
            self._expected[f"f{fields['fd']}"].append(hart.f[fields["fd"]])
        if kind.name.endswith(".rrpost") and fields["rs1"]:
            self._expected[f"x{fields['rs1']}"].append(hart.x[fields["rs1"]])

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
