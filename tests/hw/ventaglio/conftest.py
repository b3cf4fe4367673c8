"""What the block tests share."""

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig


@pytest.fixture
def simulate():
    """Run testbenches on a component until all of them have ended."""

    def run(top, *testbenches, clocked=True):
        simulator = Simulator(top)
        if clocked:
            simulator.add_clock(1e-6)
        for testbench in testbenches:
            simulator.add_testbench(testbench)
        simulator.run()

    return run


@pytest.fixture
def small():
    """A unit of 4 lanes of FP16, or 8 of an 8-bit format."""

    def make(**changes):
        settings = {
            "formats": (ElementFormat.FP16, ElementFormat.INT8),
            "beat_bits": 64,
            "accumulators": 32,
            "banks": 4,
            "mask_columns": 32,
            "max_outputs": 2,
            "row_queue": 2,
        }
        return VentaglioConfig(**{**settings, **changes})

    return make
