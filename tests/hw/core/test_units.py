"""Configuration, and units of the core by themselves."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.errors import InputError
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.riscv.expressions import MAKERS
from fanweave.hw.core.atomic import Atomic
from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.divider import IntegerDivider
from fanweave.hw.core.fetch import Fetch
from fanweave.hw.core.multiplier import IntegerMultiplier
from fanweave.hw.core.operations import AtomicOperation, DivideOperation, MultiplyOperation
from fanweave.hw.core.predictor import Predictor
from fanweave.hw.core.registers import Scoreboard
from fanweave.hw.stream.testing import stream_get, stream_put

EDGES = (0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hart": 8}, "hart is 8; expected an integer from 0 to 7"),
        ({"accesses": 0}, "accesses is 0; expected an integer from 1 to 16"),
        ({"accesses": True}, "accesses is True; expected an integer from 1 to 16"),
        ({"predicted_jumps": 6}, "predicted_jumps is 6; expected a power of two from 2 to 64"),
        ({"predicted_jumps": 1}, "predicted_jumps is 1; expected an integer from 2 to 64"),
    ],
)
def test_parameters_are_checked(arguments, message):
    with pytest.raises(InputError, match=message):
        ScalarConfig(**arguments)


@pytest.mark.parametrize("kind", [IntegerMultiplier, IntegerDivider])
def test_products_and_quotients(kind):
    unit, generator = kind(), random.Random(2)
    operations = MultiplyOperation if kind is IntegerMultiplier else DivideOperation
    pairs = [(a, b) for a in EDGES for b in EDGES] if kind is IntegerMultiplier else []
    pairs += [(generator.choice(EDGES), generator.choice(EDGES)) for _ in range(12)]
    pairs += [(generator.randrange(1 << 32), generator.randrange(1 << 18)) for _ in range(12)]
    rows = [(operation, a, b) for operation in operations for a, b in pairs]
    wanted = []
    for operation, a, b in rows:
        registers = [0, a, b, 0]
        MAKERS[operation.name.lower()](registers, 3, 1, 2)()
        wanted.append((registers[3], a % 32))
    got = []

    async def put(ctx):
        for operation, a, b in rows:
            payload = {"operation": int(operation), "a": a, "b": b, "register": a % 32}
            await stream_put(ctx, unit.i, payload)

    async def get(ctx):
        for _ in rows:
            while generator.random() < 0.3:
                await ctx.tick()
            result = await stream_get(ctx, unit.o)
            got.append((result.value, result.register))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(put)
    simulator.add_testbench(get)
    simulator.run()
    assert got == wanted
    assert all(operation.name.lower() in INSTRUCTION_BY_NAME for operation in operations)


def test_an_atomic_instruction_locks_its_word():
    """The load locks, the store unlocks; a store conditional that fails stores nothing."""
    atomic = Atomic()
    seen = []

    async def testbench(ctx):
        ctx.set(atomic.accesses.ready, 1)
        ctx.set(atomic.address, 0x10000040)
        for operation in (AtomicOperation.AMOADD, AtomicOperation.LR, AtomicOperation.SC,
                          AtomicOperation.SC):  # fmt: skip
            ctx.set(atomic.operation, operation)
            ctx.set(atomic.operand, 5)
            ctx.set(atomic.active, 1)
            for _ in range(8):
                asked, done = ctx.get(atomic.accesses.valid), ctx.get(atomic.done)
                if asked:
                    access = ctx.get(atomic.accesses.payload)
                    seen.append((access.write, access.lock, access.empty))
                if done:
                    seen.append(ctx.get(atomic.result))
                await ctx.tick()
                ctx.set(atomic.response, asked)
                ctx.set(atomic.word, 7)
                if done:
                    break
            ctx.set(atomic.active, 0)
            ctx.set(atomic.response, 0)

    simulator = Simulator(atomic)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    load, store, kept = (0, 1, 0), (1, 0, 0), (1, 0, 1)
    assert seen == [load, store, 7, (0, 0, 0), 7, load, store, 0, load, kept, 1]


def test_a_scoreboard_forgets_what_is_written():
    board = Scoreboard(asks=1)
    ctx_values = []

    async def testbench(ctx):
        ctx.set(board.register[0], 9)
        ctx.set(board.set_register, 9)
        ctx.set(board.clear_register, 9)
        for sets, clears in ((1, 0), (0, 0), (0, 1), (0, 0)):
            ctx.set(board.set_enable, sets)
            ctx.set(board.set_load, sets)
            ctx.set(board.clear_enable, clears)
            ctx_values.append((ctx.get(board.pending[0]), ctx.get(board.loading[0])))
            await ctx.tick()

    simulator = Simulator(board)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert ctx_values == [(0, 0), (1, 1), (0, 0), (0, 0)]


@pytest.mark.parametrize("seed", range(3))
def test_fetch_gives_what_follows_each_redirection(seed):
    """Random redirections and pauses: never an instruction of a way that was left."""
    fetch, generator = Fetch(predicted_jumps=2), random.Random(seed)
    base = 0x80000000

    async def testbench(ctx):
        expected, waiting = base, []
        ctx.set(fetch.boot, base)
        ctx.set(fetch.run, 1)
        given = 0
        for cycle in range(1500):
            answer = bool(waiting) and generator.random() < 0.7
            ctx.set(fetch.responses.valid, answer)
            if answer:
                ctx.set(fetch.responses.payload, waiting.pop(0) ^ 0xFFFFFFFF)
            ctx.set(fetch.requests.ready, generator.random() < 0.7)
            ctx.set(fetch.instructions.ready, generator.random() < 0.7)
            redirects = cycle > 5 and generator.random() < 0.1
            target = base + 4 * generator.randrange(1000) if generator.random() < 0.9 else 0x40
            ctx.set(fetch.redirect, redirects)
            ctx.set(fetch.target, target)
            if ctx.get(fetch.instructions.valid) and ctx.get(fetch.instructions.ready):
                found = ctx.get(fetch.instructions.payload)
                assert found.pc == expected
                assert found.fault == (expected < base)
                if not found.fault:
                    assert found.word == expected ^ 0xFFFFFFFF
                    expected = found.following
                given += 1
            if redirects:
                expected = target
            if ctx.get(fetch.requests.valid) and ctx.get(fetch.requests.ready):
                waiting.append(ctx.get(fetch.requests.payload))
                assert waiting[-1] >= base
                assert len(waiting) <= 4
            await ctx.tick()
        assert given > 200

    simulator = Simulator(fetch)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def test_the_predictor_learns_and_forgets():
    """A target is known from the first time on; taken twice, it is forgotten by the second miss."""
    predictor = Predictor(places=4)
    pc, target = 0x80000014, 0x80000100
    found = []

    async def testbench(ctx):
        ctx.set(predictor.pc, pc)
        ctx.set(predictor.update_pc, pc)
        ctx.set(predictor.update_target, target)
        for taken in (None, 1, 1, 0, 0, 0, 1, 0):
            ctx.set(predictor.update, taken is not None)
            ctx.set(predictor.taken, taken or 0)
            await ctx.tick()
            found.append(ctx.get(predictor.following) == target)
        ctx.set(predictor.taken, 1)
        ctx.set(predictor.update, 1)
        await ctx.tick()
        ctx.set(predictor.pc, pc + 16)  # the same place, another address
        assert ctx.get(predictor.following) == pc + 20

    simulator = Simulator(predictor)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert found == [False, True, True, True, False, False, True, False]
