"""Conformance cases of eBPF: for every instruction, every rule, every helper and every fault.

They are data, so that any machine can run them: golden, hardware, Linux.
"""

from fanweave.golden.ebpf.conformance import arithmetic, faults, helpers, jumps, maps, memory
from fanweave.golden.ebpf.conformance.case import Case, Entry, unique

__all__ = ["CASES", "Case", "Entry"]

CASES: tuple[Case, ...] = unique(
    case for part in (arithmetic, jumps, memory, faults, maps, helpers) for case in part.cases()
)
