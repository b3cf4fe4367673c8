"""Translates a program to a Python function: the fast way to run it.

Each basic block becomes straight Python on local variables. What is rare (a tail call, an illegal
instruction, the end of the budget) is left to the interpreter: the function writes the event back
and stops there. Where a block faults, the event is what the interpreter would have left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.ebpf.arithmetic import MASK64, alu, byte_order, signed
from fanweave.golden.ebpf.event import Event, Frame, frame_pointer
from fanweave.golden.ebpf.expressions import condition, value_of
from fanweave.golden.ebpf.helpers import call_helper
from fanweave.golden.ebpf.interpreter import atomic
from fanweave.golden.ebpf.memory import MachineFaultError
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import (
    REGISTERS,
    AluOperation,
    AtomicOperation,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FaultCause

__all__ = ["Translation", "translate"]

_C = InstructionClass
_TAIL_CALL = next(number for number, helper in HELPERS.items() if helper.name == "tail_call")
_NAMES = [f"r{number}" for number in range(REGISTERS)]
_ALL = ", ".join(_NAMES)


@dataclass(frozen=True)
class Translation:
    """A translated program.

    Attributes
    ----------
    starts : frozenset of int
        Slots at which it can begin.
    source : str
        Its Python.
    """

    starts: frozenset[int]
    source: str
    _run: Any = field(repr=False)

    def __call__(self, event: Event, budget: int) -> bool:
        """Run an event from its slot; returns whether it has ended.

        If not, the interpreter must go on at the event's slot.

        Raises
        ------
        MachineFaultError
            If the event ends early.
        """
        if event.slot not in self.starts:
            return False
        ended: bool = self._run(event, budget)
        return ended


def translate(program: Program) -> Translation:
    """Translate a program, whatever is in it."""
    writer = _Writer(program)
    source = writer.function()
    scope: dict[str, Any] = {
        "MachineFaultError": MachineFaultError,
        "FaultCause": FaultCause,
        "Frame": Frame,
        "frame_pointer": frame_pointer,
        "call_helper": call_helper,
        "alu": alu,
        "atomic": atomic,
        "Size": Size,
        "signed": signed,
        "byte_order": byte_order,
        "AluOperation": AluOperation,
        "LEFT": writer.left,
        "PROGRAM": program,
    }
    exec(compile(source, f"<{program.name}>", "exec"), scope)
    return Translation(frozenset(writer.starts), source, scope["run"])


class _Writer:
    def __init__(self, program: Program) -> None:
        self.slots = program.slots
        self.starts = sorted(self._find_starts())
        #: By slot: instructions of its block behind it.
        self.left: dict[int, int] = {}

    def _find_starts(self) -> set[int]:
        starts = {0}
        for slot, instruction in enumerate(self.slots):
            if instruction is None or instruction.instruction_class not in (_C.JMP, _C.JMP32):
                continue
            operation = instruction.opcode >> 4
            if operation == JumpOperation.CALL and instruction.src == CallKind.HELPER:
                if instruction.imm == _TAIL_CALL:
                    starts |= {slot, slot + 1}
                continue
            starts.add(slot + 1)
            if operation != JumpOperation.EXIT:
                starts.add(slot + 1 + self._distance(instruction))
        kept = {s for s in starts if 0 <= s < len(self.slots) and self.slots[s] is not None}
        return kept if self.slots else set()

    @staticmethod
    def _distance(instruction: Instruction) -> int:
        operation = instruction.opcode >> 4
        by_imm = operation == JumpOperation.CALL or (
            operation == JumpOperation.JA and instruction.instruction_class is _C.JMP32
        )
        return instruction.imm if by_imm else instruction.offset

    def function(self) -> str:
        """The whole function."""
        lines = [
            "def run(event, budget):",
            f"    {_ALL} = event.registers",
            "    memory, engine, frames = event.memory, event.engine, event.frames",
            "    load, store = memory.load, memory.store",
            "    n, b, p = event.executed, event.slot, -1",
            "    try:",
            "        while True:",
            *self._dispatch(self.starts, 3),
            "    except MachineFaultError:",
            "        n -= LEFT[p]",
            "        b = p",
            "        raise",
            "    finally:",
            f"        event.registers[:] = ({_ALL})",
            "        event.executed, event.slot = n, b",
        ]
        return "\n".join(lines) + "\n"

    def _dispatch(self, starts: list[int], depth: int) -> Iterator[str]:
        """Find the block `b` by halving."""
        pad = "    " * depth
        if not starts:
            yield f"{pad}return False"
        elif len(starts) == 1:
            yield f"{pad}if b != {starts[0]}: return False"
            for line in self._block(starts[0]):
                yield pad + line
        else:
            middle = len(starts) // 2
            yield f"{pad}if b < {starts[middle]}:"
            yield from self._dispatch(starts[:middle], depth + 1)
            yield f"{pad}else:"
            yield from self._dispatch(starts[middle:], depth + 1)

    def _block(self, start: int) -> list[str]:
        """Instructions from a start to the next one, or to where the interpreter must take over."""
        body: list[str] = []
        count = 0
        slot = start
        members: list[int] = []
        ended = False
        while slot < len(self.slots) and (slot == start or slot not in self.starts):
            instruction = self.slots[slot]
            lines = None if instruction is None else self._instruction(slot, instruction)
            if lines is None:
                body += [f"b = {slot}", "return False"]
                ended = True
                break
            body += lines
            members.append(slot)
            count += 1
            assert instruction is not None
            ended = bool(lines) and lines[-1] in ("continue", "return True")
            slot += instruction.slots
            if ended:
                break
        if not ended:
            # A slot behind the end is not a start; the interpreter says what that means.
            body += [f"b = {slot}", "continue" if slot in self.starts else "return False"]
        for index, member in enumerate(members):
            self.left[member] = count - index - 1
        return [f"if n + {count} > budget: return False", f"n += {count}", *body]

    def _instruction(self, slot: int, instruction: Instruction) -> list[str] | None:
        """Lines for an instruction; None if the interpreter must execute it."""
        if fault_of(instruction) is not None:
            return None
        kind = instruction.instruction_class
        if kind in (_C.JMP, _C.JMP32):
            return self._jump(slot, instruction)
        if kind in (_C.ST, _C.STX):
            return self._store(slot, instruction)
        dst = _NAMES[instruction.dst]
        if kind is _C.LDX:
            return self._load(slot, instruction)
        expression = value_of(instruction)
        return None if expression is None else [f"{dst} = {expression}"]

    @staticmethod
    def _address(register: int, offset: int) -> str:
        return f"{_NAMES[register]} + {offset} & {MASK64}" if offset else _NAMES[register]

    def _load(self, slot: int, instruction: Instruction) -> list[str] | None:
        size = Size(instruction.opcode >> 3 & 3)
        mode = instruction.opcode >> 5
        value = f"load({self._address(instruction.src, instruction.offset)}, {size.bytes})"
        if mode == Mode.MEMSX and size is not Size.DW:
            value = f"signed({value}, {8 * size.bytes}) & {MASK64}"
        elif mode != Mode.MEM:
            return None
        return [f"p = {slot}", f"{_NAMES[instruction.dst]} = {value}"]

    def _store(self, slot: int, instruction: Instruction) -> list[str] | None:
        mode = instruction.opcode >> 5
        size = Size(instruction.opcode >> 3 & 3).bytes
        from_register = instruction.instruction_class is _C.STX
        if mode == Mode.ATOMIC and from_register:
            return self._atomic(slot, instruction)
        if mode != Mode.MEM:
            return None
        value = _NAMES[instruction.src] if from_register else str(instruction.imm & MASK64)
        address = self._address(instruction.dst, instruction.offset)
        return [f"p = {slot}", f"store({address}, {size}, {value})"]

    def _atomic(self, slot: int, instruction: Instruction) -> list[str] | None:
        exchange = instruction.imm == AtomicOperation.CMPXCHG
        fetch = bool(instruction.imm & AtomicOperation.FETCH)
        size = Size(instruction.opcode >> 3 & 3)
        address = self._address(instruction.dst, instruction.offset)
        call = (
            f"atomic(memory, {instruction.imm}, Size.{size.name}, {address}, "
            f"{_NAMES[instruction.src]}, r0)"
        )
        target = "r0 = " if exchange else f"{_NAMES[instruction.src]} = " if fetch else ""
        return [f"p = {slot}", target + call]

    def _jump(self, slot: int, instruction: Instruction) -> list[str] | None:
        operation = instruction.opcode >> 4
        narrow = instruction.instruction_class is _C.JMP32
        if operation == JumpOperation.JA:
            return [f"b = {slot + 1 + self._distance(instruction)}", "continue"]
        if operation in (JumpOperation.CALL, JumpOperation.EXIT):
            if narrow:
                return None
            if operation == JumpOperation.EXIT:
                return self._exit(slot)
            return self._call(slot, instruction)
        test = condition(instruction)
        if test is None:
            return None
        target = slot + 1 + instruction.offset
        return [f"b = {target} if {test} else {slot + 1}", "continue"]

    @staticmethod
    def _exit(slot: int) -> list[str]:
        return [
            "if not frames:",
            f"    b = {slot}",
            "    return True",
            "frame = frames.pop()",
            "r6, r7, r8, r9 = frame.saved",
            "r10 = frame_pointer(len(frames))",
            "memory.frames = len(frames) + 1",
            "b = frame.slot",
            "if frame.program is not PROGRAM:",
            "    event.program = frame.program",
            "    return False",
            "continue",
        ]

    def _call(self, slot: int, instruction: Instruction) -> list[str] | None:
        if instruction.src == CallKind.LOCAL:
            return [
                f"p = {slot}",
                f"if len(frames) + 1 >= {CALL_FRAMES}:",
                "    raise MachineFaultError(FaultCause.CALL_DEPTH)",
                f"frames.append(Frame({slot + 1}, (r6, r7, r8, r9), PROGRAM))",
                "r6 = r7 = r8 = r9 = 0",
                "r10 = frame_pointer(len(frames))",
                "memory.frames = len(frames) + 1",
                f"b = {slot + 1 + instruction.imm}",
                "continue",
            ]
        if instruction.src != CallKind.HELPER or instruction.imm == _TAIL_CALL:
            return None
        arguments = "(r1, r2, r3, r4, r5)"
        return [
            f"p = {slot}",
            f"r0 = call_helper({instruction.imm}, {arguments}, memory, engine)",
        ]
