# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.sim import Simulator

from fanweave.hw.stream import StallInjector, StreamChecker, Violation


def observe(checker, cycles):
    """Show the checker a list of (valid, ready, payload); return what it says afterwards."""
    outcome = {}

    async def bench(ctx):
        for valid, ready, payload in cycles:
            ctx.set(checker.valid, valid)
            ctx.set(checker.ready, ready)
            ctx.set(checker.payload, payload)
            await ctx.tick()
        for name in ("violation", "cause", "transfers", "waiting"):
            outcome[name] = ctx.get(getattr(checker, name))

    simulator = Simulator(checker)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return outcome


def test_a_lawful_stream_passes_and_is_counted():
    cycles = [(0, 0, 1), (1, 0, 5), (1, 0, 5), (1, 1, 5), (1, 1, 6), (0, 1, 9), (0, 0, 3)]
    outcome = observe(StreamChecker(shape=8), cycles)
    assert outcome["violation"] == 0
    assert outcome["cause"] == Violation.NONE
    assert outcome["transfers"] == 2


@pytest.mark.parametrize(
    ("cycles", "cause"),
    [
        ([(1, 0, 5), (0, 0, 5)], Violation.VALID_DROPPED),
        ([(1, 0, 5), (1, 1, 4)], Violation.PAYLOAD_CHANGED),
        ([(1, 0, 5), (1, 0, 4), (0, 0, 4), (1, 1, 4)], Violation.PAYLOAD_CHANGED),
        ([(1, 0, 5), (0, 1, 5), (1, 0, 4), (1, 1, 9)], Violation.VALID_DROPPED),
    ],
)
def test_a_breach_is_sticky_and_keeps_its_first_cause(cycles, cause):
    outcome = observe(StreamChecker(shape=8), [*cycles, (0, 0, 0), (0, 0, 0)])
    assert outcome["violation"] == 1
    assert outcome["cause"] == cause


@pytest.mark.parametrize(("waits", "raised"), [(3, 0), (4, 1)])
def test_waiting_longer_than_the_bound_is_reported(waits, raised):
    cycles = [(1, 0, 5)] * waits + [(1, 1, 5), (0, 0, 0)]
    assert observe(StreamChecker(shape=8, bound=3), cycles)["waiting"] == raised


def test_it_watches_a_stream_of_structs():
    layout = data.StructLayout({"low": 4, "high": 4})
    m = Module()
    m.submodules.stall = stall = StallInjector(shape=layout)
    m.submodules.checker = checker = StreamChecker(shape=layout)
    checker.watch(m, stall.o)

    async def bench(ctx):
        ctx.set(stall.i.payload, {"low": 1, "high": 2})
        ctx.set(stall.i.valid, 1)
        await ctx.tick()
        ctx.set(stall.i.payload.high, 3)
        await ctx.tick()
        assert ctx.get(checker.cause) == Violation.PAYLOAD_CHANGED

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"bound": -1}, ValueError, "Bound of a stream checker must not be negative, not -1"),
        ({"bound": "x"}, TypeError, "Bound of a stream checker must be an integer, not 'x'"),
        (
            {"count_width": 0},
            ValueError,
            "Counter width of a stream checker must be positive, not 0",
        ),
        (
            {"count_width": 1.5},
            TypeError,
            "Counter width of a stream checker must be an integer, not 1.5",
        ),
    ],
)
def test_illegal_parameters_are_refused(parameters, error, message):
    with pytest.raises(error) as caught:
        StreamChecker(shape=8, **parameters)
    assert str(caught.value) == message
