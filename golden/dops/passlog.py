"""What happened in one pass, as arrays: the same from the plain and the compiled machine."""

from dataclasses import dataclass

import numpy as np

__all__ = ["PURPOSES", "PassLog"]

#: What a message carries, by its code: an output to the host and back, an output between
#: devices, stored keys or values, weights, an output that its device cannot keep, the two
#: halves of a star's collective, and the part of a ring between two neighbours.
PURPOSES = ("store", "reload", "move", "history", "weights", "spill", "reduce", "scatter", "ring")


@dataclass(frozen=True, kw_only=True)
class PassLog:
    """One pass.

    Attributes
    ----------
    start, finish, place : int64[o]
        Of each operator; `place` is a device.
    copies : int64[o]
        Of a collective, the devices that have its result, one bit each.
    messages : int64[m, 6]
        Purpose, operator, source, target, start, finish; an activation's operator is its
        producer.
    reads : int64[r, 4]
        Operator, device, start, finish of reading keys or values.
    used : int64[d]
        Most bytes in use on each device since the start of the run.
    """

    start: np.ndarray
    finish: np.ndarray
    place: np.ndarray
    copies: np.ndarray
    messages: np.ndarray
    reads: np.ndarray
    used: np.ndarray

    def copy(self) -> "PassLog":
        """A log that stays valid when the machine goes on."""
        return PassLog(**{name: value.copy() for name, value in vars(self).items()})
