"""Random traffic through the switch: every request answered once, with the right data, in order."""

import pytest
from harness import Harness

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.cxl.latency import ANSWER_CYCLES, REQUEST_CYCLES
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.isa.cxl_event import BisnpOpcode

PAGE = 4096
LINES = PAGE // 64


class Traffic(Harness):
    """Both hosts send to all devices, over an interleaved range and one of a single device."""

    def __init__(self, config, *, requests, rate=0.5, bind=0.0, **more):
        super().__init__(config, **more)
        self.left = [requests] * config.upstream
        self.rate = rate
        self.bind = bind
        ways = 1 << (min(config.downstream, 4).bit_length() - 1)
        for host in range(config.upstream):
            for number in range(ways):
                self.bind_port(host, number)
            targets = list(range(ways))
            commands = range_writes(
                config, host=host, number=0, first=PAGE, size=2 * PAGE, targets=targets
            )
            commands += range_writes(
                config, host=host, number=1, first=8 * PAGE, size=PAGE, targets=[ways - 1]
            )
            self.commands.extend(commands)
        # The last page is in no range.
        self.lines = [*range(LINES, 3 * LINES), *range(8 * LINES, 9 * LINES + 4)]

    def bind_port(self, host, number, *, bound=1):
        port = self.config.upstream + number
        self.register(f"binding_{host}_{number}", bound=bound, port=port, ld_id=host)

    def turn(self):
        if self.cycle < 100 and self.commands:
            return
        for host, left in enumerate(self.left):
            if left and self.random.random() < self.rate:
                before = len(self.requests[host])
                self.new_request(host, self.lines)
                self.left[host] -= len(self.requests[host]) - before
        if self.random.random() < self.bind:
            host = self.random.randrange(self.config.upstream)
            self.bind_port(host, self.random.randrange(2), bound=self.random.randrange(2))

    def done(self):
        return not any(self.left) and not any(self.requests)


@pytest.mark.parametrize("stall", [0.0, 0.3])
def test_requests_are_answered_once_in_order(stall):
    traffic = Traffic(PRESETS["tiny"], requests=150, stall=stall, seed=3)
    cycles = traffic.run(4000)
    assert traffic.done(), f"{traffic.requests} after {cycles} cycles"
    assert traffic.count["delivered"] > 200


def test_ports_are_bound_and_unbound_under_way():
    traffic = Traffic(PRESETS["tiny"], requests=150, bind=0.1, stall=0.1, seed=4)
    traffic.run(4000)
    assert traffic.done(), traffic.requests
    assert 100 < traffic.count["delivered"] < 300


@pytest.mark.parametrize("stall", [0.0, 0.3])
def test_snoops_find_their_host_and_answers_their_device(stall):
    """Single lines and blocks, of logical devices that a host has and of one that none has."""
    config = PRESETS["tiny"]
    opcodes = list(BisnpOpcode)

    class Snooping(Traffic):
        def turn(self):
            super().turn()
            port = self.random.randrange(config.upstream, config.ports)
            if self.sent < 200 and self.cycle > 60 and self.random.random() < 0.2:
                self.snoop(
                    port,
                    opcode=self.random.choice(opcodes),
                    bi_id=self.random.randrange(3),
                    bi_tag=self.sent,
                    address=4 * self.sent + self.random.choice([1, 2, 3]),
                )
                self.sent += 1

        def done(self):
            return super().done() and self.sent == 200 and self.quiet()

        def quiet(self):
            return not self.due and not any(self.outbox.values()) and self.checker.settled

    traffic = Snooping(config, requests=60, rate=0.1, stall=stall, seed=12)
    traffic.sent = 0
    traffic.run(6000)
    assert traffic.done(), traffic.count
    assert 100 < traffic.count["snooped"] < 160
    assert traffic.count["snoop_answered"] > 200


def test_late_and_double_answers_go_nowhere():
    traffic = Traffic(PRESETS["tiny"], requests=150, seed=5, device_delay=(1, 90))
    traffic.register("timeout", cycles=64)
    traffic.checker.faulty = {2, 3}
    traffic.run(6000)
    assert traffic.done(), traffic.requests
    assert traffic.count["lost"] > 10
    assert traffic.count["answered"] - traffic.count["lost"] > 100


def test_a_device_that_says_nothing_costs_only_its_own_requests():
    traffic = Traffic(PRESETS["tiny"], requests=100, seed=6)
    traffic.register("timeout", cycles=100)
    traffic.checker.silent = {3}
    traffic.run(6000)
    assert traffic.done(), traffic.requests
    assert traffic.count["lost"] > 20


@pytest.mark.parametrize(("reads", "channel"), [(1.0, 0), (0.0, 1)])
def test_balanced_random_traffic_keeps_every_host_port_busy(reads, channel):
    """A message a cycle on each host's request channel, of which at least 95% are reached."""
    cycles = 400

    class Flood(Traffic):
        def turn(self):
            if self.commands:
                return
            if not hasattr(self, "begin"):
                self.begin = self.cycle
            for host in range(self.config.upstream):
                while len(self.outbox["host", host, channel]) < 4:
                    self.new_request(host, self.lines[: 2 * LINES], tags=4096, reads=reads)

        def done(self):
            return hasattr(self, "begin") and self.cycle >= self.begin + cycles

    flood = Flood(SwitchConfig(), requests=0, seed=7)
    flood.run(800)
    share = flood.count["delivered"] / (flood.config.upstream * cycles)
    print(f"messages a cycle and host port: {share:.3f}")
    assert share >= 0.95


def test_the_latency_of_an_idle_switch_is_what_the_model_says():
    class Single(Traffic):
        def on_request(self, host, came):
            super().on_request(host, came)
            self.taken = self.cycle

        def at_device(self, port, came):
            super().at_device(port, came)
            self.down = self.cycle - self.taken

        def on_answer(self, port, came):
            super().on_answer(port, came)
            self.taken = self.cycle

        def at_host(self, host, came):
            super().at_host(host, came)
            self.up = self.cycle - self.taken

    single = Single(PRESETS["tiny"], requests=0, device_delay=(5, 5))
    single.turn = lambda: single.new_request(0, [LINES], reads=0.0) if single.cycle == 60 else None
    single.done = lambda: hasattr(single, "up")
    single.run(200)
    print(f"cycles: {single.down} to the device, {single.up} back")
    assert (single.down, single.up) == (REQUEST_CYCLES, ANSWER_CYCLES)
