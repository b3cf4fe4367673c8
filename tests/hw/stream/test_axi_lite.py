"""AXI4-Lite registers: every order of the channels, refusals, and back-pressure."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.stream.axi_lite import AxiLiteRegisters, Response, axi_lite_members
from fanweave.hw.stream.axi_stream import axi_stream_members

WRITABLE = (0, 1, 5)
READABLE = (0, 1, 6)


def build():
    return AxiLiteRegisters(address_bits=6, writable=WRITABLE, readable=READABLE)


def simulate(dut, *processes):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for process in processes:
        simulator.add_testbench(process)
    simulator.run()


async def offer(ctx, dut, valid, ready, **values):
    """Put values on a channel until they are taken."""
    for name, value in values.items():
        ctx.set(getattr(dut, name), value)
    ctx.set(getattr(dut, valid), 1)
    await ctx.tick().until(getattr(dut, ready))
    ctx.set(getattr(dut, valid), 0)


async def answer(ctx, dut, valid, ready, *names):
    """Take an answer."""
    ctx.set(getattr(dut, ready), 1)
    values = (
        await ctx.tick().sample(*(getattr(dut, name) for name in names)).until(getattr(dut, valid))
    )
    ctx.set(getattr(dut, ready), 0)
    return values


@pytest.mark.parametrize("first", ["address", "data"])
def test_address_and_data_come_in_any_order(first):
    dut = build()

    async def bench(ctx):
        ctx.set(dut.writes.ready, 1)
        address = ("awvalid", "awready"), {"awaddr": 4 * 5}
        data = ("wvalid", "wready"), {"wdata": 0xCAFE, "wstrb": 0xF}
        for (valid, ready), values in [address, data] if first == "address" else [data, address]:
            assert not ctx.get(dut.writes.valid)
            await offer(ctx, dut, valid, ready, **values)
        assert ctx.get(dut.writes.valid)
        assert ctx.get(dut.writes.payload.address) == 5
        assert ctx.get(dut.writes.payload.data) == 0xCAFE
        (response,) = await answer(ctx, dut, "bvalid", "bready", "bresp")
        assert response == Response.OKAY.value
        assert not ctx.get(dut.writes.valid)

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("word", "strobes"), [(2, 0xF), (6, 0xF), (15, 0xF), (5, 0x7), (5, 0x0), (0, 0xE)]
)
def test_a_refused_write_does_nothing(word, strobes):
    dut = build()
    seen = []

    async def bench(ctx):
        await offer(ctx, dut, "awvalid", "awready", awaddr=4 * word)
        await offer(ctx, dut, "wvalid", "wready", wdata=1, wstrb=strobes)
        (response,) = await answer(ctx, dut, "bvalid", "bready", "bresp")
        assert response == Response.SLVERR.value

    async def watch(ctx):
        for _ in range(12):
            seen.append(ctx.get(dut.writes.valid))
            await ctx.tick()

    simulate(dut, bench, watch)
    assert not any(seen)


def test_a_write_is_answered_when_it_was_taken():
    dut = build()

    async def bench(ctx):
        await offer(ctx, dut, "awvalid", "awready", awaddr=0)
        await offer(ctx, dut, "wvalid", "wready", wdata=7, wstrb=0xF)
        for _ in range(5):
            assert ctx.get(dut.writes.valid)
            assert not ctx.get(dut.bvalid)
            await ctx.tick()
        ctx.set(dut.writes.ready, 1)
        await ctx.tick()
        ctx.set(dut.writes.ready, 0)
        assert not ctx.get(dut.writes.valid)
        assert ctx.get(dut.bvalid)

    simulate(dut, bench)


@pytest.mark.parametrize("word", range(16))
def test_reads(word):
    dut = build()

    async def bench(ctx):
        ctx.set(dut.read_data, 0x1234_5678)
        await offer(ctx, dut, "arvalid", "arready", araddr=4 * word + 3)
        data, response = await answer(ctx, dut, "rvalid", "rready", "rdata", "rresp")
        known = word in READABLE
        assert data == (0x1234_5678 if known else 0)
        assert response == (Response.OKAY if known else Response.SLVERR).value

    simulate(dut, bench)


def test_nothing_is_lost_when_all_sides_stall():
    """Sixty writes and reads at once, each channel with its own random pauses."""
    dut = build()
    count = 60
    seed = 5
    print(f"seed {seed}")
    generator = random.Random(seed)
    words = [generator.choice((0, 1, 2, 5)) for _ in range(count)]
    taken = []
    responses = []
    reads = []

    async def pause(ctx, source):
        while source.random() < 0.5:
            await ctx.tick()

    async def addresses(ctx):
        source = random.Random(1)
        for word in words:
            await pause(ctx, source)
            await offer(ctx, dut, "awvalid", "awready", awaddr=4 * word)

    async def values(ctx):
        source = random.Random(2)
        for number in range(count):
            await pause(ctx, source)
            await offer(ctx, dut, "wvalid", "wready", wdata=number, wstrb=0xF)

    async def answers(ctx):
        source = random.Random(3)
        for _ in range(count):
            await pause(ctx, source)
            (response,) = await answer(ctx, dut, "bvalid", "bready", "bresp")
            responses.append(response)

    async def taker(ctx):
        source = random.Random(4)
        while len(responses) < count:
            ctx.set(dut.writes.ready, source.random() < 0.5)
            _, _, valid, ready, address, data = await ctx.tick().sample(
                dut.writes.valid,
                dut.writes.ready,
                dut.writes.payload.address,
                dut.writes.payload.data,
            )
            if valid and ready:
                taken.append((address, data))

    async def reading(ctx):
        source = random.Random(6)
        for word in words:
            await offer(ctx, dut, "arvalid", "arready", araddr=4 * word)
            await pause(ctx, source)
            data, response = await answer(ctx, dut, "rvalid", "rready", "rdata", "rresp")
            reads.append((data, response))

    async def register_file(ctx):
        while len(reads) < count:
            ctx.set(dut.read_data, ctx.get(dut.read_address) + 100)
            await ctx.delay(1e-7)

    simulate(dut, addresses, values, answers, taker, reading, register_file)
    assert taken == [(w, n) for n, w in enumerate(words) if w in WRITABLE]
    assert responses == [0 if w in WRITABLE else 2 for w in words]
    assert reads == [(w + 100, 0) if w in READABLE else (0, 2) for w in words]


@pytest.mark.parametrize("bits", [2, 0, "6"])
def test_an_address_that_is_too_narrow_is_refused(bits):
    with pytest.raises(ValueError, match="Address width must be an integer of at least 3"):
        AxiLiteRegisters(address_bits=bits, writable=(), readable=())


def test_a_word_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Word address 0x10 does not fit in byte addresses of 6"):
        AxiLiteRegisters(address_bits=6, writable=(16,), readable=())


def test_ports_have_the_names_of_the_standard():
    members = axi_lite_members(12, prefix="s_axil_")
    assert len(members) == 19
    assert {"s_axil_awaddr", "s_axil_bresp", "s_axil_rready"} <= set(members)
    stream = axi_stream_members("x", transmits=True, data_bits=64, keep=True, last=True)
    assert list(stream) == [
        "m_axis_x_tdata",
        "m_axis_x_tkeep",
        "m_axis_x_tlast",
        "m_axis_x_tvalid",
        "m_axis_x_tready",
    ]
    assert list(axi_stream_members("y", transmits=False, data_bits=8, user_bits=1)) == [
        "s_axis_y_tdata",
        "s_axis_y_tuser",
        "s_axis_y_tvalid",
        "s_axis_y_tready",
    ]
    with pytest.raises(ValueError, match="whole number of bytes wide, not 12 bits"):
        axi_stream_members("z", transmits=False, data_bits=12)
