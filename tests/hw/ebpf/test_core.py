"""The core against the golden machine: result, cause and count of every event."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.build import alu, atomic, call, copy, goto, jump, leave, load, mov, store
from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.hw.ebpf.core import Core
from fanweave.hw.stream.testing import stream_get, stream_put
from fanweave.sim.benches.ebpf.random_programs import random_program

BUDGET = 120


async def load_program(ctx, dut, program):
    code = b"".join(instruction.encode() for instruction in program.instructions)
    slots = len(code) // 8
    for slot in range(slots):
        word = int.from_bytes(code[8 * slot : 8 * slot + 8], "little")
        await stream_put(ctx, dut.program, {"slot": slot, "word": word})
    ctx.set(dut.program_slots, slots)
    ctx.set(dut.budget, BUDGET)


async def send(ctx, dut, context, tag):
    await stream_put(ctx, dut.events, {"length": len(context), "tag": tag})
    for at in range(0, len(context), 8):
        await stream_put(ctx, dut.contexts, int.from_bytes(context[at : at + 8], "little"))


def run(dut, batches):
    """Play programs, each on several contexts at once; returns verdicts by program and tag."""
    verdicts = []
    loaded = []  # programs whose events are all decided

    async def host(ctx):
        for number, (program, contexts) in enumerate(batches):
            await load_program(ctx, dut, program)
            for tag, context in enumerate(contexts):
                await send(ctx, dut, context, tag)
            while len(loaded) == number:
                await ctx.tick()

    async def collect(ctx):
        for _, contexts in batches:
            found = {}
            for _ in contexts:
                verdict = await stream_get(ctx, dut.verdicts)
                found[verdict.tag] = (verdict.r0, verdict.cause.value, verdict.instructions)
            verdicts.append(found)
            loaded.append(True)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.add_testbench(collect)
    simulator.run()
    return verdicts


def check(batches, threads=8):
    verdicts = run(Core(config=EbpfConfig(threads=threads, slots=128, context_bytes=32)), batches)
    causes = set()
    for (program, contexts), found in zip(batches, verdicts, strict=True):
        for tag, context in enumerate(contexts):
            outcome = Machine(budget=BUDGET).run(program, context)
            expected = (outcome.r0, int(outcome.fault), outcome.instructions)
            assert found[tag] == expected, (program.name, tag)
            causes.add(outcome.fault)
    return causes


@pytest.mark.parametrize("group", range(4))
def test_random_programs_on_all_threads(group):
    generator = random.Random(group)
    batches = []
    for seed in range(group * 100, group * 100 + 25):
        contexts = [generator.randbytes(generator.choice([0, 1, 8, 31, 32])) for _ in range(9)]
        batches.append((random_program(seed), contexts))
    causes = check(batches)
    assert causes >= {FaultCause.NONE, FaultCause.OUT_OF_BOUNDS}


def test_directed_programs():
    a, j = AluOperation, JumpOperation
    recursion = [call(-1), leave()]
    frames = [
        *(mov(6, 5), mov(1, 7), call(3), alu(a.ADD, 0, 6), alu(a.ADD, 0, 9), leave()),
        *(copy(0, 6), alu(a.ADD, 0, 1), mov(6, 99), mov(9, 99), leave()),
    ]
    divisions = [
        *(mov(0, 1000), mov(3, 7)),
        *(alu(a.DIV, 0, 3), alu(a.MOD, 3, imm=4), alu(a.DIV, 0, 3, offset=1)),
        *(alu(a.ADD, 0, 3), alu(a.DIV, 0, 5), leave()),
    ]
    loop = [mov(0, 0), alu(a.ADD, 0, imm=1), jump(j.JNE, 0, -2, imm=30), leave()]
    shared = [load(0, 1), alu(a.ADD, 0, imm=1), store(1, 0), load(0, 1), leave()]
    across = [mov(3, -1), store(10, 3, -13), load(0, 10, -16), leave()]
    programs = [
        *(recursion, frames, divisions, loop, shared, across),
        [goto(-1)],
        [goto(50)],
        [Instruction(0x06, imm=1 << 30)],
        [Instruction(0x85, imm=9999)],
        [mov(0, 3)],
        [store(10, 0, -513), leave()],
        [store(10, 0, -512), leave()],
        [load(0, 1, 24), leave()],
        [load(0, 1, 25), leave()],
    ]
    contexts = [bytes([n] * 32) for n in range(8)]
    causes = check([(Program.of(p, str(n)), contexts) for n, p in enumerate(programs)])
    assert causes >= {
        FaultCause.CALL_DEPTH,
        FaultCause.WATCHDOG,
        FaultCause.END_OF_PROGRAM,
        FaultCause.UNKNOWN_HELPER,
        FaultCause.OUT_OF_BOUNDS,
    }


def test_every_atomic_operation():
    programs = []
    for operation in (0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1):
        for size in (Size.W, Size.DW):
            for base, offset in ((10, -8), (1, 8)):
                for r0 in (-2, 0x0F0F):
                    programs.append(
                        [
                            *(mov(0, r0), mov(3, -2), store(base, 3, offset), mov(4, 0x7FF3)),
                            atomic(operation, base, 4, offset, size),
                            *(alu(AluOperation.MUL, 0, imm=31), alu(AluOperation.ADD, 0, 4)),
                            *(load(5, base, offset), alu(AluOperation.MUL, 0, imm=31)),
                            *(alu(AluOperation.ADD, 0, 5), leave()),
                        ]
                    )
    causes = check([(Program.of(p, str(n)), [bytes(16)]) for n, p in enumerate(programs)])
    assert causes == {FaultCause.NONE}


@pytest.mark.parametrize("threads", [2, 4, 16])
def test_other_numbers_of_threads(threads):
    contexts = [bytes([n] * 8) for n in range(threads + 3)]
    check([(random_program(seed), contexts) for seed in range(900, 906)], threads=threads)


def test_an_instruction_completes_in_nearly_every_cycle():
    """With all threads at work; fill and the way out are counted as well."""
    dut = Core(config=EbpfConfig(threads=8, slots=128, context_bytes=32))
    loop = [mov(0, 0), alu(AluOperation.ADD, 0, imm=1), jump(JumpOperation.JNE, 0, -2, imm=50)]
    program = Program.of([*loop, leave()])
    counts = []

    async def bench(ctx):
        await load_program(ctx, dut, program)
        for tag in range(8):
            await stream_put(ctx, dut.events, {"length": 0, "tag": tag})
        cycles = executed = 0
        while ctx.get(dut.busy):
            executed += ctx.get(dut.instructions)
            cycles += 1
            ctx.set(dut.verdicts.ready, 1)
            await ctx.tick()
        counts.append((executed, cycles))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    ((executed, cycles),) = counts
    assert executed > 780
    assert executed / cycles > 0.9
