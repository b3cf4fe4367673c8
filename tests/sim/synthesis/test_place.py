"""A small unit is placed and routed, and its frequency and what bounds it are read."""

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.convert import to_rtlil
from fanweave.hw.generate.harness import ScanHarness
from fanweave.sim.synthesis.place import place_ecp5


class Sum(wiring.Component):
    """Adds what comes in to a register; far more ports than a chip has pins would not matter."""

    a: In(24)
    b: In(24)
    total: Out(24)

    def elaborate(self, platform):
        m = Module()
        product = Signal(24)
        m.d.sync += [product.eq(self.a * self.b), self.total.eq(self.total + product)]
        return m


@pytest.fixture(scope="module")
def placed():
    return place_ecp5(to_rtlil(ScanHarness(unit=Sum()), name="harness"), "harness")


def test_the_frequency_is_that_of_the_longest_path(placed):
    assert 30 < placed.fmax_mhz < 500
    assert placed.path.delay_ns == pytest.approx(1000 / placed.fmax_mhz, rel=0.01)
    assert 0 < placed.path.routing_ns < placed.path.delay_ns


def test_the_path_has_names_of_the_source(placed):
    signals = [step.signal for step in placed.path.steps]
    assert signals
    assert all(not name.startswith("unit.") and "_TRELLIS" not in name for name in signals)
    assert {name.split("[")[0] for name in signals} & {"a", "b", "product", "total", "drive"}


def test_what_the_device_has_and_lends(placed):
    assert placed.used["MULT18X18D"] >= 2
    # Two chains of registers besides the unit's own two.
    assert placed.used["TRELLIS_FF"] >= 24 * 3
    assert placed.available["TRELLIS_FF"] == 83_640


def test_a_place_and_route_that_takes_too_long_is_stopped(placed):
    with pytest.raises(FaultError, match=r"did not end with harness within 0\.01 s"):
        place_ecp5(to_rtlil(ScanHarness(unit=Sum()), name="harness"), "harness", limit=0.01)


def test_a_design_without_a_clock_is_a_fault():
    class Wire(wiring.Component):
        a: In(1)
        b: Out(1)

        def elaborate(self, platform):
            m = Module()
            m.d.comb += self.b.eq(~self.a)
            return m

    with pytest.raises(FaultError, match="wire has no clock, so it has no highest frequency"):
        place_ecp5(to_rtlil(Wire(), name="wire"), "wire")
