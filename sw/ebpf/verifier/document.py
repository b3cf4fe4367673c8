"""Writes the tables of docs/ebpf/verifier.md: rules, and where Linux decides otherwise.

``python -m fanweave.sw.ebpf.verifier.document`` prints them.
"""

from fanweave.sw.ebpf.verifier.cases import CASES
from fanweave.sw.ebpf.verifier.cases.differences import DIFFERENCES
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["differences_table", "rules_table"]


def rules_table() -> str:
    """Rules, what they say, and how many cases violate each."""
    lines = ["| rule | | cases |", "| --- | --- | --- |"]
    for rule in Rule:
        count = sum(case.rule is rule for case in CASES)
        lines.append(f"| `{rule.name}` | {rule.value} | {count or ''} |")
    return "\n".join(lines)


def differences_table() -> str:
    """Reasons for which Linux decides otherwise, and how many cases it does for each."""
    lines = ["| cases | Linux | because |", "| --- | --- | --- |"]
    for each in DIFFERENCES:
        verdict = "accepts" if each.accepts else "refuses"
        lines.append(f"| {len(each.names)} | {verdict} | {each.reason} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(rules_table(), differences_table(), sep="\n\n")
