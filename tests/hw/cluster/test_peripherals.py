# amaranth: UnusedElaboratable=no
"""Registers of the mailbox, the barrier and the DMA, as golden's devices have them."""

import random

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.golden.isa.cluster import BARRIER, DMA, HOST, PERIPHERALS, peripheral_address
from fanweave.golden.riscv.devices import Host
from fanweave.hw.cluster.dma_registers import DmaRegisters
from fanweave.hw.cluster.mailbox import Mailbox
from fanweave.hw.cluster.peripherals import Peripherals

TOHOST, PUTCHAR, TRAP_PC, TRAP_CODE, HARTS = (
    peripheral_address(HOST, name)
    for name in ("tohost", "putchar", "trap_pc", "trap_code", "harts")
)
WAIT = peripheral_address(BARRIER, "wait")


class Bench:
    """Peripherals with all that is behind them."""

    def __init__(self, harts):
        self.dut = Peripherals(harts=harts)
        self.mailbox = Mailbox(harts=harts)
        self.dma = DmaRegisters(transfers=2, pending=4)
        self.top = Module()
        for name in ("dut", "mailbox", "dma"):
            self.top.submodules[name] = getattr(self, name)
        wiring.connect(self.top, self.dut.mailbox, self.mailbox.bus)
        wiring.connect(self.top, self.dut.dma, self.dma.bus)
        self.printed = []

    def run(self, *programs):
        simulator = Simulator(self.top)
        simulator.add_clock(1e-9)
        for program in programs:
            simulator.add_testbench(program)
        simulator.run()

    async def ask(self, ctx, hart, address, data=None, lock=0, mask=0xF, limit=50):
        """One access of a core; returns its value, or "error"."""
        port, answer = self.dut.requests[hart], self.dut.answers[hart]
        ctx.set(port.valid, 1)
        ctx.set(port.payload.address, address)
        ctx.set(port.payload.write, data is not None)
        ctx.set(port.payload.data, data or 0)
        ctx.set(port.payload.mask, mask)
        ctx.set(port.payload.lock, lock)
        taken = False
        for _ in range(limit):
            *_, taken = await ctx.tick().sample(port.ready)
            if taken:
                break
        ctx.set(port.valid, 0)
        if not taken:
            return "waits"
        assert ctx.get(answer.valid)
        return "error" if ctx.get(answer.payload.error) else ctx.get(answer.payload.data)


def test_every_register_is_there_and_nothing_else():
    bench, seen = Bench(1), {}

    async def program(ctx):
        for block in (0, 1, 2, 3, 4, 15):
            for number in range(12):
                address = HOST.base + 256 * block + 4 * number
                seen[address] = await bench.ask(ctx, 0, address)
        for address in (HARTS, WAIT, peripheral_address(DMA, "pending")):
            assert await bench.ask(ctx, 0, address, 7) == 0  # a store that does nothing
        assert await bench.ask(ctx, 0, HARTS) == 1
        assert await bench.ask(ctx, 0, HOST.base + 0x300, 7) == "error"

    bench.run(program)
    known = {block.base + 4 * entry.address for block in PERIPHERALS for entry in block.registers}
    assert {address for address, value in seen.items() if value != "error"} == known


@pytest.mark.parametrize(
    ("stores", "status"),
    [
        ([(TOHOST, 6)], (0, 0, 0)),
        ([(TOHOST, 1)], (1, 0, 0)),
        ([(TOHOST, 7), (TOHOST, 9)], (1, 0, 3)),
        ([(TRAP_PC, 0x80000010), (TRAP_CODE, 0), (TRAP_PC, 1), (TOHOST, 1)], (1, 1, 1)),
    ],
)
def test_the_end(stores, status):
    bench, golden = Bench(1), Host(1)

    async def program(ctx):
        for address, value in stores:
            assert await bench.ask(ctx, 0, address, value) == 0
        found = ctx.get(bench.mailbox.status)
        assert (found.ended, found.by_trap, found.code) == status
        assert found.trap_pc == (0x80000010 if status[1] else 0)
        first, value = stores[0]
        if first == TOHOST and not value & 1:
            golden.write(first, value)
        if not status[0]:
            assert await bench.ask(ctx, 0, TOHOST) == golden.read(TOHOST)

    bench.run(program)


def test_what_is_printed_waits_for_the_host():
    bench = Bench(1)
    text = b"some words"

    async def program(ctx):
        for byte in text:
            assert await bench.ask(ctx, 0, PUTCHAR, 0xABCD00 | byte) == 0

    async def host(ctx):
        pick = random.Random(1)
        port = bench.mailbox.printed
        while len(bench.printed) < len(text):
            ctx.set(port.ready, goes := pick.random() < 0.3)
            if goes and ctx.get(port.valid):
                bench.printed.append(ctx.get(port.payload))
            await ctx.tick()

    bench.run(program, host)
    assert bytes(bench.printed) == text


def test_nobody_passes_the_barrier_alone():
    bench, passed = Bench(2), []

    def hart(number, delays):
        async def program(ctx):
            for turn, delay in enumerate(delays):
                for _ in range(delay):
                    await ctx.tick()
                assert await bench.ask(ctx, number, WAIT) == 0
                passed.append(turn)

        return program

    bench.run(hart(0, [0, 5, 1, 9]), hart(1, [3, 0, 7, 0]))
    assert passed == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_barrier_without_the_other_holds():
    bench = Bench(2)

    async def program(ctx):
        assert await bench.ask(ctx, 0, WAIT) == "waits"
        assert await bench.ask(ctx, 1, HARTS) == 2

    bench.run(program)


def test_a_lock_keeps_the_other_hart_out():
    bench, order = Bench(2), []

    async def first(ctx):
        assert await bench.ask(ctx, 0, TRAP_PC, lock=1) == 0
        for _ in range(4):
            await ctx.tick()
        order.append("first")
        assert await bench.ask(ctx, 0, TRAP_PC, 5) == 0

    async def second(ctx):
        await ctx.tick()
        assert await bench.ask(ctx, 1, TRAP_PC) == 5
        order.append("second")
        # One that is not there takes no lock, and a store of nothing stores nothing.
        assert await bench.ask(ctx, 1, HOST.base + 0x80, lock=1) == "error"
        assert await bench.ask(ctx, 0, TRAP_PC, 9, mask=0) == 0
        assert await bench.ask(ctx, 0, TRAP_PC) == 5

    bench.run(first, second)
    assert order == ["first", "second"]


def test_a_start_waits_for_a_free_place():
    bench = Bench(1)
    start, pending, error = (peripheral_address(DMA, n) for n in ("start", "pending", "error"))

    async def program(ctx):
        for count in range(2):
            assert await bench.ask(ctx, 0, start, 0) == 0
            assert await bench.ask(ctx, 0, pending) == count + 1
        assert await bench.ask(ctx, 0, start, 0) == "waits"
        ctx.set(bench.dma.transfers.ready, 1)
        ctx.set(bench.dma.failed, 1)
        ctx.set(bench.dma.address, 0x1234)
        await ctx.tick()
        ctx.set(bench.dma.failed, 0)
        assert await bench.ask(ctx, 0, start, 0) == 0
        assert await bench.ask(ctx, 0, error) == 0x1234
        assert await bench.ask(ctx, 0, error, 1) == 0
        assert await bench.ask(ctx, 0, error) == 0

    bench.run(program)
