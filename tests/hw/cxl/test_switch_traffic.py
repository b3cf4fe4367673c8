"""Random traffic through the switch: every request answered once, with the right data, in order."""

from harness import Harness

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.latency import ANSWER_CYCLES, REQUEST_CYCLES
from fanweave.golden.cxl.tables import range_writes

PAGE = 4096
LINES = PAGE // 64


class Traffic(Harness):
    """Both hosts send to all devices, over an interleaved range and one of a single device."""

    def __init__(self, config, *, requests, rate=0.5, **more):
        super().__init__(config, **more)
        self.left = [requests] * config.upstream
        self.rate = rate
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

    def bind_port(self, host, number):
        port = self.config.upstream + number
        self.register(f"binding_{host}_{number}", bound=1, port=port, ld_id=host)

    def turn(self):
        if self.cycle < 100 and self.commands:
            return
        for host, left in enumerate(self.left):
            if left and self.random.random() < self.rate:
                before = len(self.requests[host])
                self.new_request(host, self.lines)
                self.left[host] -= len(self.requests[host]) - before

    def done(self):
        return not any(self.left) and not any(self.requests)


def test_requests_are_answered_once_in_order():
    """A little of what the soak does at length in Verilator."""
    traffic = Traffic(PRESETS["tiny"], requests=60, stall=0.3, seed=3)
    cycles = traffic.run(4000)
    assert traffic.done(), f"{traffic.requests} after {cycles} cycles"
    assert traffic.count["delivered"] > 80


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
