"""Programs that the verifier accepts, and such that it refuses, by each of its rules.

They are data, so that another verifier can be held against them: Linux's is.
"""

from fanweave.sw.ebpf.verifier.cases import (
    addresses,
    frames,
    helpers,
    memory,
    numbers,
    paths,
    records,
)
from fanweave.sw.ebpf.verifier.cases.case import INNER, MAPS, Case

__all__ = ["CASES", "INNER", "MAPS", "Case"]

CASES: tuple[Case, ...] = tuple(
    case
    for part in (frames, memory, addresses, numbers, helpers, records, paths)
    for case in part.CASES
)
