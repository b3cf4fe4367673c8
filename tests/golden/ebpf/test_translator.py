"""Translated code and the interpreter agree on random programs, instruction for instruction."""

import random
from dataclasses import replace

import pytest

from fanweave.golden.ebpf.build import helper, leave, map_of, mov
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType

#: Opcodes that exist, and some that do not.
OPCODES = [
    *(op << 4 | source | kind for op in range(14) for source in (0, 8) for kind in (4, 7)),
    *(op << 4 | source | kind for op in range(14) for source in (0, 8) for kind in (5, 6)),
    *(
        mode << 5 | size << 3 | kind
        for mode in (3, 4, 6)
        for size in range(4)
        for kind in (1, 2, 3)
    ),
    0x18,
]


def random_instruction(generator, at, length):
    """Mostly one that exists."""
    while True:
        instruction = any_instruction(generator, at, length)
        if fault_of(instruction) is None or generator.random() < 0.001:
            return instruction


def any_instruction(generator, at, length):
    opcode = generator.choice(OPCODES)
    kind = opcode & 7
    offset = generator.choice([0, 0, 0, 1, 8, 16, 32, -8, -16])
    imm = generator.choice([0, 1, 2, 16, 32, 64, -1, generator.randrange(-(1 << 31), 1 << 31)])
    src = generator.randrange(11)
    if kind in (5, 6):
        offset = generator.randrange(-at - 1, length - at)
        imm = offset if opcode >> 4 in (0, 8) else imm
        src = generator.choice([0, 1, 3, 5]) if opcode >> 4 == 8 else src
        if opcode >> 4 == 8 and src == 0:
            imm = generator.choice([1, 2, 3, 5, 7, 8, 12, 87, 999])
    elif kind in (1, 2, 3) and opcode != 0x18:
        # Mostly the stack and the context, so that not every access faults.
        src = generator.choice([1, 10, src]) if kind == 1 else src
        if opcode >> 5 == 6:
            imm = generator.choice([0, 1, 0x40, 0x41, 0x50, 0xA0, 0xA1, 0xE1, 0xF1, 7])
    dst = generator.choice([0, 3, 4, 5, 6, 7, 8, 9, 10 if kind in (2, 3) else 2])
    if opcode == 0x18:
        src = generator.choice([0, 0, 1, 2, 4])
        imm = generator.choice([0, 1, 5, imm])
    plain = Instruction(opcode, dst, src, offset, imm)
    # Fields that do not fit together are the rule; those that must be zero often are.
    zeroed = {name: 0 for name in ("dst", "src", "offset", "imm") if generator.random() < 0.3}
    return replace(plain, **zeroed)


def build(seed):
    generator = random.Random(seed)
    length = generator.randrange(3, 40)
    program = [mov(register, generator.randrange(-100, 100)) for register in (0, 3, 4, 5)]
    program += [random_instruction(generator, at, length) for at in range(length)]
    program += [leave()]
    return Program.of(program)


def machine():
    maps = [
        create_map(MapSpec(name="a", kind=MapType.ARRAY, key_size=4, value_size=16, max_entries=4)),
        create_map(MapSpec(name="h", kind=MapType.HASH, key_size=8, value_size=8, max_entries=2)),
    ]
    return Machine(maps, budget=300)


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group):
    faults = set()
    executed = 0
    for seed in range(group * 500, group * 500 + 500):
        program = build(seed)
        states = []
        for reference in (True, False):
            here = machine()
            context = bytearray(range(32))
            outcome = here.run(program, context, reference=reference)
            states.append((outcome, context, [bytes(m.memory) for m in here.maps]))
        assert states[0] == states[1], f"seed {seed}"
        faults.add(states[0][0].fault)
        executed += states[0][0].instructions
    assert {FaultCause.NONE, FaultCause.OUT_OF_BOUNDS, FaultCause.WATCHDOG} <= faults
    assert executed > 5_000


def test_tail_calls_go_on_in_translated_code():
    """Thirty-three of them, after which the call gives an error and the program goes on."""
    spec = MapSpec(name="p", kind=MapType.PROG_ARRAY, key_size=4, value_size=4, max_entries=1)
    table = create_map(spec)
    table.update(bytes(4), (5).to_bytes(4, "little"))
    again = Program.of([map_of(2, 0), mov(3, 0), helper(12), mov(0, 77), leave()])
    outcomes = [
        Machine([table], programs={5: again}).run(again, reference=reference)
        for reference in (True, False)
    ]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].r0 == 77
    assert outcomes[0].instructions == 34 * 3 + 2
