"""Programs of an island: which steps the requests for each object need, and the filter's rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import MovedObject
from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.sw.fabric.island_plan import IslandPlan
from fanweave.sw.fabric.unit import PlannedProgram

__all__ = ["ANSWERS", "STEPS", "island_programs"]

#: Policies in the order of their steps. Those that decide who may and where come first.
STEPS = (
    "access_control",
    "steering",
    "spill_reads",
    "hot_pages",
    "hot_pages_sketch",
    "duplex_balance",
    "load_tokens",
    "stride_prefetch",
    "telemetry",
)
#: Name of the program that sees answers.
ANSWERS = "answers"
#: Steps that have something to do with requests, and with answers.
_ON_REQUESTS = frozenset(STEPS) - {"telemetry"}
_ON_ANSWERS = ("spill_reads", "duplex_balance", "load_tokens", "telemetry")
#: Steps that must see all requests.
_ON_ALL = frozenset({"access_control", "duplex_balance"})
#: Steps whose verdict can change a request, which must wait for it.
_INLINE = frozenset({"access_control", "steering", "spill_reads", "duplex_balance", "load_tokens"})
_ALL_PORTS, _ALL_OPCODES = 0xFFFF, 0xFFFF
_REQUEST_CHANNELS = (Channel.M2S_REQ, Channel.M2S_RWD)
_ANSWER_CHANNELS = (Channel.S2M_NDR, Channel.S2M_DRS)
_LAST_PAGE = (1 << 52) // PAGE_BYTES - 1


def _steps_of(plan: IslandPlan, name: str) -> tuple[str, ...]:
    """Steps of the requests for an object."""
    return tuple(
        policy
        for policy in STEPS
        if policy in plan.steps and policy in _ON_REQUESTS and name in plan.objects[policy]
    )


@dataclass(kw_only=True)
class _Run:
    """Objects one behind the other that need the same steps."""

    steps: tuple[str, ...]
    objects: list[MovedObject]


def _runs(plan: IslandPlan) -> list[_Run]:
    runs: list[_Run] = []
    ordered = sorted(
        {flow.item.name: flow.item for flow in plan.flows}.values(), key=lambda x: (x.first, x.end)
    )
    for item in ordered:
        steps = _steps_of(plan, item.name)
        last = runs[-1] if runs else None
        if last and last.objects[-1].end > item.first and last.steps != steps:
            raise InputError(
                f"{plan.graph.name}: island {plan.island!r}: objects {last.objects[-1].name!r} and "
                f"{item.name!r} of different tenants have the same addresses and different goals "
                "there; give them the same goals, or different addresses"
            )
        if last and last.steps == steps:
            last.objects.append(item)
        else:
            runs.append(_Run(steps=steps, objects=[item]))
    return runs


def island_programs(plan: IslandPlan) -> tuple[list[PlannedProgram], list[dict[str, Any]]]:
    """Programs by the steps that they make, and the rules that lead messages to them."""
    others = tuple(policy for policy in STEPS if policy in plan.steps and policy in _ON_ALL)
    programs: dict[tuple[str, ...], PlannedProgram] = {}
    rules: list[dict[str, Any]] = []
    for run in _runs(plan):
        if run.steps != others:
            program = _request_program(plan, run, programs)
            first, last = run.objects[0].first, max(item.end for item in run.objects) - PAGE_BYTES
            pages = (first // PAGE_BYTES, last // PAGE_BYTES)
            rules.append(_rule(plan, program, _REQUEST_CHANNELS, pages))
    rest = {
        item.name for item in plan.graph.objects.values() if _steps_of(plan, item.name) == others
    }
    if others:
        program = PlannedProgram(
            name="other_requests",
            section="cxl",
            steps=others,
            movements=_movements(plan, rest),
        )
        programs[others] = program
        rules.append(_rule(plan, program, _REQUEST_CHANNELS, (0, _LAST_PAGE)))
    answers = tuple(policy for policy in _ON_ANSWERS if policy in plan.steps)
    made = list(programs.values())
    if answers:
        program = PlannedProgram(
            name=ANSWERS, section="cxl", steps=answers, movements=_movements(plan, plan.names)
        )
        made.append(program)
        rules.append(_rule(plan, program, _ANSWER_CHANNELS, (0, _LAST_PAGE)))
    numbers = {program.name: number for number, program in enumerate(made)}
    return made, [{**rule, "number": numbers[rule["program"]]} for rule in rules]


def _request_program(
    plan: IslandPlan, run: _Run, programs: dict[tuple[str, ...], PlannedProgram]
) -> PlannedProgram:
    names = {item.name for item in run.objects}
    if run.steps in programs:
        before = programs[run.steps]
        moved = {*before.movements, *_movements(plan, names)}
        movements = tuple(name for name in plan.graph.movements if name in moved)
        program = PlannedProgram(
            name=before.name, section="cxl", steps=run.steps, movements=movements
        )
    else:
        kinds = "_".join(dict.fromkeys(item.kind.value for item in run.objects))
        name = f"{kinds}_requests"
        taken = [program.name for program in programs.values()]
        number = 2
        while name in taken:
            name = f"{kinds}_requests_{number}"
            number += 1
        program = PlannedProgram(
            name=name, section="cxl", steps=run.steps, movements=_movements(plan, names)
        )
    programs[run.steps] = program
    return program


def _movements(plan: IslandPlan, objects: set[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(flow.movement.name for flow in plan.flows if flow.item.name in objects)
    )


def _rule(
    plan: IslandPlan, program: PlannedProgram, channels: Sequence[Channel], pages: tuple[int, int]
) -> dict[str, Any]:
    return {
        "program": program.name,
        "ports": _ALL_PORTS,
        "channels": sum(1 << channel for channel in channels),
        "opcodes": _ALL_OPCODES,
        "first_page": pages[0],
        "last_page": pages[1],
        "inline": channels is _REQUEST_CHANNELS and bool(_INLINE & set(program.steps)),
        "deny": channels is _REQUEST_CHANNELS and _denies_late(plan, program),
        "skip": 0,
    }


def _denies_late(plan: IslandPlan, program: PlannedProgram) -> bool:
    """Whether requests that nobody decided in time are denied."""
    if "access_control" not in program.steps:
        return False
    return bool(setting(plan.steps["access_control"], "deny_late"))
