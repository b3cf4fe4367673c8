"""What one event is while it is handled, and what became of it."""

from dataclasses import dataclass, field

from fanweave.golden.ebpf.helpers import Engine
from fanweave.golden.ebpf.memory import Memory
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import FRAME_POINTER, REGISTERS
from fanweave.golden.isa.ebpf_machine import FRAME_BYTES, FaultCause, Region

__all__ = ["Event", "Frame", "Outcome", "frame_pointer"]


def frame_pointer(frame: int) -> int:
    """r10 in a frame; the outermost one is 0."""
    return Region.STACK + (frame + 1) * FRAME_BYTES


@dataclass(frozen=True)
class Frame:
    """What a local call keeps: where to go on, r6 to r9, and the program, which may change.

    A function may make a tail call; the program that it goes on in returns to the caller.
    """

    slot: int
    saved: tuple[int, ...]
    program: Program


@dataclass
class Event:
    """Registers, calls and counts of an event.

    Attributes
    ----------
    program : Program
        The one that runs now; a tail call changes it.
    memory : Memory
        What it can reach.
    engine : Engine
        Where it runs.
    registers : list of int
        r0 to r10; unsigned, 64 bits.
    slot : int
        Next instruction.
    frames : list of Frame
        Local calls that have not returned.
    executed, tail_calls : int
        So far.
    """

    program: Program
    memory: Memory
    engine: Engine
    registers: list[int] = field(default_factory=lambda: [0] * REGISTERS)
    slot: int = 0
    frames: list[Frame] = field(default_factory=list)
    executed: int = 0
    tail_calls: int = 0

    def __post_init__(self) -> None:
        self.registers[1] = int(Region.CONTEXT)
        self.registers[2] = len(self.memory.context)
        self.registers[FRAME_POINTER] = frame_pointer(0)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an event.

    Attributes
    ----------
    r0 : int
        Result; unsigned, 64 bits. Without a meaning after a fault.
    fault : FaultCause
        Why it ended early, or `FaultCause.NONE`.
    slot : int
        Where it ended.
    instructions : int
        Executed, the last one included.
    registers : tuple of int
        r0 to r10 in the end.
    """

    r0: int
    fault: FaultCause
    slot: int
    instructions: int
    registers: tuple[int, ...]
