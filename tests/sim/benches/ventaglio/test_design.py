"""The harness as a design."""

from fanweave.golden.ventaglio.config import preset
from fanweave.sim.benches.ventaglio.design import harness_design


def test_banks_are_kept_apart_by_the_name_they_have():
    """Verilator ignores a directive for a module that does not exist."""
    design = harness_design(preset("tiny"))
    text = next(s.text for s in design.sources if s.name == "ventaglio_bench.v")
    apart = next(s.text for s in design.sources if s.name == "apart.vlt")
    name = apart.split('"')[1]
    assert f"module \\{name} " in text
    assert text.count(f"\\{name}  bank_") == preset("tiny").banks
