"""Which weights of a matrix [out, in] stay, given a score for each."""

import numpy as np

__all__ = ["keep_largest", "keep_largest_of_row", "keep_n_of_m"]


def keep_largest(scores: np.ndarray, sparsity: float) -> np.ndarray:
    """All but the `sparsity` share of lowest scores, over the whole matrix; bool [out, in]."""
    dropped = round(sparsity * scores.size)
    keep = np.ones(scores.size, dtype=bool)
    keep[np.argsort(scores, axis=None, kind="stable")[:dropped]] = False
    return keep.reshape(scores.shape)


def keep_largest_of_row(scores: np.ndarray, sparsity: float) -> np.ndarray:
    """All but the `sparsity` share of lowest scores of each output; bool [out, in]."""
    dropped = round(sparsity * scores.shape[1])
    keep = np.ones(scores.shape, dtype=bool)
    lowest = np.argsort(scores, axis=1, kind="stable")[:, :dropped]
    np.put_along_axis(keep, lowest, False, axis=1)
    return keep


def keep_n_of_m(scores: np.ndarray, n: int, m: int) -> np.ndarray:
    """The n highest scores of each block of m consecutive *outputs*; bool [out, in].

    Blocks run along the outputs because there lies the row of W that one activation meets
    (Gustavson's order). A shorter block at the end keeps up to n as well.
    """
    outputs, inputs = scores.shape
    blocks = -(-outputs // m)
    padded = np.full((blocks * m, inputs), -np.inf)
    padded[:outputs] = scores
    order = np.argsort(-padded.reshape(blocks, m, inputs), axis=1, kind="stable")
    keep = np.zeros((blocks, m, inputs), dtype=bool)
    np.put_along_axis(keep, order[:, :n], True, axis=1)
    return keep.reshape(blocks * m, inputs)[:outputs]
