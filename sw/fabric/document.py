"""Writes the table of docs/fabric/compiler.md: programs of a compiled graph.

``python -m fanweave.sw.fabric.document`` prints it for the graph that comes with the package.
"""

from fanweave.golden.fabric.read import load_graph
from fanweave.sw.fabric.compile import Compilation, compile_graph
from fanweave.sw.fabric.output import report_document

__all__ = ["programs_table"]


def programs_table(compilation: Compilation) -> str:
    """Device, program, steps, slots and worst case."""
    lines = [
        "| device | program | steps | slots | worst case |",
        "|---|---|---|---|---|",
    ]
    for row in report_document(compilation)["programs"]:
        steps = ", ".join(f"`{step}`" for step in row["steps"])
        lines.append(
            f"| `{row['device']}` | `{row['program']}` | {steps} | {row['slots']} | "
            f"{row['worst_case_instructions']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(programs_table(compile_graph(load_graph("prefill_decode"))))
