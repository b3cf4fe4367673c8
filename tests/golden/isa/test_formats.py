import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import register


@pytest.mark.parametrize("element_format", ElementFormat)
def test_fields_fill_the_element(element_format):
    layout = element_format.layout
    if element_format.is_integer:
        assert layout.exponent_bits == layout.fraction_bits == 0
    else:
        assert 1 + layout.exponent_bits + layout.fraction_bits == layout.bits
        assert layout.bias == (1 << layout.exponent_bits - 1) - 1
    assert layout.bits == element_format.bits
    assert element_format.bits in (8, 16, 32)
    assert element_format < 1 << register("format").field("element").width


@pytest.mark.parametrize("element_format", [f for f in ElementFormat if not f.is_integer])
def test_the_canonical_nan_is_a_quiet_positive_nan(element_format):
    layout = element_format.layout
    fraction = layout.canonical_nan & (1 << layout.fraction_bits) - 1
    exponent = layout.canonical_nan >> layout.fraction_bits
    assert exponent == (1 << layout.exponent_bits) - 1  # all ones, sign 0
    quiet = 1 << layout.fraction_bits - 1
    assert fraction == (quiet if layout.has_infinity else 2 * quiet - 1)


def test_only_int8_accumulates_integers():
    assert [f for f in ElementFormat if f.is_integer] == [ElementFormat.INT8]
