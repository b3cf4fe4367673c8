"""Translated code and the interpreter agree on programs that work on maps of every type."""

import random

import pytest

from fanweave.golden.ebpf.build import alu, copy, helper, jump, leave, load, map_of, mov, store_imm
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation, Size
from fanweave.golden.isa.ebpf_helpers import HELPERS, ArgumentKind
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType

ENGINES = 2
SIZES = {
    MapType.LPM_TRIE: (8, 8),
    MapType.PROG_ARRAY: (4, 4),
    MapType.ARRAY_OF_MAPS: (4, 4),
    MapType.QUEUE: (0, 8),
    MapType.STACK: (0, 8),
    MapType.RINGBUF: (0, 0),
}
KINDS = tuple(MapType)
CALLED = [called for called in HELPERS.values() if called.name not in ("ringbuf_submit",)]


#: What a tail call goes on with: an update of an engine's own value.
OTHER = Program.of(
    [
        *(store_imm(10, 1, -8, Size.W), store_imm(10, 77, -16)),
        *(map_of(1, KINDS.index(MapType.PERCPU_ARRAY)), copy(2, 10), copy(3, 10)),
        *(alu(AluOperation.ADD, 2, imm=-8), alu(AluOperation.ADD, 3, imm=-16), mov(4, 0)),
        *(helper(2), copy(0, 6), leave()),
    ],
    "other",
)


def build_maps():
    made = []
    for kind in KINDS:
        key, value = SIZES.get(kind, (4, 8))
        entries = 128 if kind is MapType.RINGBUF else 3
        spec = MapSpec(
            name=kind.name, kind=kind, key_size=key, value_size=value, max_entries=entries
        )
        made.append(create_map(spec, engines=ENGINES))
    # An inner map, and a program.
    inner = KINDS.index(MapType.ARRAY).to_bytes(4, "little")
    made[KINDS.index(MapType.ARRAY_OF_MAPS)].update(bytes(4), inner)
    made[KINDS.index(MapType.PROG_ARRAY)].update(bytes(4), bytes(4))
    return made


def random_call(generator):
    """A call of a helper with arguments that mostly fit; its result is mixed into r6."""
    called = generator.choice(CALLED)
    fitting = [n for n, kind in enumerate(KINDS) if kind in called.maps]
    number = generator.choice(fitting) if fitting and generator.random() < 0.99 else 0
    program = [
        store_imm(10, generator.randrange(5), -16),
        store_imm(10, generator.choice([8, 16, 0, 31]), -16, Size.W),
        store_imm(10, generator.randrange(-2, 100), -32),
    ]
    if KINDS[number] is not MapType.LPM_TRIE:
        program[1] = store_imm(10, generator.randrange(5), -16, Size.W)
    for register, argument in enumerate(called.arguments, 1):
        match argument:
            case ArgumentKind.MAP:
                program.append(map_of(register, number))
            case ArgumentKind.KEY:
                program += [copy(register, 10), alu(AluOperation.ADD, register, imm=-16)]
            case ArgumentKind.VALUE | ArgumentKind.MEMORY | ArgumentKind.WRITTEN:
                program += [copy(register, 10), alu(AluOperation.ADD, register, imm=-32)]
            case ArgumentKind.LENGTH:
                program.append(mov(register, generator.randrange(33)))
            case ArgumentKind.RESERVED:
                program.append(copy(register, 7))
            case _:
                program.append(mov(register, generator.choice([0, 0, 0, 1, 2, 3])))
    if called.name == "ringbuf_discard":
        # Only what was reserved; r7 keeps it.
        return [
            jump(JumpOperation.JEQ, 7, len(program) + 2, imm=0),
            *program,
            helper(133),
            mov(7, 0),
        ]
    program += [helper(called.number)]
    if called.name == "ringbuf_reserve":
        return [jump(JumpOperation.JNE, 7, slots(program) + 1, imm=0), *program, copy(7, 0)]
    return [*program, alu(AluOperation.MUL, 6, imm=31), alu(AluOperation.XOR, 6, 0)]


def slots(program):
    return sum(instruction.slots for instruction in program)


def build(seed):
    generator = random.Random(seed)
    program = [mov(6, seed), mov(7, 0)]
    for _ in range(generator.randrange(5, 40)):
        program += random_call(generator)
    return Program.of(
        [*program, load(1, 10, -32), copy(0, 6), alu(AluOperation.XOR, 0, 1), leave()]
    )


def dump(machine):
    return [(bytes(made.memory), list(made.items())) for made in machine.maps]


@pytest.mark.parametrize("group", range(3))
def test_random_programs_on_maps(group):
    machines = [
        Machine(build_maps(), engines=ENGINES, budget=2_000, programs={0: OTHER}) for _ in range(2)
    ]
    faults = []
    for seed in range(group * 100, group * 100 + 100):
        program = build(seed)
        outcomes = [
            machine.run(program, engine=seed % ENGINES, time_ns=seed, reference=reference)
            for machine, reference in zip(machines, (True, False), strict=True)
        ]
        assert outcomes[0] == outcomes[1], f"seed {seed}"
        faults.append(outcomes[0].fault)
        assert dump(machines[0]) == dump(machines[1]), f"seed {seed}"
        ring = KINDS.index(MapType.RINGBUF)
        assert machines[0].maps[ring].consume() == machines[1].maps[ring].consume()
    # Most programs go to their end, and some meet a map that does not fit.
    assert faults.count(FaultCause.NONE) > 50
    assert FaultCause.BAD_MAP in faults
