# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.hdl import Module

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import Opcode
from fanweave.hw.stream import StreamChecker
from fanweave.hw.stream.queue import Queue
from fanweave.hw.stream.testing import stream_get, stream_source
from fanweave.hw.ventaglio.payloads import Marker, RowRequest, pending_row_layout
from fanweave.hw.ventaglio.sequencer import Sequencer

END_MARKERS = {Opcode.CLEAR: Marker.CLEAR, Opcode.DRAIN: Marker.DRAIN}


def is_zero(word, element_format):
    bits = element_format.bits - (0 if element_format.is_integer else 1)
    return word & (1 << bits) - 1 == 0


def random_operations(generator, config):
    """Operations with their activations, and what should come of them."""
    operations, beats, fetches, pendings, skipped = [], [], [], [], 0
    for _ in range(25):
        opcode = generator.choice(list(Opcode))
        element_format = generator.choice(list(ElementFormat))
        operation = {
            "opcode": opcode,
            "element": element_format,
            "skip_zeros": generator.getrandbits(1),
            "length": generator.choice([0, 1, 2, 9]),
            "outputs": generator.randint(1, config.max_outputs),
            "first_row": generator.getrandbits(32),
        }
        operations.append(operation)
        first = True
        takes_rows = opcode in (Opcode.MULTIPLY, Opcode.MULTIPLY_ACCUMULATE)
        for k in range(operation["length"] if takes_rows else 0):
            choices = [0, 1 << element_format.bits - 1, generator.getrandbits(32), 1]
            beat = [generator.choice(choices) for _ in range(config.max_outputs)]
            beats.append(beat)
            mask = 0
            for output in range(operation["outputs"]):
                if not (operation["skip_zeros"] and is_zero(beat[output], element_format)):
                    mask |= 1 << output
            if mask == 0:
                skipped += 1
                continue
            fetches.append(((operation["first_row"] + k) % (1 << 32), int(first)))
            pendings.append((Marker.ROW, k, mask, beat))
            first = False
        pendings.append((END_MARKERS.get(opcode, Marker.END), None, None, None))
    return operations, beats, fetches, pendings, skipped


@pytest.mark.parametrize("seed", range(4))
def test_rows_markers_and_requests(simulate, small, seed):
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(max_outputs=3)
    operations, beats, fetches, pendings, skipped = random_operations(generator, config)
    m = Module()
    m.submodules.dut = dut = Sequencer(config=config)
    # The unit's surroundings: readies that do not depend on valid.
    m.submodules.fetched = fetched = Queue(shape=RowRequest, depth=2)
    m.submodules.rows = rows = Queue(shape=pending_row_layout(config), depth=2)
    checkers = []
    for source, sink in ((dut.fetch, fetched.i), (dut.pending, rows.i)):
        m.d.comb += [
            sink.payload.eq(source.payload),
            sink.valid.eq(source.valid),
            source.ready.eq(sink.ready),
        ]
    for name, port in (("fetched", fetched.o), ("rows", rows.o), ("configs", dut.configs)):
        checker = StreamChecker(shape=port.payload.shape())
        m.submodules[f"{name}_checker"] = checker
        checker.watch(m, port)
        checkers.append(checker)
    stall = generator.choice([0.0, 0.3, 0.7])
    counted = [0]

    async def send_operations(ctx):
        await stream_source(ctx, dut.operations, operations, seed=seed, pause=stall)

    async def send_beats(ctx):
        await stream_source(ctx, dut.activations, beats, seed=seed + 1, pause=1 - stall - 0.05)

    def sink(port, expected, compare):
        pause = random.Random(seed + len(expected))

        async def take(ctx):
            for item in expected:
                while pause.random() < stall:
                    await ctx.tick()
                compare(await stream_get(ctx, port), item)

        return take

    def compare_request(got, expected):
        assert (got.row, got.first) == expected

    def compare_pending(got, expected):
        marker, k, mask, beat = expected
        assert got.marker == marker
        if marker == Marker.ROW:
            assert (got.k, got.mask) == (k, mask)
            assert [got.scalars[u] for u in range(config.max_outputs)] == beat

    def compare_config(got, expected):
        assert {name: got[name] for name in expected} == expected

    async def count(ctx):
        async for _, _, skips in ctx.tick().sample(dut.skipped):
            counted[0] += skips

    async def finish(ctx):
        for _ in range(3000):
            await ctx.tick()
            if ctx.get(checkers[1].transfers) == len(pendings):
                break
        assert ctx.get(checkers[0].transfers) == len(fetches)
        assert ctx.get(checkers[1].transfers) == len(pendings)
        assert counted[0] == skipped
        assert not any(ctx.get(checker.violation) for checker in checkers)

    from amaranth.sim import Simulator

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    for testbench in (
        send_operations,
        send_beats,
        sink(fetched.o, fetches, compare_request),
        sink(rows.o, pendings, compare_pending),
        sink(dut.configs, operations, compare_config),
        finish,
    ):
        simulator.add_testbench(testbench)
    simulator.add_testbench(count, background=True)
    simulator.run()


def test_a_row_enters_both_queues_or_none(simulate, small):
    """With one side full nothing moves on the other."""
    config = small()
    dut = Sequencer(config=config)

    async def bench(ctx):
        ctx.set(
            dut.operations.payload,
            {"opcode": Opcode.MULTIPLY, "element": 1, "length": 2, "outputs": 1},
        )
        ctx.set(dut.operations.valid, 1)
        ctx.set(dut.configs.ready, 1)
        await ctx.tick()
        ctx.set(dut.operations.valid, 0)
        ctx.set(dut.activations.valid, 1)
        for fetch_ready, pending_ready in ((0, 0), (1, 0), (0, 1), (1, 1)):
            ctx.set(dut.fetch.ready, fetch_ready)
            ctx.set(dut.pending.ready, pending_ready)
            both = fetch_ready and pending_ready
            assert ctx.get(dut.activations.ready) == both
            assert (ctx.get(dut.fetch.valid) and fetch_ready) == both
            assert (ctx.get(dut.pending.valid) and pending_ready) == both

    simulate(dut, bench)
