"""How a run ended, in words."""

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.riscv.cluster import Ending, Result, is_stack_overflow
from fanweave.golden.riscv.disassembler import disassemble
from fanweave.golden.riscv.program import Program

__all__ = ["ending_text"]

_CAUSES = {
    Cause.FETCH_MISALIGNED: "misaligned instruction address",
    Cause.FETCH_FAULT: "no instruction can be fetched",
    Cause.ILLEGAL_INSTRUCTION: "illegal instruction",
    Cause.BREAKPOINT: "breakpoint",
    Cause.LOAD_MISALIGNED: "misaligned load",
    Cause.LOAD_FAULT: "load from nowhere",
    Cause.STORE_MISALIGNED: "misaligned store",
    Cause.STORE_FAULT: "store to nowhere",
    Cause.ECALL: "environment call",
}


def ending_text(program: Program, result: Result, limit: int) -> str:
    """One or two sentences on how a run ended.

    Parameters
    ----------
    program : Program
        For names of functions and instructions.
    result : Result
        What became of the run.
    limit : int
        Its limit.
    """
    match result.ending:
        case Ending.PASS:
            return f"passed after {result.instructions[result.hart]} instructions"
        case Ending.FAIL:
            return f"failed with code {result.code}"
        case Ending.TRAP:
            return _trap_text(program, result)
        case _:
            return f"not at its end after {limit} instructions: {_places(program, result)}"


def _places(program: Program, result: Result) -> str:
    """Where each hart is."""
    return "; ".join(
        f"hart {number} at {_instruction(program, pc)}" for number, pc in enumerate(result.pcs)
    )


def _instruction(program: Program, pc: int) -> str:
    word = program.word(pc)
    text = "" if word is None else f": {disassemble(word, pc)}"
    return f"{pc:#010x} ({program.place(pc)}){text}"


def _trap_text(program: Program, result: Result) -> str:
    trap = result.trap
    assert trap is not None
    known = trap.cause in tuple(Cause)
    cause = _CAUSES[Cause(trap.cause)] if known else f"trap {trap.cause}"
    if is_stack_overflow(trap):
        cause = f"stack overflow, {cause}"
    if trap.cause == Cause.ILLEGAL_INSTRUCTION:
        where = f"{trap.pc:#010x} ({program.place(trap.pc)}): {disassemble(trap.value, trap.pc)}"
        return f"hart {result.hart}: {cause} at {where} ({trap.value:#010x})"
    address = f", address {trap.value:#010x}" if trap.value else ""
    return f"hart {result.hart}: {cause} at {_instruction(program, trap.pc)}{address}"
