"""The conformance cases that need no map and no helper, on the core."""

from collections import defaultdict

import pytest

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.conformance import CASES
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import CallKind, JumpOperation
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.lockstep import run_events

CONFIG = EbpfConfig(threads=4, slots=512, context_bytes=256)
_CALL = JumpOperation.CALL << 4 | 5


def needs_more(case):
    """Whether the core lacks something that the case uses."""
    calls = [i for i in case.program if i.opcode == _CALL and i.src == CallKind.HELPER]
    return bool(case.maps or case.others or calls)


def fits(case):
    slots = sum(instruction.slots for instruction in case.program)
    return slots <= CONFIG.slots and len(case.context) <= CONFIG.context_bytes


CHOSEN = [case for case in CASES if not needs_more(case) and fits(case)]
BY_BUDGET = defaultdict(list)
for _case in CHOSEN:
    BY_BUDGET[_case.budget].append(_case)


def test_most_cases_are_for_the_core():
    left = [case.name for case in CASES if not needs_more(case) and not fits(case)]
    print(f"{len(CHOSEN)} of {len(CASES)} cases; too large: {left}")
    assert len(CHOSEN) > 400
    assert len(left) < 10


@pytest.mark.parametrize("budget", sorted(BY_BUDGET))
def test_cases(budget):
    cases = BY_BUDGET[budget]
    batches = [(Program.of(case.program, case.name), [case.context]) for case in cases]
    wrong = []
    for case, found in zip(cases, run_events(batches, CONFIG, budget), strict=True):
        r0, cause = found[0].r0, found[0].cause
        same = cause == case.fault and (case.fault is not FaultCause.NONE or r0 == case.r0)
        if not same:
            wrong.append(f"{case.name}: {r0:#x}, {FaultCause(cause).name}; {case}")
    assert not wrong
