# amaranth: UnusedElaboratable=no
from fractions import Fraction

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import Multiplier
from fanweave.hw.fp.product import ZERO_EXPONENT
from fanweave.hw.fp.testing import run_pipeline
from fanweave.sim.benches.fp.vectors import corners, random_vectors

FP32, FP16, BF16, E4M3, E5M2, INT8 = ElementFormat
LANES = [
    tuple(ElementFormat),
    (FP16, BF16, E4M3, E5M2, INT8),
    (E4M3, E5M2, INT8),
    (E5M2,),
    (INT8,),
]


def vectors(element_format):
    rng = np.random.default_rng(5)
    edges = corners(element_format)[::2]
    a, b = (side.ravel() for side in np.meshgrid(edges, edges))
    random_a, random_b, _ = random_vectors(element_format, 150, rng)
    return np.concatenate([a, random_a]), np.concatenate([b, random_b])


def value_of(product):
    return (-1) ** product.sign * product.significand * Fraction(2) ** (product.exponent - 127 - 47)


def check_float(product, expected):
    """Compare the fields of a product with its value as a float64."""
    assert product.nan == np.isnan(expected)
    if product.nan:
        return
    assert product.sign == np.signbit(expected)
    assert product.infinity == np.isinf(expected)
    if product.infinity:
        return
    assert product.zero == (expected == 0)
    assert value_of(product) == Fraction(float(expected))
    if product.zero:
        assert product.exponent == ZERO_EXPONENT
    else:
        assert product.significand >> 47 == 1


def check_integer(product, expected):
    """Compare the fields of an INT8 product with its value."""
    assert product.significand == int(expected) & 0xFFFF
    flags = (product.sign, product.zero, product.infinity, product.nan, product.exponent)
    assert flags == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("formats", LANES, ids=lambda formats: "-".join(f.name for f in formats))
def test_products_are_exact_and_normalised(formats):
    multiplier = Multiplier(formats=formats)

    for element_format in formats:
        a, b = vectors(element_format)
        # Bits above an element do not matter.
        above = 0xA5A5A5A5 << element_format.bits
        rows = [
            (left | above, right, element_format)
            for left, right in zip(a.tolist(), b.tolist(), strict=True)
        ]
        inputs = (multiplier.a, multiplier.b, multiplier.format)
        got = run_pipeline(multiplier, inputs, multiplier.product, rows)
        expected = Multiplier.model(a, b, element_format)
        check = check_integer if element_format.is_integer else check_float
        for product, value in zip(got, expected, strict=True):
            check(product, value)


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        ((), "formats is empty; name at least one ElementFormat member"),
        ((1,), "formats contains 1; expected only ElementFormat members"),
        (
            FP16,
            "formats is <ElementFormat.FP16: 1>; expected a collection of ElementFormat members",
        ),
        ("FP16", "formats is 'FP16'; expected a collection of ElementFormat members"),
    ],
)
def test_wrong_formats_are_refused(formats, message):
    with pytest.raises(InputError) as caught:
        Multiplier(formats=formats)
    assert str(caught.value) == message


def test_ports_are_as_wide_as_the_widest_format():
    assert len(Multiplier(formats=[E4M3, INT8]).a) == 8
    assert len(Multiplier(formats=[E4M3, BF16]).b) == 16
    assert len(Multiplier(formats={FP32}).a) == 32
