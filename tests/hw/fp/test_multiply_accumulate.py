# amaranth: UnusedElaboratable=no
import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import MultiplyAccumulate
from fanweave.hw.fp.testing import run_pipeline
from fanweave.sim.benches.fp.vectors import corner_vectors, random_vectors

VECTORS = 1000


def vectors(element_format, seed):
    """Half random vectors, half a sample of all combinations of corners."""
    rng = np.random.default_rng(seed)
    corner = corner_vectors(element_format)
    sample = rng.choice(len(corner[0]), VECTORS // 2, replace=False)
    random = random_vectors(element_format, VECTORS // 2, rng)
    a, b, addend = (np.concatenate([x[sample], y]) for x, y in zip(corner, random, strict=True))
    alone = rng.integers(0, 8, len(a)) == 0
    expected = np.where(
        alone,
        MultiplyAccumulate.model(a, b, None, element_format),
        MultiplyAccumulate.model(a, b, addend, element_format),
    )
    columns = (np.full(len(a), int(element_format)), a, b, addend, alone, expected)
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def mismatches(pipeline, rows):
    """Return (inputs and expected sum, sum) of what differs."""
    inputs = (pipeline.format, pipeline.a, pipeline.b, pipeline.addend, pipeline.multiply)
    sums = run_pipeline(pipeline, inputs, pipeline.sum, rows)
    return [
        ([hex(word) for word in row], hex(got))
        for row, got in zip(rows, sums, strict=True)
        if got != row[-1]
    ]


@pytest.mark.parametrize("element_format", ElementFormat)
def test_agrees_with_golden(element_format):
    pipeline = MultiplyAccumulate(formats=tuple(ElementFormat), latency=1)
    wrong = mismatches(pipeline, vectors(element_format, seed=1).tolist())
    assert not wrong[:3]


@pytest.mark.parametrize("latency", [2, 3, 4, 5])
def test_formats_may_change_every_cycle_at_every_latency(latency):
    pipeline = MultiplyAccumulate(formats=tuple(ElementFormat), latency=latency)
    rows = np.concatenate([vectors(item, seed=2)[:60] for item in ElementFormat])
    rows = np.random.default_rng(3).permutation(rows).tolist()
    assert not mismatches(pipeline, rows)[:3]


def test_a_wrong_latency_is_refused():
    with pytest.raises(InputError) as caught:
        MultiplyAccumulate(formats=[ElementFormat.FP16], latency=6)
    assert str(caught.value) == "latency is 6; expected an integer from 1 to 5"
