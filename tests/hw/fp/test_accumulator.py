# amaranth: UnusedElaboratable=no
import numpy as np
import pytest
from amaranth.hdl import Value

from fanweave.golden.errors import InputError
from fanweave.golden.fp import multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import Accumulator, Product
from fanweave.hw.fp.product import ZERO_EXPONENT
from fanweave.hw.fp.testing import run_pipeline

ONE = 0x3F800000


def number(value, exponent=0, sign=0):
    """Fields of the product ``value * 2**exponent``, value an integer."""
    if not value:
        return {"sign": sign, "zero": 1, "exponent": ZERO_EXPONENT}
    shift = 48 - value.bit_length()
    return {"sign": sign, "significand": value << shift, "exponent": 127 + 47 - shift + exponent}


CASES = {
    # name: (product, addend, multiply, sum)
    "one and one": (number(1), ONE, 0, 0x40000000),
    "addend ignored": (number(3), ONE, 1, 0x40400000),
    "sign of a lone zero": (number(0, sign=1), ONE, 1, 0x80000000),
    "addend through zero": (number(0), 0x80000001, 0, 0x80000001),
    "zeros of both signs": (number(0, sign=1), 0, 0, 0),
    "negative zeros": (number(0, sign=1), 0x80000000, 0, 0x80000000),
    "cancellation": (number(1, sign=1), ONE, 0, 0),
    "deep cancellation": (number((1 << 47) + 1, -47, sign=1), ONE, 0, 0xA8000000),
    "tie to even, down": (number(1, -24), ONE, 0, ONE),
    "tie to even, up": (number(1, -24), ONE + 1, 0, ONE + 2),
    "above a tie by far less": (number((1 << 40) + 1, -64), ONE, 0, ONE + 1),
    "below a tie by far less": (number((1 << 40) - 1, -64), ONE + 1, 0, ONE + 1),
    "sticky below a difference": (number(1, -200, sign=1), ONE, 0, ONE),
    "carry into the next exponent": (number(1, -24), 0x3FFFFFFF, 0, 0x40000000),
    "overflow by rounding": (number(1, 103), 0x7F7FFFFF, 0, 0x7F800000),
    "far overflow": (number(1, 255), 0xFF800000 - 1, 0, 0x7F800000),
    "subnormal sum": (number(3, -149), 0x00000004, 0, 0x00000007),
    "subnormal difference": (number(3, -149, sign=1), 0x00800000, 0, 0x007FFFFD),
    "product above a subnormal": (number(9, -149, sign=1), 0x00000004, 0, 0x80000005),
    "half of the least": (number(1, -150), 0, 1, 0),
    "more than half of the least": (number(3, -151), 0, 1, 1),
    "least and far less": (number(1, -298, sign=1), 1, 0, 1),
    "infinite product": ({"infinity": 1, "sign": 1}, ONE, 0, 0xFF800000),
    "infinite addend": (number(1, 255, sign=1), 0x7F800000, 0, 0x7F800000),
    "opposite infinities": ({"infinity": 1, "sign": 1}, 0x7F800000, 0, 0x7FC00000),
    "like infinities": ({"infinity": 1, "sign": 1}, 0xFF800000, 0, 0xFF800000),
    "infinity alone": ({"infinity": 1, "sign": 1}, 0x7F800000, 1, 0xFF800000),
    "product not a number": ({"nan": 1, "sign": 1}, ONE, 0, 0x7FC00000),
    "addend not a number": (number(1), 0xFF800001, 0, 0x7FC00000),
    "addend not a number, ignored": (number(1), 0xFF800001, 1, ONE),
}


def simulate(accumulator, inputs):
    """Feed inputs (product fields, addend, multiply, integer); return the sums, in order."""
    rows = [
        (Product.as_shape().const(product).as_value().value, *others) for product, *others in inputs
    ]
    ports = (
        Value.cast(accumulator.product),
        accumulator.addend,
        accumulator.multiply,
        accumulator.integer,
    )
    return run_pipeline(accumulator, ports, accumulator.sum, rows)


@pytest.mark.parametrize("latency", [1, 2, 3, 4])
def test_directed_cases_at_every_latency(latency):
    accumulator = Accumulator(latency=latency, integer=False)
    inputs = [(product, addend, multiply, 0) for product, addend, multiply, _ in CASES.values()]
    expected = [total for *_, total in CASES.values()]
    sums = simulate(accumulator, inputs)
    wrong = {
        name: (hex(got), hex(total))
        for name, got, total in zip(CASES, sums, expected, strict=True)
        if got != total
    }
    assert not wrong


@pytest.mark.parametrize("latency", [1, 3])
def test_integers_wrap_between_floats(latency):
    accumulator = Accumulator(latency=latency, integer=True)
    inputs = [
        ({"significand": 16384}, 0x7FFFFFFF, 0, 1),
        (number(1), ONE, 0, 0),
        ({"significand": -5 & 0xFFFF}, 3, 0, 1),
        ({"significand": -5 & 0xFFFF}, 3, 1, 1),
    ]
    expected = [0x80003FFF, 0x40000000, 0xFFFFFFFE, 0xFFFFFFFB]
    assert simulate(accumulator, inputs) == expected


def test_the_model_is_golden():
    product = np.array([1.5, -2.0])
    expected = multiply_accumulate(
        np.uint32(ONE), np.array([0x3E00, 0xC000]), np.uint32(0x3C00), ElementFormat.FP16
    )
    assert np.array_equal(Accumulator.model(np.uint32(ONE), product), expected)


def test_a_product_fits_in_a_machine_word():
    assert Product.as_shape().size <= 64


@pytest.mark.parametrize("latency", [0, 5, True, 1.0])
def test_a_wrong_latency_is_refused(latency):
    with pytest.raises(InputError) as caught:
        Accumulator(latency=latency, integer=False)
    assert str(caught.value) == f"latency is {latency!r}; expected an integer from 1 to 4"


def test_a_wrong_integer_is_refused():
    with pytest.raises(InputError) as caught:
        Accumulator(latency=1, integer=1)
    assert str(caught.value) == "integer is 1; expected True or False"
