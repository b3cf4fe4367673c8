import math

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import preset
from fanweave.golden.ventaglio.roofline import bytes_per_nonzero, roofline

FP32, FP16, E4M3 = ElementFormat.FP32, ElementFormat.FP16, ElementFormat.E4M3


@pytest.mark.parametrize(
    ("element_format", "mode", "m", "density", "size", "bound"),
    [
        (FP32, IndexMode.N_OF_M, 4, 0.5, 4.25, 7.53),
        (FP16, IndexMode.N_OF_M, 4, 0.5, 2.25, 14.2),
        (E4M3, IndexMode.N_OF_M, 4, 0.5, 1.25, 25.6),
        (FP16, IndexMode.ABSOLUTE_16, 1, 0.5, 4.0, 8.0),
        (FP16, IndexMode.BITMASK, 1, 0.5, 2.25, 14.2),
        (FP16, IndexMode.DENSE, 1, 1.0, 2.0, 16.0),
    ],
)
def test_one_output_row_over_a_shared_port(element_format, mode, m, density, size, bound):
    assert bytes_per_nonzero(element_format, mode, m=m, density=density) == size
    got = roofline(preset("default"), element_format, mode, m=m, density=density)
    assert got == pytest.approx(bound, rel=0.003)


def test_two_output_rows_or_two_ports_reach_the_lanes():
    config = preset("default")
    assert roofline(config, FP16, IndexMode.ABSOLUTE_16, outputs=2) == 16
    assert roofline(config, FP16, IndexMode.ABSOLUTE_16, shared=False) == 16
    assert roofline(config, E4M3, IndexMode.ABSOLUTE_16, shared=False) == 16


def test_an_empty_bitmask_is_all_overhead():
    assert math.isinf(bytes_per_nonzero(FP16, IndexMode.BITMASK, density=0.0))
