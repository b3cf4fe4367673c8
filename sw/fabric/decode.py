"""Ranges and bindings of an island's switch, as its hosts need them for their movements."""

from collections.abc import Iterable
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Graph, MovedObject
from fanweave.golden.fabric.routes import Network, switch_config
from fanweave.sw.fabric.island_plan import IslandFlow
from fanweave.sw.fabric.ranges import Span, joined

__all__ = ["decoder_plan"]


def decoder_plan(
    graph: Graph, network: Network, island: str, flows: Iterable[IslandFlow]
) -> dict[str, Any]:
    """Bindings and ranges: where each host's addresses lead without a policy.

    Each host has a logical device of its own at each port that it uses. Ports of copies and of the
    near memory are bound too, so that verdicts can name them.

    Returns
    -------
    dict
        ``bindings`` and ``ranges``, as `SwitchConfig`'s registers take them.

    Raises
    ------
    InputError
        If the switch has too few ranges or virtual ports.
    """
    config = switch_config(graph, island)
    flows = list(flows)
    bindings: list[dict[str, int]] = []
    ranges: list[dict[str, Any]] = []
    for host in sorted({flow.entry for flow in flows}):
        own = [flow for flow in flows if flow.entry == host]
        ports = _ports(graph, network, island, own)
        spans = _spans(graph, network, island, own)
        for what, number, limit in (
            ("ranges", len(spans), config.decoders),
            ("virtual ports", len(ports), config.bindings),
        ):
            if number > limit:
                raise InputError(
                    f"{graph.name}: host port {host} of island {island!r} needs {number} {what}; "
                    f"its switch has {limit}: put objects of one memory next to each other"
                )
        bindings += [
            {"host": host, "number": number, "port": port, "ld_id": host}
            for number, port in enumerate(ports)
        ]
        ranges += [
            {
                "host": host,
                "number": number,
                "first": span.first,
                "size": span.end - span.first,
                "targets": [ports.index(span.value)],
            }
            for number, span in enumerate(spans)
        ]
    return {"bindings": bindings, "ranges": ranges}


def _spans(graph: Graph, network: Network, island: str, flows: list[IslandFlow]) -> list[Span[int]]:
    """Ranges of a host, and their ports.

    One goes on over objects that would leave by its port too, but not over another tenant's.
    """
    tenants = {flow.item.tenant for flow in flows}
    passable = [item for item in graph.objects.values() if item.tenant in tenants]
    made: list[Span[int]] = []
    items = {flow.item.name: flow for flow in flows}
    spans = joined(
        Span(flow.entry, flow.item.first, flow.item.end, flow.exit) for flow in items.values()
    )
    for span in spans:
        last = made[-1] if made else None
        ports = ((item, network.exit_of(island, item.home)) for item in passable)
        beside = [item for item, port in ports if port == span.value]
        if last and last.value == span.value and _is_filled(last.end, span.first, beside):
            made[-1] = Span(span.port, last.first, span.end, span.value)
        else:
            made.append(span)
    return made


def _is_filled(first: int, end: int, items: Iterable[MovedObject]) -> bool:
    """Whether objects lie at all addresses from one to another."""
    at = first
    for item in sorted(items, key=lambda item: item.first):
        if item.first <= at:
            at = max(at, item.end)
    return at >= end


def _ports(graph: Graph, network: Network, island: str, flows: list[IslandFlow]) -> list[int]:
    """Ports that a host may reach: of homes, of copies, of near memories."""
    found = {flow.exit for flow in flows}
    for flow in flows:
        near = [goal.near for goal in graph.goals if flow.item.name in goal.objects]
        for memory in (*flow.item.copies, *near):
            port = network.exit_of(island, memory) if memory else None
            if port is not None:
                found.add(port)
    return sorted(found)
