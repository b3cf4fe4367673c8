# amaranth: UnusedElaboratable=no
"""Ports that compete for banks: order, locks, rate, and how long one waits."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.cluster.banked_memory import BankedMemory

SIZE = 1024


class Bench:
    """Drives all ports, and keeps what the memory holds as requests are taken."""

    def __init__(self, dut, *, seed=1):
        self.dut = dut
        self.random = random.Random(seed)
        self.count = dut.ports + dut.lanes
        self.words = [0] * (dut.size // 8)
        self.asking = [None] * self.count
        self.due = [None] * self.count
        self.served = 0
        self.owner = {}  # by bank: who holds its lock
        self.bank_of = {}  # by port: where its last request went

    def run(self, cycles, choose):
        """`choose` gives a port's next request, or None: address, write, mask, data, lock."""

        async def loop(ctx):
            for _ in range(cycles):
                await self.cycle(ctx, choose)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(loop)
        simulator.run()

    async def cycle(self, ctx, choose):
        for port in range(self.count):
            request = self.dut.requests[port]
            if self.asking[port] is None:
                self.asking[port] = choose(port)
            asks = self.asking[port]
            ctx.set(request.valid, asks is not None)
            if asks is not None:
                for name, value in zip(
                    ("address", "write", "mask", "data", "lock"), asks, strict=True
                ):
                    ctx.set(getattr(request.payload, name), value)
        taken = []
        for port in range(self.count):
            response = self.dut.responses[port]
            assert bool(ctx.get(response.valid)) == (self.due[port] is not None)
            if self.due[port] not in (None, "store"):
                assert ctx.get(response.payload) == self.due[port], f"port {port}"
            ready = ctx.get(self.dut.requests[port].ready) and self.asking[port] is not None
            taken.append(bool(ready))
            conflicts = ctx.get(self.dut.conflicts) >> port & 1
            assert conflicts == (self.asking[port] is not None and not ready)
        self.due = [self.take(port) if taken[port] else None for port in range(self.count)]
        used = [port for port in range(self.count) if taken[port]]
        assert len({self.bank_of[port] for port in used}) == len(used)
        await ctx.tick()

    def take(self, port):
        """A request takes effect."""
        address, write, mask, data, lock = self.asking[port]
        bank = address // 8 % self.dut.banks
        self.bank_of[port] = bank
        assert self.owner.get(bank, port) == port, "somebody else holds the lock"
        self.owner.pop(bank, None)
        if lock:
            self.owner[bank] = port
        self.asking[port] = None
        self.served += 1
        place = address // 8 % len(self.words)
        if not write:
            return self.words[place]
        keep = sum(0xFF << 8 * byte for byte in range(8) if not mask >> byte & 1)
        full = (1 << 64) - 1
        self.words[place] = (self.words[place] & keep) | (data & ~keep & full)
        return "store"


def random_request(bench, places, locking=()):
    """Requests at few places; ports in `locking` sometimes lock, and then store."""
    held = {}

    def choose(port):
        pick = bench.random
        if port in held:
            address = held.pop(port)
            return (address, 1, pick.choice([0, 0xFF, 0x0F]), pick.getrandbits(64), 0)
        if pick.random() < 0.2:
            return None
        place = pick.choice(places)
        if port >= bench.dut.ports:
            lane = port - bench.dut.ports
            place = place // bench.dut.lanes * bench.dut.lanes + lane
        address = 0x1000_0000 + 8 * place
        if port in locking and pick.random() < 0.5:
            held[port] = address
            return (address, 0, 0, 0, 1)
        return (address, pick.getrandbits(1), pick.getrandbits(8), pick.getrandbits(64), 0)

    return choose


@pytest.mark.parametrize(("banks", "ports", "lanes"), [(2, 1, 0), (4, 3, 2), (8, 5, 8)])
def test_requests_take_effect_in_the_order_in_which_they_are_taken(banks, ports, lanes):
    bench = Bench(BankedMemory(size=SIZE, banks=banks, ports=ports, lanes=lanes), seed=banks)
    places = [0, 1, 2, banks, 2 * banks, SIZE // 8 - 1]
    bench.run(1500, random_request(bench, places, locking=(0,)))
    assert bench.served > 1000


def test_ports_that_do_not_meet_are_served_in_every_cycle():
    dut = BankedMemory(size=SIZE, banks=16, ports=8, lanes=8)
    bench = Bench(dut)
    turn = [0] * 16

    def choose(port):
        # The lanes use the lower half of the banks when the ports use the upper, and so on.
        turn[port] += 1
        half = (turn[port] + (port >= 8)) % 2
        return (8 * (8 * half + port % 8), turn[port] & 1, 0xFF, turn[port], 0)

    bench.run(200, choose)
    assert bench.served == 200 * 16


def test_who_waits_sees_each_other_served_once():
    dut = BankedMemory(size=SIZE, banks=2, ports=5)
    bench = Bench(dut)
    served = []
    take = bench.take
    bench.take = lambda port: served.append(port) or take(port)
    bench.run(100, lambda port: (0, 0, 0, 0, 0))
    assert served == [port for _ in range(20) for port in range(5)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 1000}, "size = 1000 must be a power of two"),
        ({"banks": 1}, "banks = 1 must be at least 2"),
        ({"banks": 3}, "banks = 3 must be a power of two"),
        ({"lanes": 8}, "lanes = 8 must be at most banks = 4"),
        ({"size": 32}, "size = 32 must be at least 16 bytes a bank, 64"),
    ],
)
def test_bad_sizes(changes, message):
    with pytest.raises(ValueError, match=message):
        BankedMemory(**{"size": SIZE, "banks": 4, "ports": 1, "lanes": 0, **changes})
