"""Conformance cases, policies and classic programs on the Verilated engine, through its port."""

import pytest

from fanweave.golden.ebpf.build import leave
from fanweave.golden.ebpf.conformance import CASES
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import ARRAYS, MapType
from fanweave.sim.benches.ebpf.engine_design import SERVER_CONFIG
from fanweave.sim.benches.ebpf.rtl_engine import config_for, run
from fanweave.sw.ebpf.object.engines import RunRequest, find_engine
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap, ObjectProgram
from fanweave.sw.ebpf.programs.cases import CASES as FRAMES
from fanweave.sw.ebpf.programs.cases import run_case as run_frame
from fanweave.sw.policies.play import play, require
from fanweave.sw.policies.scenarios import SCENARIOS

#: What the loader in hardware refuses before an event can meet it.
REFUSED = {
    FaultCause.ILLEGAL_INSTRUCTION,
    FaultCause.UNKNOWN_HELPER,
    FaultCause.END_OF_PROGRAM,
}


def object_of(case):
    """A case as an object file; its own program comes behind those that tables name."""
    others = dict(case.others)
    count = max(others, default=-1) + 1
    codes = [others.get(number, case.program) for number in range(count)] + [case.program]
    programs = tuple(
        ObjectProgram(name=f"p{n}", section="", program=Program.of(code, case.name), functions=())
        for n, code in enumerate(codes)
    )
    maps = tuple(ObjectMap(spec=spec, section=".maps") for spec in case.maps)
    return ObjectFile(name=case.name, programs=programs, maps=maps)


def run_case(case):
    loaded = object_of(case)
    contents = {}
    for entry in case.before:
        contents.setdefault(entry.map, []).append((entry.key, entry.value))
    request = RunRequest(
        loaded=loaded,
        program=loaded.programs[-1],
        context=case.context,
        contents=contents,
        budget=case.budget,
    )
    return run(request)


def entries_of(case, contents):
    """As the case lists them: values of an array that are zero are left out."""
    return sorted(
        (number, key, value)
        for number, entries in contents.items()
        for key, value in entries
        if case.maps[number].kind not in ARRAYS or any(value)
    )


def difference(case):
    """What is wrong with a case, or nothing."""
    try:
        result = run_case(case)
    except InputError as error:
        # Bounds of programs that are not even whole are the loader's to check.
        return "" if case.fault in REFUSED else str(error)
    if result.fault is not case.fault:
        return f"fault {result.fault.name}"
    if case.fault is FaultCause.NONE and result.r0 != case.r0:
        return f"r0 {result.r0:#x}, not {case.r0:#x}"
    after = case.context if case.context_after is None else case.context_after
    if result.context != after:
        return f"context {result.context.hex()}, not {after.hex()}"
    expected = sorted((entry.map, entry.key, entry.value) for entry in case.after)
    found = entries_of(case, result.contents)
    return "" if found == expected else f"maps {found}, not {expected}"


def fits(case):
    """Whether one simulation is enough for the case; larger ones would each be built anew."""
    return config_for(object_of(case), context_bytes=len(case.context)) == SERVER_CONFIG


def test_conformance_cases():
    chosen = [case for case in CASES if fits(case)]
    left = [case.name for case in CASES if not fits(case)]
    print(f"{len(chosen)} of {len(CASES)} cases; too large: {left}")
    assert len(left) < 10
    wrong = {case.name: text for case in chosen if (text := difference(case))}
    assert not wrong


@pytest.mark.parametrize("case", FRAMES, ids=str)
def test_classic_programs(case):
    result = run_frame(case, engine="rtl")
    assert result.fault is FaultCause.NONE
    assert result.r0 == case.r0


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_policies(scenario):
    require(scenario, play(scenario, engine="rtl"))


def test_the_engine_is_known_by_its_name():
    assert find_engine("rtl") is run


def test_a_trace_is_refused():
    loaded = ObjectFile.of_code(Program.of([leave()]))
    request = RunRequest(
        loaded=loaded, program=loaded.programs[0], trace=lambda event, instruction: None
    )
    with pytest.raises(InputError, match="engine rtl shows no instructions"):
        run(request)


def test_an_engine_grows_with_what_it_must_hold():
    large = MapSpec(name="m", kind=MapType.HASH, key_size=40, value_size=900, max_entries=500)
    loaded = ObjectFile.of_code(
        Program.of([leave()]), maps=(ObjectMap(spec=large, section=".maps"),)
    )
    config = config_for(loaded, context_bytes=1000)
    assert config.key_bytes == 64
    assert config.operand_bytes == 1024
    assert config.entries == 1024
    assert config.value_bytes == 512 * 1024
    assert config.context_bytes == 1024
