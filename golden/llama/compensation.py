"""Pruning that moves the error of each dropped weight onto the weights that remain.

Sources: Frantar and Alistarh, *SparseGPT*, arXiv 2301.00774 (column by column with the Cholesky
factor of the inverse Hessian); Yin et al., *DuoGPT*, arXiv 2506.20194 (the Hessian of already
sparsified activations, and the dense model's output as the target).
"""

from collections.abc import Callable

import numpy as np

__all__ = ["TARGET_DAMPING", "Choose", "Compensation"]

#: Scores of some columns [out, columns] -> which of their weights stay.
Choose = Callable[[np.ndarray], np.ndarray]

#: Added to the Hessian's diagonal, as a share of its mean.
_DAMPING = 0.01
#: The same where the target is restored: a fit to few tokens needs a firmer hand.
TARGET_DAMPING = 1.0
#: Columns that are chosen together and updated lazily.
_BLOCK = 128


def _damped(hessian: np.ndarray, share: float) -> np.ndarray:
    # An input that never fires leaves a zero on the diagonal; the floor keeps it invertible.
    amount = max(share * float(np.mean(np.diag(hessian))), 1e-12)
    return hessian + amount * np.eye(hessian.shape[0])


class Compensation:
    """What pruning needs to know of a projection's inputs; projections of one input share it.

    Parameters
    ----------
    dense : ndarray, float32 [tokens, in]
        Calibration inputs of the dense model.
    sparse : ndarray, float32 [tokens, in]
        The same of the model pruned so far, as sparse as they will be in use.
    """

    def __init__(self, dense: np.ndarray, sparse: np.ndarray) -> None:
        hessian = (sparse.T @ sparse).astype(np.float64)
        cross = (sparse.T @ (dense - sparse)).astype(np.float64)
        self._correction = np.linalg.solve(_damped(hessian, TARGET_DAMPING), cross)
        inverse = np.linalg.inv(_damped(hessian, _DAMPING))
        self._factor = np.ascontiguousarray(np.linalg.cholesky(inverse).T, dtype=np.float32)

    def restore_target(self, weight: np.ndarray) -> np.ndarray:
        """Weight that on the sparse inputs comes closest to what `weight` gives on dense ones.

        Minimises ``|X W' - X^ W''|`` over W'' by ridge regression towards `weight`. What remains
        to be minimised by pruning W'' is then a function of the sparse inputs alone, so the
        column updates of :meth:`prune` apply unchanged. Shapes [out, in].
        """
        return (weight + weight @ self._correction.T).astype(np.float32)

    def prune(self, weight: np.ndarray, choose: Choose) -> np.ndarray:
        """Prune columns from left to right, each time correcting those to the right.

        Parameters
        ----------
        weight : ndarray, float32 [out, in]
        choose : callable
            Picks the weights that stay among some columns, given their saliency
            ``w^2 / [H^-1]_jj``.

        Returns
        -------
        ndarray, float32 [out, in]
            Zero where a weight was dropped.
        """
        factor = self._factor
        inputs = weight.shape[1]
        columns = np.array(weight.T, dtype=np.float32, order="C")  # a column is contiguous here
        for start in range(0, inputs, _BLOCK):
            stop = min(start + _BLOCK, inputs)
            block = columns[start:stop]  # a view: corrections below write through
            pivots = np.diag(factor)[start:stop]
            keep = choose(((block / pivots[:, None]) ** 2).T).T
            errors = np.zeros_like(block)
            for column in range(stop - start):
                dropped = np.where(keep[column], np.float32(0), block[column])
                errors[column] = dropped / pivots[column]
                block[column] -= dropped
                following = factor[start + column, start + column + 1 : stop]
                block[column + 1 :] -= np.outer(following, errors[column])
            columns[stop:] -= factor[start:stop, stop:].T @ errors
        return np.ascontiguousarray(columns.T)
