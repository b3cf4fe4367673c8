"""Writes the tables of docs/ebpf/policies.md: policies, their maps, and classic programs.

``python -m fanweave.sw.policies.document`` prints them.
"""

from fanweave.sw.ebpf.programs.cases import CASES, run_case
from fanweave.sw.ebpf.programs.library import verify_program
from fanweave.sw.policies.library import POLICIES, build_policy
from fanweave.sw.policies.measure import Share, measure

__all__ = ["costs_table", "maps_table", "programs_table"]


def costs_table() -> str:
    """What an event of each policy costs."""
    lines = [
        "| policy | slots | worst case | instructions | map calls | accesses | events |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in POLICIES:
        cost = measure(name)
        shares = (cost.instructions, cost.map_calls, cost.value_accesses)
        numbers = " | ".join(_text(share) for share in shares)
        lines.append(
            f"| `{name}` | {cost.slots} | {cost.worst_case_instructions} | {numbers} | "
            f"{cost.events} |"
        )
    return "\n".join(lines)


def _text(share: Share) -> str:
    return f"{share.mean:.1f} / {share.most}"


def maps_table() -> str:
    """Each policy's maps: type, entries, who fills it and with what."""
    lines = ["| policy | map | type | entries | | holds |", "| --- | --- | --- | --- | --- | --- |"]
    for name, policy in POLICIES.items():
        meanings = {**policy.host, **policy.found}
        for made in build_policy(name).loaded.maps:
            who = "host" if made.name in policy.host else ""
            lines.append(
                f"| `{name}` | `{made.name}` | {made.spec.kind.name} | {made.spec.max_entries} | "
                f"{who} | {meanings[made.name]} |"
            )
    return "\n".join(lines)


def programs_table() -> str:
    """Classic programs on the frames that cycles of another machine are published for."""
    lines = [
        "| program | frame | worst case | instructions | cycles of hBPF |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        if case.published_cycles is not None:
            most = verify_program(case.program).worst_case_instructions
            lines.append(
                f"| `{case.program}` | {case.name} | {most} | {run_case(case).instructions} | "
                f"{case.published_cycles} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(costs_table(), maps_table(), programs_table(), sep="\n\n")
