"""Memory of a device: keys and values set aside, activations, and a cache of weights."""

from collections import OrderedDict

__all__ = ["DeviceMemory"]


class DeviceMemory:
    """Budget of one device.

    Weights are dropped in the order of their last use (they are only read, so that costs
    nothing); activations are never dropped, and a weight is there whole or not at all.

    Parameters
    ----------
    limit : int
        Bytes that keys and values, activations and weights may take together.
    reserved : int
        Bytes of keys and values.
    pinned : bool
        See `fanweave.golden.dops.rules.MachineRules`.
    """

    def __init__(self, limit: int, reserved: int = 0, *, pinned: bool = False) -> None:
        self.pinned = pinned
        self._pass = 0
        self._used_in: dict[int, int] = {}
        self.limit, self.reserved = limit, reserved
        self.activations = 0
        self.weights = 0
        self.peak = reserved
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def __contains__(self, weight: int) -> bool:
        return weight in self._sizes

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self.reserved + self.activations + self.weights

    def touch(self, weight: int) -> None:
        """Note a use of a weight that is here."""
        self._sizes.move_to_end(weight)
        self._used_in[weight] = self._pass

    def can_load(self, size: int) -> bool:
        """Whether a weight of `size` bytes would fit if all others were dropped."""
        return self.reserved + self.activations + size <= self.limit

    def load(self, weight: int, size: int) -> None:
        """Put a weight in, dropping others as needed; `can_load` must hold."""
        self._free(self.used + size - self.limit)
        self._sizes[weight] = size
        self._used_in[weight] = self._pass
        self.weights += size
        self.peak = max(self.peak, self.used)

    def reserve(self, size: int) -> bool:
        """Set memory aside for an activation, dropping weights as needed; False if too large."""
        excess = self.used + size - self.limit
        if excess > self.weights:
            return False
        self._free(excess)
        self.activations += size
        self.peak = max(self.peak, self.used)
        return True

    def release(self, size: int) -> None:
        """Give an activation's memory back."""
        self.activations -= size

    def forget_activations(self) -> None:
        """Give all activations' memory back, as the published model does before every pass."""
        self.activations = 0
        self._pass += 1

    def _free(self, excess: int) -> None:
        while excess > 0:
            size = self._sizes.pop(self._victim())
            self.weights -= size
            excess -= size

    def _victim(self) -> int:
        """The weight that goes next: the oldest, or of those in use the newest but one.

        The newest may still be in use.
        """
        oldest = next(iter(self._sizes))
        stale = self._used_in[oldest] < self._pass - 1
        if not self.pinned or stale or len(self._sizes) < 2:
            return oldest
        newest = reversed(self._sizes)
        next(newest)
        return next(newest)
