"""What the maps of an island's policies begin with."""

from collections.abc import Iterator

from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import Direction, ObjectKind, Phase
from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sw.fabric.island_plan import IslandPlan
from fanweave.sw.fabric.ranges import Span, as_prefixes
from fanweave.sw.policies.named_maps import MapEntries
from fanweave.sw.policies.ranges import grant
from fanweave.sw.policies.values import Value

__all__ = ["copy_port", "island_maps", "trie_sizes"]

#: What a host that reads or writes an object may ask for.
_READS = (
    ReqOpcode.MEM_INV,
    ReqOpcode.MEM_RD,
    ReqOpcode.MEM_RD_DATA,
    ReqOpcode.MEM_SPEC_RD,
    ReqOpcode.MEM_CLN_EVCT,
)
_WRITES = (*_READS, RwdOpcode.MEM_WR, RwdOpcode.MEM_WR_PTL)
#: Kinds of `steering`.
_OTHER, _KV, _FFN, _ATTENTION = range(4)
#: Tries get room in steps of what the engine compares at a time.
_ROOM = 16


def island_maps(plan: IslandPlan) -> dict[str, MapEntries]:
    """Contents of all maps that do not begin empty, by name."""
    made: dict[str, MapEntries] = {}
    if "access_control" in plan.steps:
        made["grants"] = _grants(plan)
    if "steering" in plan.steps:
        made["routes"] = _routes(plan)
    if "duplex_balance" in plan.steps:
        made["copies"] = _copies(plan, "duplex_balance")
    if "spill_reads" in plan.steps:
        made["spills"] = _copies(plan, "spill_reads")
    if "load_tokens" in plan.steps:
        made["weights"] = _weights(plan)
    return made


def trie_sizes(plan: IslandPlan) -> dict[str, int]:
    """Policy -> prefixes that its trie has room for."""
    tries = {
        "access_control": "grants",
        "steering": "routes",
        "duplex_balance": "copies",
        "spill_reads": "spills",
    }
    maps = island_maps(plan)
    return {
        policy: -(-max(len(maps[name]), 1) // _ROOM) * _ROOM
        for policy, name in tries.items()
        if policy in plan.steps
    }


def _grants(plan: IslandPlan) -> dict[int | bytes, Value]:
    """A host may do with an object what its movements do."""
    writes: dict[tuple[int, str], bool] = {}
    for flow in plan.flows:
        key = flow.entry, flow.item.name
        is_write = flow.movement.direction is Direction.WRITE
        writes[key] = writes.get(key, False) or is_write
    return as_prefixes(
        Span(
            port,
            plan.graph.objects[name].first,
            plan.graph.objects[name].end,
            grant(*(_WRITES if may_write else _READS)),
        )
        for (port, name), may_write in writes.items()
    )


def _routes(plan: IslandPlan) -> dict[int | bytes, Value]:
    goal = plan.steps["steering"]
    spans: list[Span[Value]] = []
    for port, name in _entries(plan, plan.objects["steering"]):
        item = plan.graph.objects[name]
        route: dict[str, Value] = {
            "island": _required_port(plan, item.home),
            "kind": _kind(plan, name),
        }
        copy = copy_port(plan, name)
        if setting(goal, "mirror") and copy is not None:
            route.update(has_copy=1, copy=copy)
        spans.append(Span(port, item.first, item.end, route))
    return as_prefixes(spans)


def _copies(plan: IslandPlan, policy: str) -> dict[int | bytes, Value]:
    """Copies of what nobody writes, at ports other than that of its home."""
    wanted = set(plan.steps[policy].objects or plan.names)
    written = {
        movement.object
        for movement in plan.graph.movements.values()
        if movement.direction is Direction.WRITE
    }
    spans: list[Span[Value]] = []
    for port, name in _entries(plan, wanted - written):
        copy = copy_port(plan, name)
        if copy is not None:
            item = plan.graph.objects[name]
            spans.append(Span(port, item.first, item.end, copy))
    return as_prefixes(spans)


def _weights(plan: IslandPlan) -> dict[int | bytes, Value]:
    """Hosts without a flow that the goal is about pay more."""
    goal = plan.steps["load_tokens"]
    bulk = plan.objects["load_tokens"]
    ports = {flow.entry: False for flow in plan.flows}
    for flow in plan.flows:
        ports[flow.entry] |= flow.item.name not in bulk
    return {
        port: 1 if urgent else setting(goal, "bulk_weight")
        for port, urgent in sorted(ports.items())
    }


def _entries(plan: IslandPlan, objects: set[str]) -> Iterator[tuple[int, str]]:
    """Ports of entry and objects, each pair once."""
    yield from sorted(
        {(flow.entry, flow.item.name) for flow in plan.flows if flow.item.name in objects}
    )


def _required_port(plan: IslandPlan, memory: str) -> int:
    port = plan.port_to(memory)
    assert port is not None  # a flow goes there
    return port


def copy_port(plan: IslandPlan, name: str) -> int | None:
    """Port of the first copy that lies elsewhere than the object does."""
    item = plan.graph.objects[name]
    home = plan.port_to(item.home)
    ports = (plan.port_to(memory) for memory in item.copies)
    return next((port for port in ports if port is not None and port != home), None)


def _kind(plan: IslandPlan, name: str) -> int:
    if plan.graph.objects[name].kind is ObjectKind.KV:
        return _KV
    phases = {flow.movement.phase for flow in plan.flows if flow.item.name == name}
    if Phase.FFN in phases:
        return _FFN
    return _ATTENTION if Phase.ATTENTION in phases else _OTHER
