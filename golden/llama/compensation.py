"""Pruning that moves the error of each dropped weight onto the weights that remain.

Sources: Frantar and Alistarh, *SparseGPT*, arXiv 2301.00774 (column by column with the Cholesky
factor of the inverse Hessian); Yin et al., *DuoGPT*, arXiv 2506.20194 (the Hessian of already
sparsified activations, and the dense model's output as the target).
"""

from collections.abc import Callable

import numpy as np

__all__ = ["Choose", "prune_compensated", "restore_target"]

#: Scores of some columns [out, columns] -> which of their weights stay.
Choose = Callable[[np.ndarray], np.ndarray]

#: Added to the Hessian's diagonal, as a share of its mean.
_DAMPING = 0.01
#: The same where the target is restored: a fit to few tokens needs a firmer hand.
_TARGET_DAMPING = 0.1
#: Columns that are chosen together and updated lazily.
_BLOCK = 128


def _damped(hessian: np.ndarray, share: float) -> np.ndarray:
    # An input that never fires leaves a zero on the diagonal; the floor keeps it invertible.
    amount = max(share * float(np.mean(np.diag(hessian))), 1e-12)
    return hessian + amount * np.eye(hessian.shape[0])


def restore_target(weight: np.ndarray, dense: np.ndarray, sparse: np.ndarray) -> np.ndarray:
    """Weight that on sparsified inputs comes closest to what `weight` gives on dense ones.

    Minimises ``|X W' - X^ W''|`` over W'' by ridge regression towards `weight`. What remains
    to be minimised by pruning W'' is then a function of the sparsified inputs alone, so the
    column updates of :func:`prune_compensated` apply unchanged.

    Parameters
    ----------
    weight : ndarray [out, in]
    dense, sparse : ndarray [tokens, in]
        Inputs of the dense model, and sparsified ones of the model pruned so far.
    """
    x = sparse.astype(np.float64)
    hessian = _damped(x.T @ x, _TARGET_DAMPING)
    cross = x.T @ (dense.astype(np.float64) - x)
    return (weight + np.linalg.solve(hessian, cross @ weight.T).T).astype(np.float32)


def prune_compensated(weight: np.ndarray, inputs: np.ndarray, choose: Choose) -> np.ndarray:
    """Prune columns from left to right, each time correcting those to the right.

    Parameters
    ----------
    weight : ndarray, float32 [out, in]
    inputs : ndarray, float32 [tokens, in]
        Calibration inputs, as sparse as they will be in use.
    choose : callable
        Picks the weights that stay among some columns, given their saliency
        ``w^2 / [H^-1]_jj``.

    Returns
    -------
    ndarray, float32 [out, in]
        Zero where a weight was dropped.
    """
    x = inputs.astype(np.float64)
    inverse = np.linalg.inv(_damped(x.T @ x, _DAMPING))
    factor = np.ascontiguousarray(np.linalg.cholesky(inverse).T, dtype=np.float32)
    weight = weight.astype(np.float32, copy=True)
    for start in range(0, weight.shape[1], _BLOCK):
        stop = min(start + _BLOCK, weight.shape[1])
        block = weight[:, start:stop]  # a view: corrections below write through
        pivots = np.diag(factor)[start:stop]
        keep = choose((block / pivots) ** 2)
        errors = np.zeros_like(block)
        for column in range(stop - start):
            dropped = np.where(keep[:, column], np.float32(0), block[:, column])
            errors[:, column] = dropped / pivots[column]
            block[:, column] -= dropped
            following = factor[start + column, start + column + 1 : stop]
            block[:, column + 1 :] -= np.outer(errors[:, column], following)
        weight[:, stop:] -= errors @ factor[start:stop, stop:]
    return weight
