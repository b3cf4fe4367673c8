"""The classic programs on every engine that is there."""

from dataclasses import replace

import pytest

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.errors import FaultError, InputError
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.programs import library
from fanweave.sw.ebpf.programs.cases import CASES, run_case
from fanweave.sw.ebpf.programs.frames import FRAME_BYTES, context_of
from fanweave.sw.ebpf.programs.library import PROGRAMS, build_program, verify_program
from fanweave.sw.ebpf.verifier.kernel import linux_verifier

on_linux = pytest.mark.skipif(
    bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}"
)
every_program = pytest.mark.parametrize("name", PROGRAMS)


@pytest.mark.parametrize("engine", ["golden", pytest.param("kernel", marks=on_linux)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case, engine):
    run_case(case, engine=engine)


@every_program
def test_every_instruction_is_executed(name):
    (program,) = build_program(name).programs
    seen = set()
    for case in CASES:
        if case.program == name:
            Machine().run(
                program.program, case.context, trace=lambda event, _: seen.add(event.slot)
            )
    assert seen == {n for n, slot in enumerate(program.program.slots) if slot is not None}


@every_program
def test_no_case_executes_more_than_the_verifier_says(name):
    most = verify_program(name).worst_case_instructions
    executed = [run_case(case).instructions for case in CASES if case.program == name]
    assert max(executed) <= most


@every_program
def test_there_are_no_warnings(name):
    assert compile_c(library._FOLDER / f"{name}.c").warnings == ""


@on_linux
@every_program
def test_linux_accepts_them(name):
    (program,) = build_program(name).programs
    with linux_verifier([]) as linux:
        assert linux.refusal(program.program, FRAME_BYTES) is None


def test_published_cycles_are_there_for_each_program():
    published = {str(case): case.published_cycles for case in CASES if case.published_cycles}
    assert set(published.values()) == {41, 92, 107, 38, 54, 302, 217}
    assert {name.partition(":")[0] for name in published} == set(PROGRAMS)


def test_a_wrong_result_is_a_fault():
    with pytest.raises(FaultError, match="subnet: in the subnet: r0 = 1; it must be 0"):
        run_case(replace(CASES[0], r0=0))


def test_what_is_refused():
    with pytest.raises(InputError, match="'vlan' is not known; choose one of subnet, tcp_port_80"):
        build_program("vlan")
    with pytest.raises(InputError, match="the frame is empty"):
        context_of(b"")


def test_contexts_have_their_length():
    assert context_of(b"ab") == b"ab" + bytes(142)
    assert len(context_of(bytes(1500))) == FRAME_BYTES
