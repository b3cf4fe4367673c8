"""Long comparisons of the arithmetic blocks."""

from fanweave.sim.benches.fp.campaign import CaseResult, check_golden, rows, run

__all__ = ["CaseResult", "check_golden", "rows", "run"]
