import pytest

from fanweave.golden.dops.calibration.operator_table import OperatorTable
from fanweave.golden.errors import InputError


def test_a_line_is_drawn_between_measured_sizes():
    table = OperatorTable([10, 20], [100, 300], tiled=False)
    assert [table.time_ps(size) for size in (1, 10, 15, 20)] == [100, 100, 200, 300]


def test_a_product_jumps_behind_the_edge_of_a_tile():
    table = OperatorTable([112, 144, 160], [10, 20, 30], tiled=True)
    assert [table.time_ps(size) for size in (113, 128, 129, 144, 152)] == [10, 10, 20, 20, 25]


def test_beyond_the_largest_size_time_grows_in_proportion():
    table = OperatorTable([10, 20], [100, 300], tiled=True)
    assert table.time_ps(40) == 600
    assert table.covers(20)
    assert not table.covers(21)
    assert not table.covers(9)


@pytest.mark.parametrize(
    ("sizes", "times"), [([], []), ([1, 1], [1, 2]), ([2, 1], [1, 2]), ([1], [1, 2])]
)
def test_sizes_must_increase(sizes, times):
    with pytest.raises(InputError, match="operator table"):
        OperatorTable(sizes, times, tiled=False)
