"""Writes the C of an island's programs, which includes the policies as steps."""

from collections.abc import Sequence

from fanweave.sw.fabric.island_maps import trie_sizes
from fanweave.sw.fabric.island_plan import IslandPlan
from fanweave.sw.fabric.island_programs import ANSWERS, STEPS
from fanweave.sw.fabric.unit import PlannedProgram
from fanweave.sw.policies.library import POLICIES

__all__ = ["island_source"]


def island_source(plan: IslandPlan, programs: Sequence[PlannedProgram]) -> str:
    """The translation unit."""
    sizes = trie_sizes(plan)
    lines = [
        f"/* Made by `fanweave fabric compile` for island {plan.island} of {plan.graph.name}. */",
        "#define POLICY_STEP",
        '#include "steps.h"',
        "",
    ]
    for policy in STEPS:
        if policy in plan.steps:
            lines += [
                f"/* {POLICIES[policy].decides} */",
                "#undef PREFIXES",
                f"#define PREFIXES {sizes.get(policy, 1)}",
                f"#define settings {policy}_settings",
                f'#include "{policy}.c"',
                "#undef settings",
                "",
            ]
    for program in programs:
        served = ", ".join(program.movements) or "no movement; what nobody is expected to ask for"
        lines += [f"/* {served} */", *_function(program), ""]
    lines.append('char LICENSE[] SEC("license") = "Dual BSD/GPL";')
    return "\n".join(lines) + "\n"


def _function(program: PlannedProgram) -> list[str]:
    answers = program.name == ANSWERS
    condition = "!is_answer(event)" if answers else "!is_request(event)"
    lines = [
        f'SEC("{program.section}")',
        f"__u64 {program.name}(struct cxl_event *event)",
        "{",
        "\t__u64 verdict = cxl_pass();",
        "",
        f"\tif ({condition})",
        "\t\treturn verdict;",
    ]
    for step in program.steps:
        if answers:
            lines.append(f"\t{step}(event);")
        elif step == "access_control":
            lines += [
                f"\tverdict = {step}(event);",
                "\tif (action_of(verdict) == CXL_DENY)",
                "\t\treturn verdict;",
            ]
        elif step.startswith("hot_pages"):
            # A page is asked for once; so only where the answer can still be said.
            lines += ["\tif (action_of(verdict) == CXL_PASS)", f"\t\tverdict = {step}(event);"]
        else:
            lines.append(f"\tverdict = joined(event, verdict, {step}(event));")
    return [*lines, "\treturn verdict;", "}"]
