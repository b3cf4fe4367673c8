import numpy as np
import pytest

from fanweave.golden.dops.calibration.attention_fit import AttentionFit, fit_attention
from fanweave.golden.dops.calibration.samples import relative_errors
from fanweave.golden.dops.models import load_model
from fanweave.golden.errors import InputError

CARD = load_model("llama-3.1-8b")


@pytest.mark.parametrize(
    ("prefill", "values"),
    [
        (True, np.log([7e-6, 2e14, 5e7, 2.0, 100.0])),
        (False, np.log([1e-5, 1.4e12, 2e9, 1.0, 1e-7])),
    ],
)
def test_the_curve_of_made_measurements_is_found_again(prefill, values):
    true = AttentionFit(prefill=prefill, card=CARD, processors=188, values=tuple(values))
    sizes = [(n, c) for n in (16, 32, 64, 128, 256) for c in (64, 256, 1024, 4096, 16384)]
    times = true.seconds(sizes) * 1e12
    rows = [
        (*size, 0, 0, time) if prefill else (0, 0, *size, time)
        for size, time in zip(sizes, times, strict=True)
    ]
    # Batches of both at once have no part in it.
    rows.append((16, 0, 1, 64, 1.0))
    fit = fit_attention(rows, CARD, prefill=prefill, processors=188)
    assert relative_errors(fit.seconds(sizes), times * 1e-12).worst < 0.02


def test_too_few_rows():
    with pytest.raises(InputError, match="0 rows of decode alone"):
        fit_attention([(16, 0, 0, 0, 1.0)] * 20, CARD, prefill=False, processors=1)
