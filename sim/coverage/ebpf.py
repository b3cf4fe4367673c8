"""Coverage points of the policy engine: instructions that were executed, and how events ended."""

from collections import Counter
from collections.abc import Iterable

from fanweave.golden.ebpf.event import Event
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, InstructionKind, Operand, kind_of
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.coverage.cross import Cell, Cross, Hits

__all__ = ["CROSSES", "hits_of"]

_GOES_ON = "executed"
_MEMORY = {Operand.LOAD, Operand.STORE}


def _name(kind: InstructionKind) -> str:
    return " ".join([kind.name, *(operand.value for operand in kind.operands)])


def _causes(kind: InstructionKind) -> set[FaultCause]:
    """What an instruction by itself can end an event with."""
    causes = {FaultCause.WATCHDOG}
    if _MEMORY & set(kind.operands):
        causes |= {FaultCause.OUT_OF_BOUNDS}
        if "atomic" in kind.group.value:
            causes |= {FaultCause.MISALIGNED_ATOMIC}
    return causes


_KINDS = {_name(kind): kind for kind in INSTRUCTIONS}
_CAUSES = (FaultCause.WATCHDOG, FaultCause.OUT_OF_BOUNDS, FaultCause.MISALIGNED_ATOMIC)

CROSSES = (
    Cross(
        name="instructions",
        axes={
            "instruction": tuple(_KINDS),
            "end": (_GOES_ON, *(cause.name for cause in _CAUSES)),
        },
        possible=lambda cell: (
            cell[1] == _GOES_ON or FaultCause[cell[1]] in _causes(_KINDS[cell[0]])
        ),
    ),
    Cross(name="events", axes={"end": tuple(cause.name for cause in FaultCause)}),
)


def hits_of(batches: Iterable[tuple[Program, Iterable[bytes]]], *, budget: int) -> Hits:
    """What events have met, as the golden machine goes through them.

    Parameters
    ----------
    batches
        Programs, with the contexts of their events.
    budget
        Instructions of an event.
    """
    executed: Counter[Cell] = Counter()
    events: Counter[Cell] = Counter()
    for program, contexts in batches:
        for context in contexts:
            path: list[Instruction] = []

            def trace(
                event: Event, instruction: Instruction, path: list[Instruction] = path
            ) -> None:
                path.append(instruction)

            outcome = Machine(budget=budget).run(program, context, trace=trace)
            ends = [_GOES_ON] * len(path)
            if outcome.fault is not FaultCause.NONE and path:
                ends[-1] = outcome.fault.name
            events[outcome.fault.name,] += 1
            for instruction, end in zip(path, ends, strict=True):
                kind = kind_of(instruction)
                if kind is not None:
                    executed[_name(kind), end] += 1
    return {"instructions": executed, "events": events}
