"""Random eBPF programs that go on for a while, and end in everything that they touched."""

import random
from dataclasses import replace

from fanweave.golden.ebpf.build import alu, copy, leave, load, mov, wide
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, Instruction
from fanweave.golden.isa.ebpf_legality import fault_of

__all__ = ["random_program"]

_OPCODES = (
    *(op << 4 | source | kind for op in range(14) for source in (0, 8) for kind in (4, 7)),
    *(op << 4 | source | kind for op in range(14) for source in (0, 8) for kind in (5, 6)),
    *(
        mode << 5 | size << 3 | kind
        for mode in (3, 4, 6)
        for size in range(4)
        for kind in (1, 2, 3)
    ),
    0x18,
)
_IMMEDIATES = (0, 1, 2, 16, 32, 64, -1, 0x7FFF_FFFF, -0x8000_0000)
_ATOMICS = (0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1)
_CALL = 0x85
_NO_HELPER = 9_999
#: Share of instructions that do not exist.
_ILLEGAL = 0.001


def random_program(seed: int, *, helpers: tuple[int, ...] = ()) -> Program:
    """Make a program; the same for the same seed.

    Parameters
    ----------
    seed : int
        Decides everything.
    helpers : tuple of int
        Helpers that it may call; none by default.
    """
    generator = random.Random(seed)
    length = generator.randrange(4, 40)
    program = [
        wide(register, generator.choice([generator.getrandbits(64), generator.randrange(100)]))
        for register in (0, 3, 4, 5)
    ]
    program += [_instruction(generator, at, length, helpers) for at in range(length)]
    for register in range(1, 10):
        program += [alu(AluOperation.MUL, 0, imm=31), alu(AluOperation.XOR, 0, register)]
    for offset in (-8, -16, -24):
        program += [load(1, 10, offset), alu(AluOperation.ADD, 0, 1)]
    return Program.of([*program, leave(), mov(0, 1), copy(0, 6), leave()], f"random {seed}")


def _instruction(
    generator: random.Random, at: int, length: int, helpers: tuple[int, ...]
) -> Instruction:
    """Mostly one that exists."""
    while True:
        instruction = _any_instruction(generator, at, length, helpers)
        if fault_of(instruction) is None or generator.random() < _ILLEGAL:
            return instruction


def _any_instruction(
    generator: random.Random, at: int, length: int, helpers: tuple[int, ...]
) -> Instruction:
    opcode = generator.choice(_OPCODES)
    kind = opcode & 7
    offset = generator.choice([0, 0, 0, 1, 8, 16, 32, -8, -16, -24])
    imm = generator.choice([*_IMMEDIATES, generator.randrange(-(1 << 31), 1 << 31)])
    src = generator.randrange(11)
    dst = generator.choice([0, 2, 3, 4, 5, 6, 7, 8, 9])
    if kind in (5, 6):
        # Backwards seldom, or most programs would only loop.
        offset = (
            generator.randrange(-at - 1, length - at)
            if generator.random() < 0.2
            else (generator.randrange(length - at))
        )
        imm = offset if opcode >> 4 in (0, 8) else imm
        if opcode >> 4 == 8:
            src = 0 if helpers and generator.random() < 0.7 else 1
            imm = generator.choice(helpers) if src == 0 else imm
        if opcode >> 4 == 9 and generator.random() < 0.7:
            opcode = 0xB7
    elif kind in (1, 2, 3):
        # Mostly the stack and the context, so that not every access is out of bounds.
        src = generator.choice([1, 10, 10, src]) if kind == 1 else src
        dst = generator.choice([1, 10, 10, 10, dst]) if kind in (2, 3) else dst
        if opcode >> 5 == 6:
            imm = generator.choice(_ATOMICS)
    if opcode == 0x18:
        src = generator.choice([0, 0, 1, 2, 4])
    plain = Instruction(opcode, dst, src, offset, imm)
    # Fields that do not fit together are the rule; those that must be zero often are.
    zeroed = {name: 0 for name in ("dst", "src", "offset", "imm") if generator.random() < 0.3}
    made = replace(plain, **zeroed)
    if opcode == _CALL and made.src == 0 and made.imm not in helpers:
        made = replace(made, imm=_NO_HELPER)
    return made
