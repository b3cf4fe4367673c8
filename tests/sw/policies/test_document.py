"""The page about the policies has the tables of the code, and its programs print what it shows."""

import contextlib
import io
import re
from pathlib import Path

from fanweave.sw.ebpf.object.contents import machine_of
from fanweave.sw.policies.document import costs_table, maps_table, programs_table
from fanweave.sw.policies.library import POLICIES, build_policy
from fanweave.sw.policies.scenarios.messages import OTHERS

PAGE = (Path(__file__).resolve().parents[3] / "docs/ebpf/policies.md").read_text()


def test_the_tables_are_up_to_date():
    for table in (costs_table(), maps_table(), programs_table()):
        assert table in PAGE, "see python -m fanweave.sw.policies.document"
    assert all(f"| `{name}` | " in PAGE for name in POLICIES)


def test_what_a_message_costs_that_is_none_of_its_business():
    counts = set()
    for name in POLICIES:
        built = build_policy(name)
        machine = machine_of(built.loaded)
        for step in OTHERS:
            counts.add(machine.run(built.program.program, step.context).instructions)
    assert f"costs {min(counts)} to {max(counts)} instructions" in PAGE


def test_the_programs_print_what_is_shown():
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    (shown,) = re.findall(r"^```output\n(.*?)^```$", PAGE, re.M | re.S)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        for program in programs:
            exec(compile(program, "policies.md", "exec"), {})
    assert len(programs) == 2
    assert stream.getvalue() == shown
