"""The cases: accepted with their longest path, or refused by their rule; and Linux's verdicts."""

import random
from collections import Counter

import pytest

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import create_map
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.verifier import Rule, VerificationError, verify
from fanweave.sw.ebpf.verifier.cases import CASES, INNER, MAPS
from fanweave.sw.ebpf.verifier.cases.differences import DIFFERENCES
from fanweave.sw.ebpf.verifier.kernel import linux_verifier


def decide(case):
    return verify(
        *(case.program, MAPS),
        context=case.context,
        budget=case.budget,
        programs=case.programs,
        inner=INNER,
        max_steps=50_000,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict(case):
    if case.rule is not None:
        with pytest.raises(VerificationError) as refused:
            decide(case)
        assert refused.value.rule is case.rule
        assert case.says in str(refused.value)
        return
    report = decide(case)
    if case.longest is not None:
        assert report.worst_case_instructions == case.longest
    generator = random.Random(case.name)
    maps = [create_map(spec) for spec in MAPS]
    maps[6].update(bytes(4), bytes(4))
    maps[7].update(bytes(4), bytes(4))
    machine = Machine(maps, programs=case.programs, budget=report.worst_case_instructions)
    for _ in range(20):
        length = generator.randrange(case.context.least, case.context.most + 1)
        outcome = machine.run(case.program, generator.randbytes(length))
        assert outcome.fault is FaultCause.NONE
        maps[1].update(bytes(4), bytes(8))


def test_every_rule_is_there_and_names_are_unique():
    refused = {case.rule for case in CASES}
    # The number of followed instructions is an argument and no property of a program.
    assert refused - {None} == set(Rule) - {Rule.COMPLEXITY}
    assert max(Counter(case.name for case in CASES).values()) == 1
    assert sum(case.rule is None for case in CASES) > 100
    assert sum(case.rule is not None for case in CASES) > 150


def test_paths_that_are_too_many():
    case = next(case for case in CASES if case.name == "loop: a hundred turns")
    with pytest.raises(VerificationError, match="50 instructions were followed") as refused:
        verify(case.program, MAPS, context=case.context, budget=1_000, max_steps=50)
    assert refused.value.rule is Rule.COMPLEXITY


@pytest.fixture(scope="module")
def linux():
    if reason := why_unavailable():
        pytest.skip(f"the kernel of this machine verifies no programs: {reason}")
    # Linux always knows what an array of maps holds.
    inner = {
        number: MAPS[0] for number, spec in enumerate(MAPS) if spec.kind.name == "ARRAY_OF_MAPS"
    }
    with linux_verifier(MAPS, inner) as verifier:
        yield verifier


def test_linux_decides_the_same_but_for_what_is_listed(linux):
    differing = {}
    for case in CASES:
        refusal = linux.refusal(case.program, case.context.most)
        if (refusal is None) != (case.rule is None):
            differing[case.name] = refusal is None
    listed = {name: each.accepts for each in DIFFERENCES for name in each.names}
    assert differing == listed
    assert len(listed) < len(CASES) / 4
