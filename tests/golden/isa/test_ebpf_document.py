"""The written tables are those of the code."""

from pathlib import Path

from fanweave.golden.isa.ebpf_document import reference_document
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/ebpf/reference.md"


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text() == reference_document(), (
        "write it again: python -m fanweave.golden.isa.ebpf_document > docs/ebpf/reference.md"
    )


def test_every_row_is_in_it():
    lines = reference_document().splitlines()
    for row in INSTRUCTIONS:
        assert any(line.startswith(f"| `{row.name}` | `{row.opcode:#04x}` |") for line in lines)
    for helper in HELPERS.values():
        assert any(line.startswith(f"| {helper.number} | `{helper.name}` |") for line in lines)
    assert (
        "| `lock cmpxchg` | `0xdb` | [dst + offset], src | imm 0xf1 | atomic64 | 3 | dst, r0, src "
        "| r0 |"
    ) in lines
