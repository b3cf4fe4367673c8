# amaranth: UnusedElaboratable=no
"""The checker in hardware against the loader's checks in software, and against a model of its own.

The software decides which programs are sound. Which fault is reported, where and after how many
cycles is worked out here from the tables of the instruction set.
"""

import random
from collections import Counter, defaultdict

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.build import alu, call, copy, goto, helper, jump, leave, map_of, mov, wide
from fanweave.golden.ebpf.conformance import CASES
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    AluOperation,
    CallKind,
    Instruction,
    JumpOperation,
    WideKind,
    encode_program,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.hw.ebpf.program_checker import CHECK_CYCLES, ProgramChecker
from fanweave.hw.ebpf.program_payloads import LoadCause
from fanweave.sim.benches.ebpf.random_programs import random_program
from fanweave.sw.ebpf.check import check_program

SLOTS = 64
MAPS = 3
WIDE = 0x18


def words_of(code):
    return [int.from_bytes(code[at : at + 8], "little") for at in range(0, len(code), 8)]


def instruction_of(word):
    """The instruction in a slot, as if it were alone."""
    offset, imm = word >> 16 & 0xFFFF, word >> 32
    return Instruction(
        word & 0xFF,
        word >> 8 & 0xF,
        word >> 12 & 0xF,
        offset - (offset >> 15 << 16),
        imm - (imm >> 31 << 32),
    )


def second_slots(words):
    """Which slots hold the rest of a 64-bit immediate load."""
    seconds = [False]
    for word in words:
        seconds.append(word & 0xFF == WIDE and not seconds[-1])
    return seconds


def distance(instruction):
    """How far a jump or a local call leads; None of others."""
    kind, operation = instruction.opcode & 7, instruction.opcode >> 4
    if kind not in (5, 6) or operation == JumpOperation.EXIT:
        return None
    if operation == JumpOperation.CALL:
        return instruction.imm if instruction.src == CallKind.LOCAL else None
    return instruction.imm if (kind, operation) == (6, JumpOperation.JA) else instruction.offset


def own_fault(words, at, maps):
    """What the first walk finds in a slot."""
    word, last = words[at], at == len(words) - 1
    if second_slots(words)[at]:
        named = instruction_of(words[at - 1]).src in (WideKind.MAP_FD, WideKind.MAP_INDEX)
        if word & 0xFFFF_FFFF or (named and word):
            return LoadFault.SECOND_SLOT
        return LoadFault.NO_END if last else LoadFault.NONE
    instruction = instruction_of(word)
    is_wide = instruction.opcode == WIDE
    is_call = instruction.opcode == 0x85
    # What only an operating system has.
    foreign = (is_call and instruction.src == CallKind.BTF) or (
        is_wide and instruction.src in (WideKind.VARIABLE, WideKind.CODE)
    )
    if foreign or fault_of(instruction) is not None:
        return LoadFault.ILLEGAL_INSTRUCTION
    if is_wide and last:
        return LoadFault.CUT_OFF
    if is_wide and instruction.src != WideKind.IMMEDIATE and not 0 <= instruction.imm < maps:
        return LoadFault.UNKNOWN_MAP
    if is_call and instruction.src == CallKind.HELPER and instruction.imm not in HELPERS:
        return LoadFault.UNKNOWN_HELPER
    ends = instruction.opcode in (0x95, 0x05, 0x06)
    if last and not ends:
        return LoadFault.NO_END
    by = distance(instruction)
    if by is not None and not 0 <= at + 1 + by < len(words):
        return LoadFault.TARGET_OUTSIDE
    return LoadFault.NONE


def verdict(words, maps):
    """Fault, slot, and cycles from start to done."""
    length = len(words)
    for at in range(length):
        fault = own_fault(words, at, maps)
        if fault is not LoadFault.NONE:
            return fault, at, at + 3
    seconds = second_slots(words)
    for at, word in enumerate(words):
        by = None if seconds[at] else distance(instruction_of(word))
        if by is not None and seconds[at + 1 + by]:
            return LoadFault.TARGET_WITHIN, at, length + 2 + at + 4
    return LoadFault.NONE, 0, 2 * length + CHECK_CYCLES


def software_accepts(code, maps):
    """Whether the loader in software would, were it not for the depth of calls."""
    try:
        check_program(Program.from_bytes(code), maps=maps, max_slots=SLOTS)
    except InputError as error:
        return "calls itself" in str(error) or "local calls are" in str(error)
    return True


def check(codes, maps=MAPS, slots=SLOTS):
    """Let the hardware check programs one after the other; return how often each fault came."""
    dut = ProgramChecker(slots=slots, maps=maps)
    found = Counter()
    generator = random.Random(len(codes))

    async def bench(ctx):
        for code in codes:
            words = words_of(code)
            base = generator.randrange(1 << 16)
            ctx.set(dut.base, base)
            ctx.set(dut.length, len(words))
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles = 1
            while not ctx.get(dut.done):
                assert ctx.get(dut.busy)
                assert cycles < 2 * len(words) + CHECK_CYCLES, code.hex()
                read = ctx.get(dut.read_slot) - base & 0xFFFF
                await ctx.tick()
                ctx.set(dut.read_word, words[read] if read < len(words) else 0)
                cycles += 1
            assert ctx.get(dut.busy)
            fault = LoadFault(ctx.get(dut.fault).value)
            expected = verdict(words, maps)
            assert (fault, ctx.get(dut.slot), cycles) == expected, (code.hex(), expected)
            accepts = software_accepts(code, maps)
            assert (fault is LoadFault.NONE) == accepts, (code.hex(), fault)
            found[fault] += 1
            # Mostly at once, so that nothing is left of the check before.
            await ctx.tick().repeat(generator.choice([1, 1, 2, 5]))
            assert not ctx.get(dut.busy)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def mutated(generator, code):
    """A program with a few changes of many kinds."""
    words = words_of(code)
    for _ in range(generator.choice([1, 1, 1, 2, 3])):
        at = generator.randrange(len(words))
        kind = generator.randrange(10)
        if kind == 0:
            words[at] ^= 1 << generator.randrange(64)
        elif kind == 1:
            words[at] = words[at] & ~0xFF | generator.randrange(256)
        elif kind == 2:
            words[at] = words[at] & ~0xFFFF_0000 | generator.randrange(-9, 9) % (1 << 16) << 16
        elif kind == 3:
            words[at] = words[at] & 0xFFFF_FFFF | generator.randrange(-9, 9) % (1 << 32) << 32
        elif kind == 4 and len(words) > 1:
            del words[at]
        elif kind == 5:
            words.insert(at, words[generator.randrange(len(words))])
        elif kind == 6:
            words[at:at] = [WIDE | generator.randrange(8) << 12, generator.choice([0, 1 << 32, 1])]
        elif kind == 7:
            words[at] = words[at] & ~0xFF00 | generator.choice([0, 0x10, 0xA, 0xA0, 0xB]) << 8
        elif kind == 8:
            words[at] = generator.getrandbits(64)
        else:
            del words[at + 1 :]
    return b"".join(word.to_bytes(8, "little") for word in words[:SLOTS])


def test_the_numbers_are_the_table():
    assert {cause.name: cause.value for cause in LoadCause} == {
        fault.name: fault for fault in LoadFault
    }
    assert all(fault.text and "\n" not in fault.text for fault in LoadFault)


def test_conformance_cases():
    groups = defaultdict(list)
    for case in CASES:
        groups[len(case.maps)].append(encode_program(case.program))
        for _, program in case.others:
            groups[len(case.maps)].append(encode_program(program))
    accepted = sum(check(codes, maps=maps)[LoadFault.NONE] for maps, codes in groups.items())
    assert accepted > 600


@pytest.mark.parametrize("seed", range(4))
def test_mutated_programs(seed):
    generator = random.Random(seed)
    sources = [encode_program(case.program) for case in CASES]
    sources += [encode_program(random_program(n).instructions) for n in range(40)]
    sources = [code for code in sources if len(code) <= 24 * 8]
    found = check([mutated(generator, generator.choice(sources)) for _ in range(2500)])
    assert found.keys() >= {
        fault for fault in LoadFault if fault is LoadFault.NONE or fault > LoadFault.OVERLAP
    }


def test_random_bytes():
    """Nearly all are refused at once, so a few bits are often made right."""
    generator = random.Random(5)
    codes = [generator.randbytes(8 * generator.randrange(1, 9)) for _ in range(500)]
    for _ in range(5000):
        words = [
            generator.choice([0xB7, 0x0F, 0x05, 0x1D, 0x85, 0x95, WIDE, generator.randrange(256)])
            | generator.choice([0, 0, 1, 0x11, 0x10, 0x50, 0xA1, generator.randrange(256)]) << 8
            | generator.choice([0, 0, 1, 0xFFFE, 0xFFFD, generator.getrandbits(16)]) << 16
            | generator.choice([0, 0, 1, 0xFFFF_FFFE, generator.getrandbits(32)]) << 32
            for _ in range(generator.randrange(1, 6))
        ]
        codes.append(b"".join(word.to_bytes(8, "little") for word in [*words, 0x95]))
    found = check(codes)
    assert found[LoadFault.NONE] > 20


def test_each_rule_by_itself():
    a, j = AluOperation, JumpOperation
    end = [mov(0, 0), leave()]
    loops = [jump(j.JEQ, 0, -2, imm=3), *end]
    cases = [
        (end, LoadFault.NONE),
        ([goto(-1)], LoadFault.NONE),
        ([Instruction(0x06, imm=-1)], LoadFault.NONE),
        ([leave(), mov(0, 0)], LoadFault.NO_END),
        ([leave(), jump(j.JEQ, 0, -2, imm=3)], LoadFault.NO_END),
        ([leave(), call(-2)], LoadFault.NO_END),
        ([leave(), helper(5)], LoadFault.NO_END),
        ([leave(), wide(0, 5)], LoadFault.NO_END),
        (loops, LoadFault.TARGET_OUTSIDE),
        ([mov(0, 0), *loops], LoadFault.NONE),
        ([jump(j.JEQ, 0, 2, imm=3), *end], LoadFault.TARGET_OUTSIDE),
        ([jump(j.JEQ, 0, 1, imm=3), *end], LoadFault.NONE),
        ([call(2), *end], LoadFault.TARGET_OUTSIDE),
        ([call(-2), *end], LoadFault.TARGET_OUTSIDE),
        ([call(-1), *end], LoadFault.NONE),  # recursive
        ([Instruction(0x85, src=1, imm=0x7FFF_FFFF), *end], LoadFault.TARGET_OUTSIDE),
        ([Instruction(0x85, src=1, imm=-0x8000_0000), *end], LoadFault.TARGET_OUTSIDE),
        ([Instruction(0x06, imm=0x1_0000), *end], LoadFault.TARGET_OUTSIDE),
        ([Instruction(0x06, imm=1 << 30), *end], LoadFault.TARGET_OUTSIDE),
        ([goto(1), wide(0, 7), leave()], LoadFault.TARGET_WITHIN),
        ([goto(0), wide(0, 7), leave()], LoadFault.NONE),
        ([goto(2), wide(0, 7), leave()], LoadFault.NONE),
        ([wide(0, 7), call(-2), leave()], LoadFault.TARGET_WITHIN),
        ([wide(0, 7), Instruction(0x06, imm=-2), leave()], LoadFault.TARGET_WITHIN),
        ([wide(0, 0x95 << 32), jump(j.JEQ, 0, -2, 0), leave()], LoadFault.TARGET_WITHIN),
        ([wide(0, WIDE << 32), wide(0, WIDE << 32), leave()], LoadFault.NONE),
        ([Instruction(0x85, src=2, imm=1), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([Instruction(WIDE, src=3), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([Instruction(WIDE, src=4), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([Instruction(WIDE, dst=10), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([alu(a.ADD, 10, imm=1), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([Instruction(0), *end], LoadFault.ILLEGAL_INSTRUCTION),
        ([copy(0, 10), leave()], LoadFault.NONE),
        *(([map_of(1, n), *end], LoadFault.NONE) for n in range(MAPS)),
        *(([map_of(1, n), *end], LoadFault.UNKNOWN_MAP) for n in (MAPS, -1, 256)),
        *(([Instruction(WIDE, 1, k, 0, MAPS), *end], LoadFault.UNKNOWN_MAP) for k in (1, 2, 5, 6)),
        *(([Instruction(WIDE, 1, k, 0, 0, 1), *end], LoadFault.SECOND_SLOT) for k in (1, 5)),
        *(([Instruction(WIDE, 1, k, 0, 0, 1), *end], LoadFault.NONE) for k in (0, 2, 6)),
        *(([helper(n), *end], LoadFault.NONE) for n in HELPERS),
        *(
            ([helper(n), *end], LoadFault.UNKNOWN_HELPER)
            for n in range(-3, 200)
            if n not in HELPERS
        ),
    ]
    for program, fault in cases:
        assert verdict(words_of(encode_program(program)), MAPS)[0] is fault, program
    check([encode_program(program) for program, _ in cases])
    cut = [*(mov(0, 0), leave()), wide(0, 0)]
    check([encode_program(cut)[:-8], encode_program([wide(1, 1)])[:8]])


def test_the_largest_program():
    code = encode_program([*(mov(0, 0) for _ in range(SLOTS - 2)), goto(-SLOTS + 1), leave()])
    assert check([code, code[:-8], code]) == {LoadFault.NONE: 3}
    assert check([encode_program([mov(0, 0), leave()])] * 2, slots=2) == {LoadFault.NONE: 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": 48}, "slots = 48 must be a power of two from 2 to 65536"),
        ({"slots": 1 << 17}, "slots = 131072"),
        ({"maps": 257}, "maps = 257 must be from 0 to 256"),
        ({"maps": -1}, "maps = -1"),
    ],
)
def test_illegal_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        ProgramChecker(**{"slots": 64, "maps": 1, **change})
