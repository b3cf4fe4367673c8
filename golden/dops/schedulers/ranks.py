"""Priorities that list schedulers compute before they place anything."""

from fanweave.golden.dops.schedulers.base import Pass

__all__ = ["mean_moves", "mean_service", "service", "upward_ranks"]


def service(work: Pass, operator: int, device: int) -> int:
    """Time of an operator on a device with its weights not yet there."""
    flat, costs = work.timing.flat, work.costs
    kind, weight = flat.class_of[operator], flat.weight_of[operator]
    if weight < 0:
        return int(costs.compute[0, kind, device])
    return int(costs.cold[work.timing.layouts[weight], kind, device])


def _executors(work: Pass, operator: int) -> list[int]:
    """Devices that count for a mean: none for a collective, which runs where its pieces are."""
    return [] if work.timing.flat.collective[operator] else work.devices[operator]


def mean_service(work: Pass, operator: int) -> int:
    """Mean of `service` over the devices that an operator may run on."""
    devices = _executors(work, operator)
    return sum(service(work, operator, d) for d in devices) // max(1, len(devices))


def mean_moves(work: Pass, producer: int) -> list[int]:
    """Mean time of each edge of an operator over all pairs of devices, equal ones as well."""
    flat, costs = work.timing.flat, work.costs
    moves = []
    sources = _executors(work, producer)
    begin, end = flat.succ_start[producer], flat.succ_start[producer + 1]
    for edge in range(begin, end):
        targets = _executors(work, int(flat.succ[edge]))
        times = costs.edge_send[flat.succ_edge[edge]]
        total = sum(int(times[s, t]) for s in sources for t in targets)
        moves.append(total // max(1, len(sources) * len(targets)))
    return moves


def upward_ranks(work: Pass) -> list[int]:
    """Longest mean time from the start of each operator to the end of the graph."""
    graph = work.timing.flat.graph
    ranks = [0] * len(graph.operators)
    for operator in reversed(graph.order):
        rest = (
            move + ranks[consumer]
            for consumer, move in zip(
                graph.successors[operator], mean_moves(work, operator), strict=True
            )
        )
        ranks[operator] = mean_service(work, operator) + max(rest, default=0)
    return ranks
