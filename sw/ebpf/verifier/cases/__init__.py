"""Programs that the verifier accepts, and such that it refuses, by each of its rules.

They are data, so that another verifier can be held against them: Linux's is.
"""

from fanweave.sw.ebpf.verifier.cases import (
    addresses,
    calls,
    frames,
    helpers,
    loops,
    memory,
    numbers,
    records,
    ways,
)
from fanweave.sw.ebpf.verifier.cases.case import INNER, MAPS, Case

__all__ = ["CASES", "INNER", "MAPS", "Case"]

CASES: tuple[Case, ...] = tuple(
    case
    for part in (frames, memory, addresses, numbers, helpers, records, loops, ways, calls)
    for case in part.CASES
)
