"""What goals become at a GPU: programs at the entry and the exit of its kernels, for bpftime."""

from fanweave.golden.fabric.goals import only_goal, setting
from fanweave.golden.fabric.graph import GoalKind, Graph, Movement, Phase, Place
from fanweave.golden.isa.bpftime import ENTRY, RETURN
from fanweave.sw.fabric.unit import PlannedProgram, Unit
from fanweave.sw.policies.named_maps import MapEntries

__all__ = ["plan_gpu"]


def plan_gpu(graph: Graph, place: Place) -> Unit | None:
    """What a GPU is to run; None if no goal asks for it, or it has no kernels to attach to."""
    own = [m for m in graph.movements.values() if place.name in (m.producer, m.consumer)]
    if not own or not place.kernels:
        return None
    bound = only_goal(graph, GoalKind.BOUND_TAIL_LATENCY, place.name)
    near = (goal for goal in graph.goals if goal.kind is GoalKind.KEEP_HOT_NEAR)
    if not bound and not any(setting(goal, "by_phase") for goal in near):
        return None
    steps = ("phase_clock", "kernel_latency") if bound else ("phase_clock",)
    programs = [
        program
        for phase in Phase
        if phase in place.kernels
        for program in _programs(place, phase, own, steps)
    ]
    maps: dict[str, MapEntries] = {}
    if bound:
        maps["bounds"] = {phase.number: setting(bound, "bound_ns") for phase in Phase}
    return Unit(
        place=place,
        source=_source(graph, place, programs, steps),
        programs=tuple(programs),
        contents=maps,
        attach={
            "programs": [
                {
                    "program": program.name,
                    "section": program.section,
                    "kernel": program.section.partition("/")[2],
                    "at": "exit" if program.section.startswith(RETURN) else "entry",
                }
                for program in programs
            ]
        },
    )


def _programs(
    place: Place, phase: Phase, own: list[Movement], steps: tuple[str, ...]
) -> list[PlannedProgram]:
    movements = tuple(movement.name for movement in own if movement.phase is phase)
    kernel, number = place.kernels[phase], phase.number
    ends = f"kernel_latency({number}, phase_ends({number}));"
    return [
        PlannedProgram(
            name=f"{phase}_begins",
            section=f"{ENTRY}{kernel}",
            steps=steps[:1],
            movements=movements,
            code=f"phase_begins({number});",
        ),
        PlannedProgram(
            name=f"{phase}_ends",
            section=f"{RETURN}{kernel}",
            steps=steps,
            movements=movements,
            code=ends if len(steps) > 1 else f"phase_ends({number});",
        ),
    ]


def _source(
    graph: Graph, place: Place, programs: list[PlannedProgram], steps: tuple[str, ...]
) -> str:
    lines = [
        f"/* Made by `fanweave fabric compile` for GPU {place.name} of {graph.name}. */",
        *(f'#include "{step}.c"' for step in steps),
        "",
    ]
    for program in programs:
        lines += [
            f"/* {', '.join(program.movements) or 'no movement'} */",
            f'SEC("{program.section}")',
            f"int {program.name}(void *context)",
            "{",
            f"\t{program.code}",
            "\treturn 0;",
            "}",
            "",
        ]
    lines.append('char LICENSE[] SEC("license") = "Dual BSD/GPL";')
    return "\n".join(lines) + "\n"
