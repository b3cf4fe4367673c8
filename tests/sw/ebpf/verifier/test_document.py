"""The page about the verifier has the tables of the code, and its program prints what it shows."""

import contextlib
import io
import re
from pathlib import Path

from fanweave.sw.ebpf.verifier import Rule
from fanweave.sw.ebpf.verifier.cases import CASES
from fanweave.sw.ebpf.verifier.cases.differences import DIFFERENCES
from fanweave.sw.ebpf.verifier.document import differences_table, rules_table

PAGE = (Path(__file__).resolve().parents[4] / "docs/ebpf/verifier.md").read_text()


def test_the_tables_are_up_to_date():
    assert rules_table() in PAGE, "see python -m fanweave.sw.ebpf.verifier.document"
    assert differences_table() in PAGE, "see python -m fanweave.sw.ebpf.verifier.document"
    assert all(f"| `{rule.name}` | {rule.value} |" in PAGE for rule in Rule)


def test_the_numbers_of_cases_are_right():
    differing = sum(len(each.names) for each in DIFFERENCES)
    assert f"Of the {len(CASES)} cases Linux 6.18 decides {differing} otherwise" in PAGE


def test_the_program_prints_what_is_shown():
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    (shown,) = re.findall(r"^```output\n(.*?)^```$", PAGE, re.M | re.S)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(program, "verifier.md", "exec"), {})
    assert stream.getvalue() == shown
