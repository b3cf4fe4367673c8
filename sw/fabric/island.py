"""What goals become at a switch island: programs of policies, rules of its filter, maps."""

from collections.abc import Mapping
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import Direction, Goal, GoalKind, Graph, ObjectKind
from fanweave.golden.fabric.routes import Network, switch_config
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES
from fanweave.sw.fabric.decode import decoder_plan
from fanweave.sw.fabric.island_maps import copy_port, island_maps
from fanweave.sw.fabric.island_plan import IslandPlan, flows_of
from fanweave.sw.fabric.island_programs import island_programs
from fanweave.sw.fabric.island_source import island_source
from fanweave.sw.fabric.unit import Unit
from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.named_maps import MapEntries
from fanweave.sw.policies.values import Value

__all__ = ["plan_island"]


def plan_island(graph: Graph, network: Network, island: str) -> Unit | None:
    """What an island is to run; None if there is nothing that it has to do.

    Raises
    ------
    InputError
        If a goal cannot be met there; the message names movement and goal.
    """
    plan = IslandPlan(
        graph=graph, network=network, island=island, flows=flows_of(graph, network, island)
    )
    for goal in graph.goals:
        _GOALS[goal.kind](plan, goal)
    if not plan.steps:
        return None
    programs, rules = island_programs(plan)
    maps: dict[str, MapEntries] = island_maps(plan)
    settings = _settings(plan)
    if settings:
        maps[SETTINGS] = {0: settings}
    place = graph.places[island]
    config = switch_config(graph, island)
    if len(rules) > config.rules:
        raise InputError(
            f"{graph.name}: island {island!r} needs {len(rules)} rules of its event filter, for "
            f"{', '.join(program.name for program in programs)}; its switch {place.switch!r} has "
            f"{config.rules}: put objects with the same goals next to each other, or take a goal "
            "away"
        )
    return Unit(
        place=place,
        source=island_source(plan, programs),
        programs=tuple(programs),
        contents=maps,
        records={"records": "record"} if "telemetry" in plan.steps else {},
        attach={
            "switch": place.switch,
            "engine": place.engine,
            "rules": rules,
            "verdict_cycles": MAX_VERDICT_CYCLES,
            **decoder_plan(graph, network, island, plan.flows),
        },
    )


def _steer(plan: IslandPlan, goal: Goal) -> None:
    wanted = plan.names & set(goal.objects or plan.names)
    if wanted:
        plan.use("steering", goal, wanted)


def _keep_near(plan: IslandPlan, goal: Goal) -> None:
    """Heat of a page has one owner: the island that the near memory is at."""
    owner = next((x.island for x in plan.graph.links if x.place == goal.near), "")
    wanted = goal.objects or tuple(
        item.name for item in plan.graph.objects.values() if item.kind is ObjectKind.KV
    )
    if owner != plan.island:
        return
    passing = {flow.movement.name for flow in plan.flows}
    for movement in plan.graph.movements.values():
        if movement.object not in wanted or movement.direction is Direction.SEND:
            continue
        if movement.name not in passing:
            raise InputError(
                f"{plan.graph.name}: goal {goal.kind}: movement {movement.name!r} "
                f"({movement.producer} to {movement.consumer}) does not pass island {owner!r}, "
                f"which owns the heat of {movement.object!r}; another island would have to count "
                f"too, and a state has one owner: lead it over {owner!r}, or give "
                f"{movement.object!r} another near memory"
            )
    if plan.names & set(wanted):
        policy = "hot_pages_sketch" if setting(goal, "sketch") else "hot_pages"
        plan.use(policy, goal, plan.names & set(wanted))


def _balance(plan: IslandPlan, goal: Goal) -> None:
    if plan.names & set(goal.objects or plan.names):
        plan.use("duplex_balance", goal, plan.names)


def _bound(plan: IslandPlan, goal: Goal) -> None:
    """The others wait, by a price that follows the load; what the goal is about does not."""
    wanted = plan.names & set(goal.objects or plan.names)
    if wanted:
        plan.use("load_tokens", goal, plan.names - wanted)
        plan.use("telemetry", goal, ())


def _isolate(plan: IslandPlan, goal: Goal) -> None:
    plan.use("access_control", goal, plan.names)


def _prefetch(plan: IslandPlan, goal: Goal) -> None:
    wanted = plan.names & set(goal.objects or plan.names)
    if wanted:
        plan.use("stride_prefetch", goal, wanted)


def _spread(plan: IslandPlan, goal: Goal) -> None:
    """Copies lead only where the home is not behind another island's port, and is elsewhere."""
    wanted = {
        name
        for name in plan.names & set(goal.objects or plan.names)
        if copy_port(plan, name) is not None
    }
    if wanted:
        plan.use("spill_reads", goal, wanted)


_GOALS = {
    GoalKind.STEER_OBJECTS: _steer,
    GoalKind.KEEP_HOT_NEAR: _keep_near,
    GoalKind.BALANCE_DUPLEX: _balance,
    GoalKind.BOUND_TAIL_LATENCY: _bound,
    GoalKind.ISOLATE_TENANTS: _isolate,
    GoalKind.PREFETCH_STREAMS: _prefetch,
    GoalKind.SPREAD_READS: _spread,
}


def _settings(plan: IslandPlan) -> dict[str, Value]:
    """Variables of the section of settings, by policy."""
    made: dict[str, Value] = {}
    for policy, goal in plan.steps.items():
        values = _SETTINGS.get(policy, lambda _plan, _goal: {})(plan, goal)
        if values:
            made[f"{policy}_settings"] = values
    return made


def _numbers(*names: str) -> Any:
    return lambda _plan, goal: {name: setting(goal, name) for name in names}


def _hot_settings(plan: IslandPlan, goal: Goal) -> Mapping[str, int]:
    target = plan.port_to(goal.near)
    assert target is not None  # it is at this island
    return {**_numbers("threshold", "page_shift")(plan, goal), "target": target}


_SETTINGS = {
    "hot_pages": _hot_settings,
    "hot_pages_sketch": _hot_settings,
    "duplex_balance": _numbers("window", "tokens"),
    "load_tokens": _numbers("step", "most"),
    "spill_reads": lambda _plan, goal: {
        "most": setting(goal, "open"),
        "least": min(setting(goal, "least"), setting(goal, "open")),
        "step": setting(goal, "step"),
    },
    "stride_prefetch": _numbers("region_shift", "confidence", "distance"),
    "telemetry": lambda _plan, goal: {
        "sample_mask": setting(goal, "sample_mask"),
        "slow_ns": setting(goal, "bound_ns"),
    },
}
