"""Random programs that Linux's verifier accepts, with every instruction that it allows.

Registers begin as what the context holds, so that nothing is known before the program runs. In the
end the context holds all registers, and r0 the sum of the stack.
"""

import random
from collections.abc import Iterator

from fanweave.golden.ebpf.build import alu, call, copy, goto, leave, load, store, wide
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import (
    FRAME_POINTER,
    AluOperation,
    AtomicOperation,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
)
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, InstructionKind, Operand

__all__ = ["CONTEXT_BYTES", "verifiable_program"]

#: Of r0 to r8; r9 is the address of the context.
_VARIABLES = tuple(range(9))
_CONTEXT_REGISTER = 9
_MEMORY = range(72, 136)  # of the context, for loads and stores
_RESULTS = 136
CONTEXT_BYTES = _RESULTS + 8 * len(_VARIABLES)
_STACK = range(-64, 0)
_FUNCTIONS = 2
_SHIFTS = (AluOperation.LSH, AluOperation.RSH, AluOperation.ARSH)
_DIVISIONS = (AluOperation.DIV, AluOperation.MOD)
_JUMPS = (InstructionClass.JMP, InstructionClass.JMP32)
_NUMBERS = (0, 1, 2, 7, 8, 31, 32, 63, -1, -2, 0x7FFF_FFFF, -0x8000_0000)
#: Share of instructions that are conditions; more would be more paths than the verifier follows.
_CONDITIONS = 0.15
_CALLS = 0.05
_SKIP = 6

_ROWS = tuple(
    row
    for row in INSTRUCTIONS
    if row.opcode & 7 not in _JUMPS and (row.opcode & 7 != InstructionClass.LD or not row.src)
)
#: Linux 6.18 can take a wrong value for what these fetch from a register stored to the stack, so
#: they work on the context, which functions do not have (docs/ebpf/machine.md).
_FETCHES = tuple(
    row
    for row in _ROWS
    if row.opcode & 7 == InstructionClass.STX
    and row.opcode >> 5 == Mode.ATOMIC
    and row.imm & AtomicOperation.FETCH
)
_FUNCTION_ROWS = tuple(row for row in _ROWS if row not in _FETCHES)
_CONDITION_ROWS = tuple(row for row in INSTRUCTIONS if Operand.TARGET in row.operands[1:])


def verifiable_program(seed: int) -> Program:
    """Make a program; the same for the same seed. Its contexts have `CONTEXT_BYTES`."""
    return Program.of(_Writer(random.Random(seed)).program(), f"verifiable {seed}")


class _Writer:
    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        #: Places of calls in the program, and the function that each calls.
        self.calls: dict[int, int] = {}

    def program(self) -> list[Instruction]:
        """Main part and functions, calls with their distances."""
        parts = [[*self._begin(), *self._body(True), *self._end()]]
        called = set(self.calls.values())
        entries: dict[int, int] = {}
        for number in range(_FUNCTIONS):
            if number in called:
                entries[number] = sum(_slots(part) for part in parts)
                parts.append([*self._enter(), *self._body(False), leave()])
        program = [instruction for part in parts for instruction in part]
        for place, number in self.calls.items():
            program[place] = call(entries[number] - _slots(program[: place + 1]))
        return program

    def _begin(self) -> list[Instruction]:
        return [
            copy(_CONTEXT_REGISTER, 1),
            *(load(register, _CONTEXT_REGISTER, 8 * register) for register in _VARIABLES),
            *_fill_stack(),
        ]

    def _enter(self) -> list[Instruction]:
        """A function knows its arguments only; the other registers begin as some of them."""
        others = [copy(register, 1 + register % 5) for register in (0, 6, 7, 8)]
        return [*others, *_fill_stack()]

    def _end(self) -> Iterator[Instruction]:
        for register in _VARIABLES:
            yield store(_CONTEXT_REGISTER, register, _RESULTS + 8 * register)
        for offset in range(_STACK.start, _STACK.stop, 8):
            yield load(1, FRAME_POINTER, offset)
            yield alu(AluOperation.ADD, 0, 1)
        yield leave()

    def _body(self, main: bool) -> list[Instruction]:
        before = len(self._begin()) if main else 0
        rows = _ROWS if main else _FUNCTION_ROWS
        body: list[Instruction] = []
        conditions: list[int] = []
        for _ in range(self.generator.randrange(5, 45)):
            draw = self.generator.random()
            if draw < _CONDITIONS:
                conditions.append(len(body))
                body.append(self._fill(self.generator.choice(_CONDITION_ROWS), main))
                if self.generator.random() < 0.2:
                    # Over a goto, which would leave code that nothing reaches if it were alone.
                    body[-1] = _to(body[-1], 1)
                    conditions[-1] = len(body)
                    body.append(self._goto())
            elif main and draw < _CONDITIONS + _CALLS:
                self.calls[before + len(body)] = self.generator.randrange(_FUNCTIONS)
                body.append(call(0))
                body += [
                    load(register, _CONTEXT_REGISTER, 8 * register) for register in range(1, 6)
                ]
            else:
                body.append(self._fill(self.generator.choice(rows), main))
        for place in conditions:
            skipped = body[place + 1 : place + 1 + self.generator.randrange(_SKIP)]
            body[place] = _to(body[place], _slots(skipped))
        return body

    def _goto(self) -> Instruction:
        long = Instruction(JumpOperation.JA << 4 | InstructionClass.JMP32)
        return self.generator.choice((goto(0), long))

    def _fill(self, row: InstructionKind, main: bool) -> Instruction:
        """Operands for a row."""
        values = {"dst": 0, "src": row.src, "offset": row.offset, "imm": row.imm, "high": 0}
        pick = self.generator.choice
        for operand in row.operands:
            match operand:
                case Operand.DST:
                    values["dst"] = pick(_VARIABLES)
                case Operand.SRC:
                    values["src"] = pick(_VARIABLES)
                case Operand.IMM:
                    values["imm"] = self._immediate(row)
                case Operand.IMM64:
                    number = wide(0, self.generator.getrandbits(64))
                    values["imm"], values["high"] = number.imm, number.high
                case Operand.LOAD:
                    values["src"], values["offset"] = self._address(row, main)
                case Operand.STORE:
                    values["dst"], values["offset"] = self._address(row, main)
        return Instruction(row.opcode, **values)

    def _immediate(self, row: InstructionKind) -> int:
        """What the verifier lets through: no division by zero, no shift by more than there is."""
        arithmetic = row.opcode & 7 in (InstructionClass.ALU, InstructionClass.ALU64)
        if arithmetic and row.opcode >> 4 in _SHIFTS:
            return self.generator.randrange(64 if row.opcode & 7 == InstructionClass.ALU64 else 32)
        number = self.generator.choice((*_NUMBERS, self.generator.randrange(-(1 << 31), 1 << 31)))
        if arithmetic and row.opcode >> 4 in _DIVISIONS:
            return number or 3
        return number

    def _address(self, row: InstructionKind, main: bool) -> tuple[int, int]:
        """Base and offset: anywhere in the context, aligned on the stack and for atomics."""
        size = Size(row.opcode >> 3 & 3).bytes
        atomic = row.opcode & 7 == InstructionClass.STX and row.opcode >> 5 == Mode.ATOMIC
        if row in _FETCHES or (main and self.generator.random() < 0.5):
            step = size if atomic else 1
            places = range(_MEMORY.start, _MEMORY.stop - size + 1, step)
            return _CONTEXT_REGISTER, self.generator.choice(places)
        return FRAME_POINTER, self.generator.choice(range(_STACK.start, _STACK.stop, size))


def _fill_stack() -> list[Instruction]:
    places = range(_STACK.start, _STACK.stop, 8)
    return [
        store(FRAME_POINTER, register, offset)
        for register, offset in zip((1, 2, 3, 4, 5, 0, 1, 2), places, strict=True)
    ]


def _slots(instructions: list[Instruction]) -> int:
    return sum(instruction.slots for instruction in instructions)


def _to(condition: Instruction, distance: int) -> Instruction:
    """The same jump, over so many slots."""
    if condition.opcode == JumpOperation.JA << 4 | InstructionClass.JMP32:
        return Instruction(condition.opcode, imm=distance)
    return Instruction(condition.opcode, condition.dst, condition.src, distance, condition.imm)
