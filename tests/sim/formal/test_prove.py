# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.formal import prove


class Counter(wiring.Component):
    """Counts to ``last`` and stays; asserts that it stays below ``bound``."""

    def __init__(self, *, last, bound):
        self.last = last
        self.bound = bound
        super().__init__({"enable": In(1), "count": Out(8)})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable & (self.count != self.last)):
            m.d.sync += self.count.eq(self.count + 1)
        if self.bound is not None:
            m.d.comb += Assert(self.count < self.bound)
        return m


def test_a_true_assertion_is_proved():
    result = prove(Counter(last=5, bound=6), name="test-true", mode="bmc", depth=10)
    assert result.properties == 1
    assert result.mode == "bmc"


def test_a_false_assertion_gives_its_place_and_the_ports():
    with pytest.raises(FaultError) as caught:
        prove(Counter(last=9, bound=5), name="test-false", depth=8)
    message = str(caught.value)
    assert message.startswith("proof 'test-false': the assertion at ")
    assert "test_prove.py" in message
    assert message.splitlines()[-1].split()[0] == "count=0x5"
    assert message.splitlines()[-2].split() == ["count=0x4", "enable=0x1"]


def test_an_induction_that_does_not_close_says_so():
    # From the unreachable count of 100 the counter would go on to 200.
    with pytest.raises(FaultError, match=r"the induction over 4 cycles does not close"):
        prove(Counter(last=50, bound=200), name="test-open", depth=4)


class Parity(wiring.Component):
    """Asserts, without any register, that exclusive or is associative."""

    def __init__(self):
        super().__init__({"a": In(4), "b": In(4), "c": In(4)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += Assert(((self.a ^ self.b) ^ self.c) == (self.a ^ (self.b ^ self.c)))
        return m


def test_a_combinational_design_is_proved():
    assert prove(Parity(), name="test-combinational", depth=1).properties == 1


def test_a_design_without_assertions_is_refused():
    with pytest.raises(InputError, match=r"proof 'test-nothing' has no Assert"):
        prove(Counter(last=9, bound=None), name="test-nothing")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a/b"}, "name is 'a/b'; expected letters, digits, '-' and '_'"),
        ({"name": "a", "mode": "live"}, "mode is 'live'; expected one of 'prove', 'bmc'"),
        ({"name": "a", "depth": 0}, "depth is 0; expected a positive number of cycles"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        prove(Counter(last=9, bound=10), **arguments)
    assert str(caught.value) == message
