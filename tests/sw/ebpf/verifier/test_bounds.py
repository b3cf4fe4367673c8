"""What the verifier concludes about numbers holds in the machine: bounds, and ways not taken."""

import random

import pytest

from fanweave.golden.ebpf.build import alu, copy, goto, jump, leave, load, mov, store, wide
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.verifier import ContextRule, Rule, VerificationError, explorer, verify

A, J = AluOperation, JumpOperation
ALU = [A.ADD, A.SUB, A.MUL, A.DIV, A.OR, A.AND, A.LSH, A.RSH, A.MOD, A.XOR, A.ARSH, A.NEG]
CONDITIONS = [operation for operation in J if operation not in (J.JA, J.CALL, J.EXIT)]
NUMBERS = [0, 1, 2, 3, 7, 8, 15, 16, 31, 33, 63, 64, 100, 255, 256, -1, -2, -7, -8, -64, -100]
CONTEXT = 32
VALUE = MapSpec(name="wide", kind=MapType.ARRAY, key_size=4, value_size=4096, max_entries=1)
CENTRE = 2048
REGISTERS = (3, 4, 5)


def operation(generator):
    """Any arithmetic on the registers."""
    dst, src = generator.choice(REGISTERS), generator.choice(REGISTERS)
    bits = generator.choice([64, 32])
    way = generator.random()
    if way < 0.12:
        extend = generator.choice([8, 16, 32] if bits == 64 else [8, 16])
        return [alu(A.MOV, dst, src, bits=bits, offset=extend)]
    if way < 0.2:
        return [alu(A.MOV, dst, src, bits=bits)]
    if way < 0.25:
        return [alu(A.END, dst, imm=generator.choice([16, 32, 64]), bits=bits)]
    if way < 0.32:
        # Through the stack, at any width.
        size, place = generator.choice(list(Size)), generator.choice([-8, -16])
        signed = size is not Size.DW and generator.random() < 0.5
        return [store(10, src, place), load(dst, 10, place, size, signed=signed)]
    made = generator.choice(ALU)
    if made is A.NEG:
        return [alu(made, dst, bits=bits)]
    offset = generator.choice([0, 1]) if made in (A.DIV, A.MOD) else 0
    if generator.random() < 0.5:
        return [alu(made, dst, src, bits=bits, offset=offset)]
    imm = generator.choice([*NUMBERS, generator.randrange(-(1 << 31), 1 << 31)])
    return [alu(made, dst, imm=imm, bits=bits, offset=offset)]


def condition(generator, distance):
    dst, src = generator.choice(REGISTERS), generator.choice(REGISTERS)
    kind, bits = generator.choice(CONDITIONS), generator.choice([64, 32])
    if generator.random() < 0.3:
        return jump(kind, dst, distance, src, bits=bits)
    imm = generator.choice([*NUMBERS, 0x7FFFFFFF, -(1 << 31)])
    return jump(kind, dst, distance, imm=imm, bits=bits)


def begin(generator):
    """Numbers of some width, mostly small."""
    made = []
    for at, register in enumerate(REGISTERS):
        size = generator.choice([Size.B, Size.B, Size.H, Size.W, Size.DW])
        signed = size is not Size.DW and generator.random() < 0.4
        made.append(load(register, 1, 8 * at, size, signed=signed))
    return made


def calculation(generator):
    """Arithmetic, and conditions that end the program on one of their ways."""
    made = begin(generator)
    for _ in range(generator.randrange(1, 9)):
        if generator.random() < 0.4:
            made += [mov(0, 0), condition(generator, 1), leave()]
        else:
            made += operation(generator)
    return made


def contexts(generator, count):
    edges = (0, 0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0xFF)
    for number in range(count):
        if number % 2:
            yield generator.randbytes(CONTEXT)
        else:
            yield bytes(generator.choice(edges) for _ in range(CONTEXT))


def accepted(program, maps=()):
    try:
        verify(program, maps, context=ContextRule.exactly(CONTEXT), budget=1_000)
    except VerificationError:
        return False
    return True


def require_no_fault(program, maps, generator, runs):
    host = Machine([create_map(spec) for spec in maps], budget=1_000)
    for context in contexts(generator, runs):
        outcome = host.run(program, context)
        assert outcome.fault is FaultCause.NONE, (program.instructions, context.hex())


def farthest(good, step):
    """The last offset, going in steps from the centre, at which an access is accepted."""
    reached, width = 0, CENTRE
    while width:
        if good(reached + width * step):
            reached += width * step
        width //= 2
    return reached


@pytest.mark.parametrize("group", range(4))
def test_no_number_is_beyond_its_bounds(group):
    """The farthest access that is accepted behind a calculated number never faults."""
    found = 0
    for seed in range(group * 100, group * 100 + 100):
        generator = random.Random(seed)
        part = calculation(generator)
        register = generator.choice(REGISTERS)

        def access(offset, part=part, register=register):
            return Program.of(
                [
                    *part,
                    *(wide(7, CENTRE << 32, kind=2), alu(A.ADD, 7, register)),
                    *(load(0, 7, offset, Size.B), mov(0, 0), leave()),
                ]
            )

        good = lambda offset, access=access: accepted(access(offset), [VALUE])  # noqa: E731
        if not good(0):
            continue
        found += 1
        for step in (1, -1):
            require_no_fault(access(farthest(good, step)), [VALUE], generator, 12)
    assert found > 15


@pytest.mark.parametrize("group", range(4))
def test_ways_that_are_not_followed_are_never_taken(group):
    """Behind a condition on one way lies what no verifier would accept."""
    found = 0
    for seed in range(group * 500, group * 500 + 500):
        generator = random.Random(seed)
        part = calculation(generator)
        fault = load(0, 10, 8)
        way = condition(generator, 3)
        for program in (
            [*part, way, mov(0, 0), leave(), goto(0), fault, mov(0, 0), leave()],
            [*part, way, fault, mov(0, 0), leave(), mov(0, 0), copy(0, 0), leave()],
        ):
            if accepted(made := Program.of(program)):
                found += 1
                require_no_fault(made, [], generator, 12)
    assert found > 60


def joined_ways(generator):
    """Ways that part, each with arithmetic of its own, and meet again."""
    made = begin(generator)
    for _ in range(generator.randrange(2, 9)):
        inside = operation(generator)
        if generator.random() < 0.6:
            made.append(condition(generator, len(inside)))
        made += inside
    way = [condition(generator, 3), mov(0, 0), leave(), goto(0), load(0, 10, 8)]
    fill = [mov(0, 0), store(10, 0, -8), store(10, 0, -16)]
    return Program.of([*fill, *made, *way, mov(0, 0), leave()])


def test_numbers_that_did_not_count_are_not_missed(monkeypatch):
    """With states kept at every turn the same programs are accepted as with none."""
    covers = explorer.covers
    monkeypatch.setattr(explorer, "_SPACING", 0)
    rule, covered, different = ContextRule.exactly(CONTEXT), 0, 0
    for seed in range(1_500):
        program = joined_ways(random.Random(seed))
        verdicts = []
        for function in (covers, lambda old, new: False):
            monkeypatch.setattr(explorer, "covers", function)
            try:
                report = verify(program, context=rule, budget=1_000)
                covered += report.covered
                verdicts.append(None)
            except VerificationError as refusal:
                verdicts.append(refusal.rule)
        assert verdicts[0] == verdicts[1], f"seed {seed}"
        different += verdicts[0] is Rule.STACK_BOUNDS
    assert covered > 300
    assert different > 500
