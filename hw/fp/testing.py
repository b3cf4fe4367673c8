"""Test support: vectors through a pipeline in Amaranth's simulator."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

__all__ = ["run_pipeline"]


def run_pipeline(
    pipeline: wiring.Component,
    inputs: Sequence[Value],
    output: Value,
    rows: Sequence[Sequence[int]],
) -> list[int]:
    """Feed rows to a free-running pipeline, one a cycle, and collect its results.

    Parameters
    ----------
    pipeline : wiring.Component
        A component with an attribute ``latency``; combinational if that is 1.
    inputs : sequence of Value
        Inputs, in the order of a row's first elements.
    output : Value
        The result.
    rows : sequence of sequences of int
        Values of the inputs, unsigned; further elements are ignored.

    Returns
    -------
    list of int
        One result a row.
    """
    results = []
    delay = pipeline.latency - 1
    # The simulator settles after every assignment, so there is only one a cycle.
    everything = Cat(*inputs)
    packed = [_pack(inputs, row) for row in rows]

    async def testbench(ctx):
        for cycle in range(len(rows) + delay):
            if cycle < len(rows):
                ctx.set(everything, packed[cycle])
            if cycle >= delay:
                results.append(ctx.get(output))
            if delay:
                await ctx.tick()

    simulator = Simulator(pipeline)
    if delay:
        simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return results


def _pack(inputs: Sequence[Value], row: Sequence[int]) -> int:
    word, position = 0, 0
    for signal, value in zip(inputs, row, strict=False):
        word |= (value & ((1 << len(signal)) - 1)) << position
        position += len(signal)
    return word
