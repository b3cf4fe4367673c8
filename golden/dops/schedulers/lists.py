"""List schedulers: HEFT, CPOP and PEFT."""

import heapq
from collections.abc import Callable, Sequence

from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedulers.base import Pass, Scheduler
from fanweave.golden.dops.schedulers.ranks import mean_moves, mean_service, service, upward_ranks

__all__ = ["Cpop", "Heft", "Peft", "by_priority"]


def by_priority(work: Pass, priority: Sequence[int], choose: Callable[[int], int]) -> Plan:
    """Commit the ready operator of the highest priority to the device that `choose` gives it.

    Equal priorities go in topological order.
    """
    timing = work.timing
    graph, position = timing.flat.graph, timing.flat.position.tolist()
    waiting = [len(p) for p in graph.predecessors]
    heap = [(-priority[i], position[i], i) for i, count in enumerate(waiting) if not count]
    heapq.heapify(heap)
    order = []
    while heap:
        _, _, operator = heapq.heappop(heap)
        timing.commit(operator, choose(operator))
        order.append(operator)
        for consumer in graph.successors[operator]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(heap, (-priority[consumer], position[consumer], consumer))
    return Plan(tuple(order), tuple(timing.place))


class Heft(Scheduler):
    """Heterogeneous earliest finish time: upward rank, then the earliest finish.

    Without insertion into gaps, because the machine has none. Topcuoglu, Hariri, Wu: IEEE
    TPDS 13(3), 2002.
    """

    name = "HEFT"

    def place(self, work: Pass) -> Plan:
        """Earliest finish in the order of upward ranks."""

        def earliest(operator: int) -> int:
            return min(work.devices[operator], key=lambda d: work.timing.probe(operator, d))

        return by_priority(work, upward_ranks(work), earliest)


class Cpop(Scheduler):
    """Critical path on a processor: the longest path goes to one device where it may.

    Topcuoglu, Hariri, Wu: IEEE TPDS 13(3), 2002.
    """

    name = "CPOP"

    def place(self, work: Pass) -> Plan:
        """Critical operators on the device that is fastest for their sum, others earliest."""
        graph = work.timing.flat.graph
        upward = upward_ranks(work)
        downward = [0] * len(upward)
        for operator in graph.order:
            reach = downward[operator] + mean_service(work, operator)
            for consumer, move in zip(
                graph.successors[operator], mean_moves(work, operator), strict=True
            ):
                downward[consumer] = max(downward[consumer], reach + move)
        priority = [up + down for up, down in zip(upward, downward, strict=True)]
        critical = self._path(work, priority)
        shared = range(len(work.timing.available))
        sums = {
            device: sum(
                service(work, o, device if device in work.devices[o] else work.devices[o][0])
                for o in critical
            )
            for device in shared
            if any(device in work.devices[o] for o in critical)
        }
        best = min(sums, key=sums.__getitem__)

        def choose(operator: int) -> int:
            if operator in critical and best in work.devices[operator]:
                return best
            return min(work.devices[operator], key=lambda d: work.timing.probe(operator, d))

        return by_priority(work, priority, choose)

    @staticmethod
    def _path(work: Pass, priority: list[int]) -> frozenset[int]:
        """The longest path, walked from its entry."""
        graph = work.timing.flat.graph
        entries = [i for i, p in enumerate(graph.predecessors) if not p]
        current = max(entries, key=lambda i: (priority[i], -i))
        path = [current]
        while graph.successors[current]:
            current = max(graph.successors[current], key=lambda i: (priority[i], -i))
            path.append(current)
        return frozenset(path)


class Peft(Scheduler):
    """Predict earliest finish time: finish plus an optimistic table of what must follow.

    Arabnejad, Barbosa: IEEE TPDS 25(3), 2014.
    """

    name = "PEFT"

    def place(self, work: Pass) -> Plan:
        """Least sum of finish and optimistic rest, in the order of the mean rest."""
        flat, costs = work.timing.flat, work.costs
        graph = flat.graph
        rest: list[dict[int, int]] = [{} for _ in graph.operators]
        for operator in reversed(graph.order):
            begin = int(flat.succ_start[operator])
            for device in work.devices[operator]:
                worst = 0
                for offset, consumer in enumerate(graph.successors[operator]):
                    times = costs.edge_send[flat.succ_edge[begin + offset]]
                    best = min(
                        rest[consumer][d] + service(work, consumer, d) + int(times[device, d])
                        for d in work.devices[consumer]
                    )
                    worst = max(worst, best)
                rest[operator][device] = worst
        priority = [sum(r.values()) // len(r) for r in rest]

        def choose(operator: int) -> int:
            table = rest[operator]
            return min(
                work.devices[operator], key=lambda d: work.timing.probe(operator, d) + table[d]
            )

        return by_priority(work, priority, choose)
