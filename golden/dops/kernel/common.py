"""What several passes ask."""

import numpy as np

from fanweave.golden.dops.kernel.compile import compiled, counted_by_callers

__all__ = ["by_position", "draw", "may_run"]


@counted_by_callers
def draw(state, count):
    """Next number below `count` of a 32-bit xorshift generator."""
    value = state[0]
    value ^= value << 13 & 0xFFFFFFFF
    value ^= value >> 17
    value ^= value << 5 & 0xFFFFFFFF
    state[0] = value
    return value % count


@counted_by_callers
def may_run(device_start, device_list, operator, device):
    """Whether a device is one of an operator's."""
    for index in range(device_start[operator], device_start[operator + 1]):
        if device_list[index] == device:
            return True
    return False


@compiled
def by_position(shape):
    """Operators in topological order."""
    at = np.empty(len(shape.position), np.int64)
    for operator in range(len(at)):
        at[shape.position[operator]] = operator
    return at
