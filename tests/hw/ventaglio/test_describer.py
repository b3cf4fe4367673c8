# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.hw.stream.queue import Queue
from fanweave.hw.stream.testing import stream_get, stream_source
from fanweave.hw.ventaglio.aligner import Extent
from fanweave.hw.ventaglio.describer import Describer
from fanweave.hw.ventaglio.payloads import Marker, described_row_layout


def random_rows(generator, operation, count):
    """Rows with their descriptions, and the extents that they should give."""
    bits = operation["element"].bits
    mode = operation["index_mode"]
    rows = []
    for k in range(count):
        nnz = generator.choice([0, 0, 1, 2, 3, 31, 32, 33, 65535])
        words = -(-nnz * index_bits(mode, operation["m"]) // 32)
        if mode is IndexMode.BITMASK:
            words = -(-operation["width"] // 32)
        description = {
            "nnz": nnz,
            "lane": generator.randrange(64 // bits),
            "joined": generator.getrandbits(1),
            "index_word": generator.randrange(2),
            "index_joined": generator.getrandbits(1),
        }
        weights = (description["lane"] * bits // 8, description["joined"], nnz * bits // 8)
        indices = (description["index_word"], description["index_joined"], words)
        rows.append((k, description, weights, indices if words else None))
    return rows


@pytest.mark.parametrize("mode", IndexMode)
@pytest.mark.parametrize(
    "element_format", [ElementFormat.FP32, ElementFormat.FP16, ElementFormat.INT8]
)
def test_rows_and_extents(small, mode, element_format):
    seed = 10 * int(element_format) + int(mode)
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=(element_format,))
    operation = {
        "element": element_format,
        "index_mode": mode,
        "n": 1,
        "m": generator.randint(1, 32),
        "width": generator.choice([1, 32, 33, 65535]),
    }
    rows = random_rows(generator, operation, 60)
    m = Module()
    m.submodules.dut = dut = Describer(config=config)
    queues = {}
    for name, shape in (
        ("described", described_row_layout(config)),
        ("weights", Extent),
        ("indices", Extent),
    ):
        m.submodules[name] = queues[name] = queue = Queue(shape=shape, depth=2)
        port = getattr(dut, name)
        m.d.comb += [
            queue.i.payload.eq(port.payload),
            queue.i.valid.eq(port.valid),
            port.ready.eq(queue.i.ready),
        ]
    used = [row for row in rows if row[1]["nnz"]]
    pace = generator.choice([0.1, 0.5])

    async def pending(ctx):
        ctx.set(dut.operation, operation)
        entries = [{"marker": Marker.ROW, "k": k, "mask": k % 4} for k, *_ in rows]
        await stream_source(
            ctx, dut.pending, [*entries, {"marker": Marker.END}], seed=1, pause=pace
        )

    async def describe(ctx):
        await stream_source(ctx, dut.rows, [row[1] for row in rows], seed=2, pause=pace)

    async def described(ctx):
        pause = random.Random(3)
        for k, description, _, _ in used:
            while pause.random() < pace:
                await ctx.tick()
            got = await stream_get(ctx, queues["described"].o)
            assert (got.marker, got.k, got.mask) == (Marker.ROW, k, k % 4)
            assert got.nnz == description["nnz"]
        got = await stream_get(ctx, queues["described"].o)
        assert got.marker == Marker.END

    def extents(name, place):
        async def take(ctx):
            for row in used:
                if row[place] is not None:
                    got = await stream_get(ctx, queues[name].o)
                    assert (got.start, got.joined, got.length) == row[place]

        return take

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    for testbench in (pending, describe, described, extents("weights", 2), extents("indices", 3)):
        simulator.add_testbench(testbench)
    simulator.run()


def test_waits_behind_a_marker_until_it_has_passed(simulate, small):
    dut = Describer(config=small())

    async def bench(ctx):
        for port in (dut.described, dut.weights, dut.indices):
            ctx.set(port.ready, 1)
        ctx.set(dut.pending.payload, {"marker": Marker.DRAIN})
        ctx.set(dut.pending.valid, 1)
        assert ctx.get(dut.described.valid)
        assert ctx.get(dut.pending.ready)
        await ctx.tick()
        for marker in (Marker.ROW, Marker.END):
            ctx.set(dut.pending.payload, {"marker": marker})
            ctx.set(dut.rows.valid, 1)
            ctx.set(dut.rows.payload, {"nnz": 3})
            assert not ctx.get(dut.described.valid)
            assert not ctx.get(dut.pending.ready)
            assert not ctx.get(dut.rows.ready)
        ctx.set(dut.pending.payload, {"marker": Marker.ROW})
        ctx.set(dut.end_done, 1)
        await ctx.tick()
        ctx.set(dut.end_done, 0)
        assert ctx.get(dut.described.valid)
        assert ctx.get(dut.rows.ready)
        ctx.set(dut.rows.valid, 0)
        assert ctx.get(dut.missing)

    simulate(dut, bench)
