"""The registry of engines, and the two that every machine has or could have."""

import pytest

from fanweave.golden.ebpf.build import call, goto, leave, mov, wide
from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.object import golden_engine, linux_engine
from fanweave.sw.ebpf.object.engines import ENGINES, RunRequest, RunResult, find_engine
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import ObjectFile


def request_of(instructions, **others):
    loaded = ObjectFile.of_code(Program.of(instructions, name="p"))
    return RunRequest(loaded=loaded, program=loaded.programs[0], **others)


def test_engines_by_name():
    assert find_engine("golden") is golden_engine.run
    assert find_engine("kernel") is linux_engine.run
    with pytest.raises(InputError, match="engine 'none' is not known; choose one of golden, kern"):
        find_engine("none")


def test_upper_layers_add_engines(monkeypatch):
    monkeypatch.setitem(ENGINES, "mine", "fanweave.sw.ebpf.object.golden_engine:run")
    assert find_engine("mine") is golden_engine.run
    with pytest.raises(InputError, match=r"choose one of .*mine"):
        find_engine("other")


def test_golden_gives_result_context_and_where_it_ended():
    text = "r0 = *(u8 *)(r1 + 0)\n*(u8 *)(r1 + 1) = 7\nexit"
    done = golden_engine.run(request_of(assemble(text), context=b"\x2a\0"))
    assert done == RunResult(r0=42, context=b"\x2a\7", contents={}, slot=2, instructions=3)


@pytest.mark.parametrize("reference", [False, True])
def test_golden_ends_with_faults(reference):
    done = golden_engine.run(request_of([goto(-1)], budget=50, reference=reference))
    assert (done.fault, done.instructions) == (FaultCause.WATCHDOG, 50)
    done = golden_engine.run(request_of(assemble("r0 = *(u8 *)(r1 + 0)\nexit")))
    assert (done.fault, done.slot) == (FaultCause.OUT_OF_BOUNDS, 0)


def test_golden_shows_each_instruction():
    seen = []
    code = [wide(1, 5), call(1), leave(), mov(0, 1), leave()]
    golden_engine.run(request_of(code, trace=lambda event, _: seen.append(event.slot)))
    assert seen == [0, 2, 4, 5, 3]


def test_every_run_begins_with_fresh_maps(sample):
    loaded = load_object(sample("variables"), "variables.o")
    program = loaded.find_program("first")
    runs = [
        golden_engine.run(RunRequest(loaded=loaded, program=program, context=b"\5"))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


needs_linux = pytest.mark.skipif(
    bool(why_unavailable()), reason=f"no eBPF in this kernel: {why_unavailable()}"
)


@needs_linux
@pytest.mark.parametrize(
    ("name", "section", "given"),
    [
        ("maps", "use", None),
        ("maps", "use", "hash"),
        ("event", None, None),
    ],
)
def test_linux_gives_the_same(sample, name, section, given):
    loaded = load_object(sample(name), f"{name}.o")
    context = bytes((5, 0, 0, 0)) + bytes(60)
    contents = {loaded.number_of(given, "map"): [(b"\5\0\0\0", bytes(8))]} if given else {}
    request = RunRequest(
        loaded=loaded,
        program=loaded.find_program(section),
        context=context,
        contents=contents,
    )
    golden, linux = golden_engine.run(request), linux_engine.run(request)
    assert linux.r0 == golden.r0
    assert linux.context == golden.context
    assert {n: sorted(e) for n, e in linux.contents.items()} == {
        n: sorted(e) for n, e in golden.contents.items()
    }


def test_linux_shows_no_instructions():
    for more in ({"trace": print}, {"reference": True}):
        with pytest.raises(InputError, match="the kernel shows no instructions; --engine golden"):
            linux_engine.run(request_of([mov(0, 0), leave()], **more))


def test_a_machine_without_it_says_so(monkeypatch):
    monkeypatch.setattr(linux_engine, "why_unavailable", lambda: "not allowed")
    with pytest.raises(InputError, match="the kernel of this machine runs no programs: not allow"):
        linux_engine.run(request_of([mov(0, 0), leave()]))


@needs_linux
def test_what_linux_refuses_is_refused():
    with pytest.raises(InputError):
        linux_engine.run(request_of(assemble("r0 = *(u8 *)(r3 + 0)\nexit")))
