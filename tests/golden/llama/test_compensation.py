"""Compensated pruning against what least squares allows."""

import numpy as np
import pytest

from fanweave.golden.llama.compensation import TARGET_DAMPING, Compensation
from fanweave.golden.llama.masks import keep_largest


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights [out, in], correlated dense inputs, and the same with small ones zeroed."""
    random = np.random.default_rng(3)
    causes = random.standard_normal((900, 40)) @ random.standard_normal((40, 160))
    dense = (causes + random.standard_normal((900, 160))).astype(np.float32)
    sparse = np.where(np.abs(dense) > np.quantile(np.abs(dense), 0.5), dense, np.float32(0))
    return random.standard_normal((24, 160)).astype(np.float32), dense, sparse


def _error(target: np.ndarray, inputs: np.ndarray, weight: np.ndarray) -> float:
    return float(np.linalg.norm(target - inputs @ weight.T))


def test_restored_target_is_nearer_to_the_dense_output(problem):
    weight, dense, sparse = problem
    target = dense @ weight.T
    restored = Compensation(dense, sparse).restore_target(weight)
    assert _error(target, sparse, restored) < 0.95 * _error(target, sparse, weight)
    # The same ridge regression as plain least squares: the penalty as further rows.
    pull = np.sqrt(TARGET_DAMPING * np.mean(np.sum(sparse.astype(np.float64) ** 2, axis=0)))
    rows = np.concatenate((sparse, pull * np.eye(160)))
    wanted = np.concatenate((target, pull * weight.T))
    least = np.linalg.lstsq(rows, wanted, rcond=None)[0].T
    np.testing.assert_allclose(restored, least, atol=1e-3)


def test_equal_inputs_leave_the_target_alone(problem):
    weight, dense, _ = problem
    np.testing.assert_allclose(Compensation(dense, dense).restore_target(weight), weight)


def test_updates_halve_the_error_of_the_same_mask(problem):
    weight, _, sparse = problem
    pruned = Compensation(sparse, sparse).prune(weight, lambda s: keep_largest(s, 0.5))
    assert (pruned == 0).mean() == pytest.approx(0.5, abs=0.001)
    masked = np.where(pruned != 0, weight, 0)
    target = sparse @ weight.T
    assert _error(target, sparse, pruned) < 0.7 * _error(target, sparse, masked)


def test_a_single_drop_is_corrected_optimally():
    # Two inputs, the first dropped: least squares has the answer in closed form.
    inputs = np.array([[1.0, 1], [1, 2], [0, 1]], dtype=np.float32).repeat(50, axis=0)
    weight = np.array([[3.0, 1.0]], dtype=np.float32)
    pruned = Compensation(inputs, inputs).prune(weight, lambda s: np.array([[False, True]]))
    target = inputs @ weight.T
    best = np.linalg.lstsq(inputs[:, 1:], target, rcond=None)[0].item()
    assert pruned[0, 0] == 0
    assert pruned[0, 1] == pytest.approx(best, rel=0.02)  # the damping's share


def test_an_input_that_never_fires_is_harmless(problem):
    weight, _, sparse = problem
    sparse[:, 7] = 0
    pruned = Compensation(sparse, sparse).prune(weight, lambda s: keep_largest(s, 0.5))
    assert np.isfinite(pruned).all()
