from pathlib import Path

from fanweave.golden.timing.metrics import DEFINITIONS
from fanweave.golden.timing.metrics_document import metrics_document

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/timing/metrics.md"


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text() == metrics_document(), (
        "write it again: python -m fanweave.golden.timing.metrics_document > docs/timing/metrics.md"
    )


def test_every_metric_is_in_it():
    for name in DEFINITIONS:
        assert f"| `{name}` |" in metrics_document()
