"""What goals become at a DPU: one program for all transfers, and its maps."""

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import only_goal, setting
from fanweave.golden.fabric.graph import (
    HOSTS,
    Direction,
    Goal,
    GoalKind,
    Graph,
    Movement,
    Place,
    PlaceKind,
)
from fanweave.golden.fabric.routes import Network
from fanweave.golden.isa.dpu_event import TRANSFER_BYTES
from fanweave.sw.fabric.ranges import Span, as_prefixes
from fanweave.sw.fabric.unit import PlannedProgram, Unit
from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.named_maps import MapEntries
from fanweave.sw.policies.values import Value

__all__ = ["PRICES_AN_ISLAND", "TRANSFERS", "host_numbers", "plan_dpu", "sends", "tenant_numbers"]

#: Name and section of the program.
TRANSFERS, _SECTION = "transfers", "dpu"
#: Keys of `island_prices` that each island has.
PRICES_AN_ISLAND = 16
#: As `transfer.h` and `deadline_queue.c` have them.
_TENANTS, _MOVEMENTS, _HOSTS = 16, 64, 16
_ROOM = 16


def tenant_numbers(graph: Graph) -> dict[str, int]:
    """Numbers of tenants, in the order of the objects; the empty name is what belongs to none."""
    names = dict.fromkeys(item.tenant for item in graph.objects.values())
    return {name: number for number, name in enumerate(names)}


def host_numbers(graph: Graph) -> dict[str, int]:
    """Numbers of places that send, in their order."""
    hosts = (place.name for place in graph.places.values() if place.kind in HOSTS)
    return {name: number for number, name in enumerate(hosts)}


def sends(graph: Graph, dpu: str) -> list[Movement]:
    """Movements through a DPU."""
    return [m for m in graph.movements.values() if m.direction is Direction.SEND and m.via == dpu]


def plan_dpu(graph: Graph, network: Network, place: Place) -> Unit | None:
    """What a DPU is to run; None if it has nothing to do.

    Raises
    ------
    InputError
        If a goal needs state that two DPUs would change; the message names the movement.
    """
    movements = sends(graph, place.name)
    if not movements:
        return None
    isolate = only_goal(graph, GoalKind.ISOLATE_TENANTS, place.name)
    bound = only_goal(graph, GoalKind.BOUND_TAIL_LATENCY, place.name)
    if not (isolate or bound):
        return None
    _check_numbers(graph)
    steps, maps = [], dict[str, MapEntries]()
    spans: dict[int | bytes, Value] = {}
    settings: dict[str, Value] = {}
    if isolate:
        _check_owner(graph, isolate, movements)
        steps.append("tenant_share")
        maps["shares"] = _shares(graph, isolate, movements)
        spans = _ranges(graph, movements)
        maps["ranges"] = spans
    if bound:
        steps.append("deadline_queue")
        settings = {"urgent_ns": setting(bound, "bound_ns"), "sources": len(host_numbers(graph))}
        maps["price_at"] = _price_at(graph, network, bound, movements)
        maps[SETTINGS] = {0: {"settings": settings}}
    program = PlannedProgram(
        name=TRANSFERS,
        section=_SECTION,
        steps=tuple(steps),
        movements=tuple(movement.name for movement in movements),
    )
    return Unit(
        place=place,
        source=_source(graph, place, program, -(-max(len(spans), 1) // _ROOM) * _ROOM),
        programs=(program,),
        contents=maps,
        attach={
            "context_bytes": TRANSFER_BYTES,
            "nic": {"gbit_s": place.gbit_s, "latency_ns": place.latency_ns},
            "program": TRANSFERS,
            "tenants": tenant_numbers(graph),
            "hosts": host_numbers(graph),
            "movements": {name: number for number, name in enumerate(graph.movements)},
        },
    )


def _check_numbers(graph: Graph) -> None:
    for what, number, most in (
        ("tenants", len(tenant_numbers(graph)), _TENANTS),
        ("movements", len(graph.movements), _MOVEMENTS),
        ("devices that send", len(host_numbers(graph)), _HOSTS),
    ):
        if number > most:
            raise InputError(
                f"{graph.name}: it has {number} {what}; programs of a DPU know {most}: split it"
            )


def _check_owner(graph: Graph, goal: Goal, movements: list[Movement]) -> None:
    """What a tenant has earned is a state of one DPU."""
    if not setting(goal, "share_mbit_s"):
        return
    for movement in movements:
        tenant = graph.objects[movement.object].tenant
        for other in graph.movements.values():
            if other.direction is not Direction.SEND or other.via == movement.via:
                continue
            if graph.objects[other.object].tenant == tenant:
                raise InputError(
                    f"{graph.name}: goal {goal.kind}: movements {movement.name!r} by "
                    f"{movement.via!r} and {other.name!r} by {other.via!r} spend the share of "
                    f"tenant {tenant!r}: two devices would change one state, which has one owner; "
                    "send both by one DPU, or leave share_mbit_s out"
                )


def _shares(graph: Graph, goal: Goal, movements: list[Movement]) -> dict[int | bytes, Value]:
    numbers = tenant_numbers(graph)
    tenants = dict.fromkeys(graph.objects[movement.object].tenant for movement in movements)
    share = {
        # 10^6 bit/s is 125 bytes a ms.
        "bytes_per_ms": setting(goal, "share_mbit_s") * 125,
        "burst": setting(goal, "burst"),
        "known": 1,
    }
    return {numbers[tenant]: share for tenant in tenants}


def _ranges(graph: Graph, movements: list[Movement]) -> dict[int | bytes, Value]:
    numbers = tenant_numbers(graph)
    items = {movement.object: graph.objects[movement.object] for movement in movements}
    return as_prefixes(
        Span[Value](numbers[item.tenant], item.first, item.end, 1) for item in items.values()
    )


def _price_at(
    graph: Graph, network: Network, goal: Goal, movements: list[Movement]
) -> dict[int | bytes, Value]:
    """By movement: where the price of its object's memory is copied to, and 1."""
    numbers = {name: number for number, name in enumerate(graph.movements)}
    found: dict[int | bytes, Value] = {}
    for movement in movements:
        home = graph.objects[movement.object].home
        for index, island in enumerate(graph.of_kind(PlaceKind.ISLAND)):
            if any(link.island == island.name and link.place == home for link in graph.links):
                port = network.exit_of(island.name, home)
                assert port is not None  # it is linked there
                found[numbers[movement.name]] = index * PRICES_AN_ISLAND + port + 1
    return found


def _source(graph: Graph, place: Place, program: PlannedProgram, prefixes: int) -> str:
    lines = [
        f"/* Made by `fanweave fabric compile` for DPU {place.name} of {graph.name}. */",
        f"#define PREFIXES {prefixes}",
        *(f'#include "{step}.c"' for step in program.steps),
        "",
        f"/* {', '.join(program.movements)} */",
        f'SEC("{program.section}")',
        f"__u64 {program.name}(struct dpu_transfer *transfer)",
        "{",
        "\t__u64 verdict = dpu_send(0);",
        "",
        "\tif (is_done(transfer)) {",
    ]
    if "deadline_queue" in program.steps:
        lines.append("\t\tnote_arrival(transfer);")
    lines += ["\t\treturn verdict;", "\t}"]
    for number, step in enumerate(program.steps):
        lines.append(f"\tverdict = {step}(transfer);")
        if number + 1 < len(program.steps):
            lines += ["\tif (verdict != dpu_send(0))", "\t\treturn verdict;"]
    lines += ["\treturn verdict;", "}", "", 'char LICENSE[] SEC("license") = "Dual BSD/GPL";']
    return "\n".join(lines) + "\n"
