"""What ends or interrupts the straight way through a program."""

from fanweave.golden.isa.riscv_csr import Cause

__all__ = ["EndError", "TrapError", "WaitError", "illegal"]


class TrapError(Exception):
    """An exception of the architecture.

    Attributes
    ----------
    cause : Cause
        Its code.
    value : int or None
        What goes to ``mtval``; None stands for the instruction itself.
    """

    def __init__(self, cause: Cause, value: int | None = 0) -> None:
        super().__init__(cause, value)
        self.cause = cause
        self.value = value


class WaitError(Exception):
    """The instruction cannot complete yet and is tried again."""


class EndError(Exception):
    """The program ended the run.

    Attributes
    ----------
    code : int
        0 for a pass.
    by_trap : bool
        Whether its trap handler did.
    """

    def __init__(self, code: int, by_trap: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.by_trap = by_trap


def illegal() -> TrapError:
    """Illegal instruction."""
    return TrapError(Cause.ILLEGAL_INSTRUCTION, None)
