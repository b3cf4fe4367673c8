"""Every policy on every engine that is there: the same verdicts, the same maps."""

import pytest

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.isa.cxl_event import VerdictAction
from fanweave.sw.policies.library import POLICIES, build_policy
from fanweave.sw.policies.play import play, require
from fanweave.sw.policies.scenarios import SCENARIOS

KERNEL = pytest.param(
    "kernel",
    marks=pytest.mark.skipif(
        bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}"
    ),
)
#: Lines that only a map that the host does not empty reaches; see test_state.py.
ELSEWHERE = {"telemetry": {"if (!record) {", "__sync_fetch_and_add(&totals.lost, 1);"}}


@pytest.mark.parametrize("engine", ["golden", KERNEL])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenarios(scenario, engine):
    require(scenario, play(scenario, engine=engine))


@pytest.mark.parametrize("name", POLICIES)
def test_every_instruction_is_executed(name):
    built = build_policy(name)
    seen = set()
    for scenario in SCENARIOS:
        if scenario.policy == name:
            play(scenario, trace=lambda event, _: seen.add(event.slot))
    program = built.program.program
    missing = {n for n, slot in enumerate(program.slots) if slot is not None} - seen
    lines = {built.program.line_at(slot).text.strip() for slot in missing}
    assert lines - {"return cxl_pass();"} == ELSEWHERE.get(name, set())
    assert bool(missing) == (name in ELSEWHERE)


def test_every_verdict_is_given():
    given = {step.verdict.action for scenario in SCENARIOS for step in scenario.steps}
    assert given == set(VerdictAction)


def test_names_are_different():
    names = [str(scenario) for scenario in SCENARIOS]
    assert len(names) == len(set(names))
