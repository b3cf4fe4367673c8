"""The player notices what is not as it must be."""

import importlib
from dataclasses import replace

import pytest

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object import engines
from fanweave.sw.ebpf.object.engines import RunResult
from fanweave.sw.policies.play import play, require
from fanweave.sw.policies.scenarios import SCENARIOS

SCENARIO = next(s for s in SCENARIOS if s.policy == "stride_prefetch")
TELEMETRY = next(s for s in SCENARIOS if s.policy == "telemetry")


def changed(scenario, **after):
    return replace(scenario, after={**scenario.after, **after})


def test_a_wrong_verdict():
    first, *others = SCENARIO.steps
    denied = replace(first, verdict=Verdict(action=VerdictAction.DENY))
    with pytest.raises(FaultError, match=r"in a row.*event 0 gives r0 = 0x0, .*PASS.*be 0x3, .*D"):
        require(replace(SCENARIO, steps=(denied, *others)), play(SCENARIO))


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ({"streams": {}}, r"map 'streams' holds \{18: .*'line': 18435.*; it must hold \{\}"),
        ({"prefetches": []}, r"map 'prefetches' holds \[.*; it must hold \[\]"),
        (
            {"prefetches": list(reversed(SCENARIO.after["prefetches"]))},
            "map 'prefetches' holds",
        ),
        ({".rodata.settings": {0: {"confidence": 9}}}, "map '.rodata.settings' holds"),
    ],
)
def test_maps_that_differ(after, message):
    with pytest.raises(FaultError, match=message):
        require(changed(SCENARIO, **after), play(SCENARIO))


def test_records_that_differ():
    records = TELEMETRY.after["records"]
    for wrong in (records[:-1], [*records, records[-1]], [records[1], records[0], *records[2:]]):
        with pytest.raises(FaultError, match="map 'records' holds"):
            require(changed(TELEMETRY, records=wrong), play(TELEMETRY))


def test_maps_that_are_not_named_must_be_as_the_host_left_them():
    with pytest.raises(FaultError, match="map 'streams' holds"):
        require(
            replace(SCENARIO, after={"prefetches": SCENARIO.after["prefetches"]}), play(SCENARIO)
        )


def faulty(request):
    return RunResult(r0=0, context=b"", contents={}, fault=FaultCause.WATCHDOG)


def test_a_fault(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "faulty", f"{__name__}:faulty")
    monkeypatch.setattr(importlib, "import_module", lambda name: globals_of())
    with pytest.raises(FaultError, match="event 0 ended with WATCHDOG"):
        play(SCENARIO, engine="faulty")


def globals_of():
    return type("module", (), {"faulty": staticmethod(faulty)})


def test_an_unknown_engine():
    with pytest.raises(InputError, match="engine 'abacus' is not known"):
        play(SCENARIO, engine="abacus")
