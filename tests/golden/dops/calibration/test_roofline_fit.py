import numpy as np
import pytest

from fanweave.golden.dops.calibration.roofline_fit import (
    ROWWISE_PARAMETERS,
    OperatorFit,
    fit_operators,
)
from fanweave.golden.dops.calibration.samples import Sample, relative_errors
from fanweave.golden.errors import InputError


def samples(kind, values, sizes):
    fit = OperatorFit(kind=kind, processors=100, values=values)
    return [
        Sample(operator="o", kind=kind, m=m, n=n, k=k, time_ps=fit.time_ps(m, n, k))
        for m, n, k in sizes
    ]


GEMM_VALUES = (
    *np.log([4e-6, 3e14, 1.5e12, 300.0]),
    np.log(2.0),
    0.3,
    np.log(0.1),
)
GEMM_SIZES = [
    (m, n, k)
    for m in (1, 8, 64, 100, 200, 500, 1000, 2000, 4000)
    for n, k in ((4096, 4096), (8192, 1024), (1024, 8192))
]


def test_a_product_is_memory_at_few_rows_and_arithmetic_at_many():
    fit = OperatorFit(kind="gemm", processors=100, values=GEMM_VALUES)
    few, many = fit.seconds([(1, 4096, 4096), (16384, 4096, 4096)])
    assert few == pytest.approx(4e-6 + 2 * 4096 * 4096 / 1.5e12, rel=0.05)
    assert many == pytest.approx(2 * 16384 * 4096 * 4096 / 3e14, rel=0.2)


def test_the_curve_of_made_measurements_is_found_again():
    made = samples("gemm", GEMM_VALUES, GEMM_SIZES)
    fit = fit_operators(made, processors=100)
    error = relative_errors(
        fit.seconds([each.sizes for each in made]), [each.time_ps * 1e-12 for each in made]
    )
    assert error.worst < 0.05
    assert fit.parameters["bytes_per_s"] == pytest.approx(1.5e12, rel=0.05)


def test_row_wise_operators_leave_the_cache():
    values = tuple(np.log([3e-6, 2e11, 8e11, 1e7, 4.0]))
    made = samples(
        "rowwise", values, [(m, 4096, 0) for m in (1, 10, 100, 500, *range(1000, 20000, 1000))]
    )
    fit = fit_operators(made)
    assert fit.parameters["elements_per_s"] == pytest.approx(2e11, rel=0.05)
    assert fit.parameters["cached_elements"] == pytest.approx(1e7, rel=0.2)


def test_wide_rows_cost_more_if_widths_differ():
    values = tuple(np.log([3e-6, 2e11, 8e11, 1e7, 4.0, 0.8, 8192.0]))
    sizes = [(4096, 32 * 2**power, 0) for power in range(11)]
    sizes += [(32 * 2**power, 4096, 0) for power in range(11)]
    made = samples("rowwise", values, sizes)
    fit = fit_operators(made)
    assert fit.parameters["wide_elements"] == pytest.approx(8192, rel=0.2)
    narrow, wide = fit.seconds([(32768, 4096, 0), (4096, 32768, 0)])
    assert wide / narrow == pytest.approx((1 + 0.8 * 16 / 17) / (1 + 0.8 / 5), rel=0.05)
    same = fit_operators([each for each in made if each.n == 4096])
    assert len(same.values) == len(ROWWISE_PARAMETERS)
    assert "wide_loss" not in same.parameters


def test_too_few_measurements_or_two_kinds():
    few = samples("gemm", GEMM_VALUES, GEMM_SIZES[:5])
    with pytest.raises(InputError, match="5 measurements of 1 kinds"):
        fit_operators(few)
    both = samples("gemm", GEMM_VALUES, GEMM_SIZES[:9])
    both += samples("rowwise", tuple(np.log([3e-6, 2e11, 8e11, 1e7, 4.0])), [(1, 2, 0)])
    with pytest.raises(InputError, match="2 kinds"):
        fit_operators(both)
