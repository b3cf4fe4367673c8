import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.dops.calibration.roofline_fit import fit_operators
from fanweave.golden.dops.calibration.samples import Sample
from fanweave.golden.dops.calibration.shapes import operator_shape
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.scaling import OperatorScaling

PROFILE = load_profile("rtxpro6000")


@pytest.fixture(scope="module")
def fit():
    samples = []
    for name, table in {**PROFILE.dense, **PROFILE.per_sequence}.items():
        kind, n, k = operator_shape(name, PROFILE.card)
        if kind == "gemm":
            samples += [
                Sample(operator=name, kind=kind, m=m, n=n, k=k, time_ps=time)
                for m, time in zip(table.sizes, table.times_ps, strict=True)
            ]
    return fit_operators(samples, processors=PROFILE.processors)


@pytest.mark.parametrize(
    ("name", "whole", "half"),
    [
        ("qkv_proj", (6144, 4096), (3072, 4096)),
        ("o_proj", (4096, 4096), (4096, 2048)),
        ("gate_up_proj", (28672, 4096), (14336, 4096)),
        ("down_proj", (4096, 14336), (4096, 7168)),
        ("lm_head", (128256, 4096), (64128, 4096)),
    ],
)
def test_a_product_is_scaled_by_the_fitted_times_of_its_shapes(fit, name, whole, half):
    table = (PROFILE.dense | PROFILE.per_sequence)[name]
    scaling = OperatorScaling(PROFILE, Deployment(tensor=2))
    ratio = fit.time_ps(200, *half) / fit.time_ps(200, *whole)
    assert scaling.operator_ps(name, table, 200) == round(table.time_ps(200) * ratio)
    # Beyond the table, the last measured time is scaled by the fit as well.
    last = table.largest
    alone = OperatorScaling(PROFILE, Deployment())
    ratio = fit.time_ps(2 * last, *whole) / fit.time_ps(last, *whole)
    assert alone.operator_ps(name, table, 2 * last) == round(table.time_ps(last) * ratio)
    assert alone.operator_ps(name, table, last) == table.time_ps(last)


def test_row_wise_operators_lose_rows_or_stay():
    scaling = OperatorScaling(PROFILE, Deployment(tensor=4))
    act, norm = PROFILE.dense["act_fn"], PROFILE.dense["layernorm"]
    start = min(act.times_ps)
    assert scaling.operator_ps("act_fn", act, 2000) == start + (act.time_ps(2000) - start) // 4
    assert scaling.operator_ps("layernorm", norm, 2000) == norm.time_ps(2000)
