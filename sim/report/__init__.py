"""Tables, JSON and JUnit XML of a run."""

from fanweave.sim.report.bench_rows import BenchRow, bench_document, print_bench, write_bench
from fanweave.sim.report.files import check_output, write_json, write_text
from fanweave.sim.report.junit import CaseResult, write_junit
from fanweave.sim.report.table import Column, format_number, print_table

__all__ = [
    "BenchRow",
    "CaseResult",
    "Column",
    "bench_document",
    "check_output",
    "format_number",
    "print_bench",
    "print_table",
    "write_bench",
    "write_json",
    "write_junit",
    "write_text",
]
