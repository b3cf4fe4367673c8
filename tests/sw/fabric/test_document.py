"""The pages about the fabric have the tables of the code."""

from pathlib import Path

from fanweave.golden.fabric.goals import SETTINGS
from fanweave.sw.fabric.document import programs_table
from fanweave.sw.fabric.states import LEAST_PERIOD_NS
from fanweave.sw.fabric.unit import BUDGETS

DOCS = Path(__file__).resolve().parents[3] / "docs/fabric"


def test_the_table_of_programs_is_up_to_date(shipped):
    page = (DOCS / "compiler.md").read_text()
    assert programs_table(shipped) in page, "see python -m fanweave.sw.fabric.document"


def test_budgets_and_periods():
    page = " ".join((DOCS / "compiler.md").read_text().split())
    island, dpu, gpu = BUDGETS.values()
    assert f"{island} instructions at an island, {dpu} at a DPU and {gpu} at a GPU" in page
    assert LEAST_PERIOD_NS == 1000
    assert "at least a microsecond" in page


def test_every_number_of_a_goal_is_told():
    page = (DOCS / "graph.md").read_text()
    for kind, settings in SETTINGS.items():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{kind}`"))
        for name in settings:
            assert f"`{name}`" in row
