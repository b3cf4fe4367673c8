"""Compiled walks over the operator graph."""

import numpy as np

from fanweave.golden.dops.kernel.compile import compiled

__all__ = ["longest_path"]


@compiled
def longest_path(order, pred_start, pred, times):
    """Longest sum of times along producers and consumers, in the unit of `times`."""
    end = times.copy()
    for operator in order:
        before = np.int64(0)
        for index in range(pred_start[operator], pred_start[operator + 1]):
            before = max(before, end[pred[index]])
        end[operator] += before
    return end.max()
