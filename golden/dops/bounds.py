"""A time that no schedule under the same costs can beat."""

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.kernel.paths import longest_path
from fanweave.golden.dops.platforms import Platform

__all__ = ["LowerBound"]


class LowerBound:
    """Collects a bound over the passes of a run that begins with empty memories.

    The largest of three: the longest path of prefill, in which every weight has to be loaded
    somewhere; the longest path of a decoded token; and all work, spread evenly over all
    devices. Every operator counts the time of its fastest legal device. In prefill all weights
    pass the links of their stores as well. Where loads begin ahead, operators count without them.
    Where passes run in order, each pass has such a bound, and their sum is one.
    """

    def __init__(
        self,
        flat: FlatGraph,
        platform: Platform,
        layouts: list[int],
        *,
        in_order: bool = False,
        prefetch: bool = False,
    ) -> None:
        self.flat = flat
        # Without an NPU the host computes as well.
        hosted = not platform.indices("npu")
        executors = [
            i
            for i, device in enumerate(platform.devices)
            if device.computes and (hosted or device.type != "cpu")
        ]
        self._legal = flat.legal.copy()
        self._count = max(1, len(executors))
        weights = flat.weight_of
        self._layouts = np.where(weights >= 0, np.array([*layouts, 0])[weights], 0)
        # What only the host may do takes no time from the executors.
        self._shared = self._legal[:, executors].any(axis=1)
        self._in_order, self._sum = in_order, 0
        self._prefetch = prefetch
        self._executors = executors
        self._order = np.array(flat.graph.order, np.int32)
        self._work = 0
        self._path = 0
        self.prefill = 0

    def add(self, costs: StepCosts, *, cold: bool) -> None:
        """Add a pass; `cold` if no weight has been loaded before it."""
        table = costs.cold if cold and not self._prefetch else costs.compute
        weighted = (self.flat.weight_of >= 0)[:, None]
        chosen = table[self._layouts, self.flat.class_of]
        warm = costs.compute[self._layouts, self.flat.class_of]
        times = np.where(self._legal, np.where(weighted, chosen, warm), FOREVER).min(axis=1)
        times[self.flat.collective] = 0
        work = int(times[self._shared].sum())
        self._work += work
        # Only the longest token's path counts, and the last one has the longest history.
        path = int(longest_path(self._order, self.flat.pred_start, self.flat.pred, times))
        self._path = max(self._path, path)
        least = max(path, -(-work // self._count))
        if cold:
            least = max(least, self._loading(costs))
            self.prefill = max(path, -(-self._work // self._count), self._loading(costs))
        self._sum += least

    def _loading(self, costs: StepCosts) -> int:
        """All weights over all links from where they are stored; none where that computes."""
        weighted = np.flatnonzero(self.flat.weight_of >= 0)
        sent = costs.link[self._layouts, self.flat.class_of][weighted]
        times = np.where(self._legal[weighted], sent, FOREVER)[:, self._executors].min(axis=1)
        stores = self.flat.store[self.flat.weight_of[weighted]]
        longest = 0
        for store in set(stores.tolist()) - set(self._executors):
            total = int(times[stores == store].sum())
            longest = max(longest, -(-total // len(self._executors)))
        return longest

    @property
    def total(self) -> int:
        """Bound of the whole run in picoseconds."""
        if self._in_order:
            return self._sum
        return max(self.prefill, self._path, -(-self._work // self._count))
