# amaranth: UnusedElaboratable=no
import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import AccumulatorConverter
from fanweave.hw.fp.testing import run_pipeline
from fanweave.sim.benches.fp.vectors import conversion_vectors

ALL = tuple(ElementFormat)


def vectors(target, count, seed):
    """Rows of accumulator, scale, source_integer, target, raw, expected bits."""
    rng = np.random.default_rng(seed)
    parts = []
    for source_integer in (False, True):
        accumulator, scale = conversion_vectors(
            target or ElementFormat.FP32, source_integer, count // 2, rng
        )
        expected = AccumulatorConverter.model(
            accumulator, scale=scale, source_integer=source_integer, target=target
        )
        constants = (source_integer, target or 0, target is None)
        columns = [accumulator, scale, *(np.full(count // 2, c) for c in constants), expected]
        parts.append(np.stack([column.astype(np.int64) for column in columns], axis=1))
    return np.concatenate(parts)


def mismatches(converter, rows):
    """Return (inputs and expected bits, bits) of what differs."""
    inputs = (
        converter.accumulator,
        converter.scale,
        converter.source_integer,
        converter.target,
        converter.raw,
    )
    bits = run_pipeline(converter, inputs, converter.bits, rows)
    return [
        ([hex(word) for word in row], hex(got))
        for row, got in zip(rows, bits, strict=True)
        if got != row[-1]
    ]


@pytest.mark.parametrize("target", [*ElementFormat, None])
def test_agrees_with_golden(target):
    converter = AccumulatorConverter(targets=ALL, latency=1)
    assert not mismatches(converter, vectors(target, 600, seed=1).tolist())[:3]


@pytest.mark.parametrize("latency", [2, 3, 4, 5])
def test_targets_may_change_every_cycle_at_every_latency(latency):
    converter = AccumulatorConverter(targets=ALL, latency=latency)
    rows = np.concatenate([vectors(target, 40, seed=2) for target in (*ElementFormat, None)])
    rows = np.random.default_rng(3).permutation(rows).tolist()
    assert not mismatches(converter, rows)[:3]


def test_a_single_target():
    converter = AccumulatorConverter(targets=[ElementFormat.BF16])
    assert converter.latency == 3
    assert not mismatches(converter, vectors(ElementFormat.BF16, 100, seed=4).tolist())[:3]


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError) as caught:
        AccumulatorConverter(targets=[])
    assert str(caught.value) == "targets is empty; name at least one ElementFormat member"
    with pytest.raises(InputError) as caught:
        AccumulatorConverter(targets=ALL, latency=6)
    assert str(caught.value) == "latency is 6; expected an integer from 1 to 5"
