import pytest

from fanweave.golden.dops.calibration.samples import Sample, merge_duplicates, relative_errors
from fanweave.golden.errors import InputError


def sample(time_ps, m=1, operator="o"):
    return Sample(operator=operator, kind="gemm", m=m, n=2, k=3, time_ps=time_ps)


def test_errors_are_relative_to_the_measurement():
    summary = relative_errors([110, 80, 100], [100, 100, 100])
    assert summary.count == 3
    assert summary.mean == pytest.approx(0.1)
    assert summary.worst == pytest.approx(0.2)
    assert summary.bias == pytest.approx(-1 / 30)
    assert relative_errors([], []).count == 0


def test_duplicates_are_merged_to_their_median():
    merged = merge_duplicates([sample(30, m=2), sample(10), sample(14), sample(40)])
    assert [(each.m, each.time_ps) for each in merged] == [(1, 14), (2, 30)]


@pytest.mark.parametrize("sizes", [{"m": 0}, {"n": 0}, {"k": 0}, {"time_ps": 0}])
def test_sizes_must_be_positive(sizes):
    good = {"operator": "o", "kind": "gemm", "m": 1, "n": 1, "k": 1, "time_ps": 1}
    with pytest.raises(InputError, match="operator 'o'"):
        Sample(**(good | sizes))
    if sizes == {"k": 0}:
        Sample(**(good | sizes | {"kind": "rowwise"}))
