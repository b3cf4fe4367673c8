# amaranth: UnusedElaboratable=no
"""Programs that run while their context is still filled, by a source that comes late."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    call,
    goto,
    helper,
    jump,
    leave,
    load,
    mov,
    store,
)
from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.hw.ebpf.context_wait import ContextWait
from fanweave.hw.stream.testing import stream_get, stream_put
from fanweave.sim.benches.ebpf import lockstep
from fanweave.sim.benches.ebpf.bare_core import BareCore
from fanweave.sim.benches.ebpf.random_programs import random_program

CONFIG = EbpfConfig(threads=2, slots=128, context_bytes=32, returns_context=True)
CONTEXT = bytes(range(1, 33))
ADD = AluOperation.ADD


def check(batches, gaps=None, **changes):
    return lockstep.check(batches, config=replace(CONFIG, **changes), gaps=gaps)


@pytest.mark.parametrize("size", list(Size), ids=lambda size: size.name)
def test_every_access_at_every_place_waits_for_its_words(size):
    """The first instruction wants a word that comes much later."""
    width = 1 << (3, 2, 1, 0)[(Size.DW, Size.W, Size.H, Size.B).index(size)]
    batches = []
    for offset in range(33 - width):
        batches.append([load(0, 1, offset, size), leave()])
        batches.append([store(1, 2, offset, size), load(0, 1, offset, size), leave()])
        if size in (Size.W, Size.DW) and offset % width == 0:
            batches.append([atomic(1, 1, 2, offset, size), alu(ADD, 0, 2), leave()])
    named = [(Program.of(p, str(n)), [CONTEXT]) for n, p in enumerate(batches)]
    assert check(named, random.Random(width)) == {FaultCause.NONE}


def test_every_way_to_end_waits_for_the_whole_context():
    programs = {
        FaultCause.NONE: [mov(0, 3), leave()],
        FaultCause.END_OF_PROGRAM: [goto(50)],
        FaultCause.OUT_OF_BOUNDS: [load(0, 1, 25), leave()],
        FaultCause.UNKNOWN_HELPER: [helper(9999), leave()],
        FaultCause.WATCHDOG: [goto(-1)],
        FaultCause.CALL_DEPTH: [call(-1), leave()],
    }
    for cause, program in programs.items():
        batch = (Program.of(program, cause.name), [CONTEXT, CONTEXT[:31], CONTEXT[:1], b""])
        assert check([batch], random.Random(cause.value)) == {cause}


@pytest.mark.parametrize("threads", [2, 4])
def test_random_programs_with_a_source_that_stalls(threads):
    generator = random.Random(threads)
    batches = [
        (random_program(seed), [generator.randbytes(n) for n in generator.choices(range(33), k=5)])
        for seed in range(500, 530)
    ]
    check(batches, generator, threads=threads)


def play(program, bench, **changes):
    """Run a bench with the core, with a program in it."""
    core = BareCore(config=replace(CONFIG, **changes))
    code = b"".join(instruction.encode() for instruction in program)

    async def host(ctx):
        for slot in range(len(code) // 8):
            word = int.from_bytes(code[8 * slot : 8 * slot + 8], "little")
            await stream_put(ctx, core.program, {"slot": slot, "word": word})
        ctx.set(core.program_slots, len(code) // 8)
        ctx.set(core.budget, 1000)
        await bench(ctx, core)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()


async def executed(ctx, core, cycles):
    """Cycles in which an instruction completes."""
    found = []
    for cycle in range(cycles):
        if ctx.get(core.instructions):
            found.append(cycle)
        await ctx.tick()
    return found


def test_it_goes_on_as_soon_as_its_word_is_there():
    """Words 0 and 1, and nothing for 50 cycles; then the rest."""

    async def bench(ctx, core):
        await stream_put(ctx, core.events, {"length": 32, "tag": 7})
        await stream_put(ctx, core.contexts, 5)
        await stream_put(ctx, core.contexts, 6)
        # The last of these reads a word that has not come.
        assert len(await executed(ctx, core, 50)) == 3
        assert not ctx.get(core.verdicts.valid)
        await stream_put(ctx, core.contexts, 1 << 56)
        assert await executed(ctx, core, 50) == [3, 5]
        # It cannot end before its last word has come.
        assert not ctx.get(core.verdicts.valid)
        await stream_put(ctx, core.contexts, 0)
        (verdict,) = await ctx.tick().sample(core.verdicts.payload).until(core.verdicts.valid)
        assert (verdict.r0, verdict.instructions, verdict.tag) == (11 + 1, 6, 7)

    program = [load(0, 1, 0), load(3, 1, 8), alu(ADD, 0, 3), load(3, 1, 23, Size.B)]
    play([*program, alu(ADD, 0, 3), leave()], bench)


def test_other_threads_go_on_while_one_waits():
    async def bench(ctx, core):
        await stream_put(ctx, core.events, {"length": 8, "tag": 1})
        await stream_put(ctx, core.contexts, 30)
        await stream_put(ctx, core.events, {"length": 8, "tag": 2})
        # The first thread turns its loop; the second one has no word and takes none of its turns.
        found = await executed(ctx, core, 91)
        assert len(found) == 45
        assert {after - before for before, after in pairwise(found[1:])} == {2}
        first = await stream_get(ctx, core.verdicts)
        assert (first.tag, first.instructions) == (1, 62)
        await stream_get(ctx, core.contexts_after)
        await stream_put(ctx, core.contexts, 1)
        second = await stream_get(ctx, core.verdicts)
        assert (second.tag, second.instructions) == (2, 4)

    loop = [load(3, 1, 0), alu(ADD, 3, imm=-1), jump(JumpOperation.JNE, 3, -2), leave()]
    play(loop, bench)


def test_a_thread_is_not_given_away_before_its_context_is_there():
    """Two threads, and the second event's words come after those of the first one only."""

    async def bench(ctx, core):
        ctx.set(core.verdicts.ready, 1)
        ctx.set(core.contexts_after.ready, 1)
        for tag in range(6):
            await stream_put(ctx, core.events, {"length": 16, "tag": tag})
            for word in (tag, 0):
                for _ in range(15):
                    await ctx.tick()
                    assert not ctx.get(core.verdicts.valid)
                await stream_put(ctx, core.contexts, word)
            (verdict,) = await ctx.tick().sample(core.verdicts.payload).until(core.verdicts.valid)
            assert (verdict.r0, verdict.tag) == (tag, tag)
            await ctx.tick().repeat(6)

    play([load(0, 1, 0), leave()], bench)


def test_bytes_that_are_there_decide():
    """The unit alone: each number of words, each byte behind an access."""
    dut = ContextWait(threads=4)

    async def bench(ctx):
        ctx.set(dut.executes, 1)
        ctx.set(dut.thread, 2)
        for filled, filling, touches, whole in (
            (2, 1, 1, 0),
            (2, 1, 0, 1),
            (2, 1, 1, 1),
            (2, 1, 0, 0),
            (2, 0, 1, 1),
            (1, 1, 1, 1),
        ):
            ctx.set(dut.filled, filled)
            ctx.set(dut.filling, filling)
            ctx.set(dut.touches, touches)
            ctx.set(dut.whole, whole)
            for there in range(4):
                for behind in range(1, 33):
                    ctx.set(dut.there, there)
                    ctx.set(dut.behind, behind)
                    wants = whole or (touches and -(-behind // 8) > there)
                    assert ctx.get(dut.waits) == bool(filled == 2 and filling and wants)
        await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
