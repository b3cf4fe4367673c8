"""Many programs on one engine: lines of JSON in, lines of JSON out."""

import json
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from fanweave.golden.ebpf.conformance import CASES
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf import encode_program
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import TABLES
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.commands import ebpf
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.engines import ENGINES, RunResult, find_engine
from fanweave.sw.ebpf.object.samples import SAMPLES
from fanweave.sw.ebpf.serving import FIELDS, answers

ANSWER = encode_program(assemble("r0 = 42\nexit")).hex()
BYTE = encode_program(assemble("r0 = *(u8 *)(r1 + 0)\nexit")).hex()
#: Conformance cases whose maps can be put down as a document.
SUITE = [
    case
    for case in CASES
    if not case.others
    and not any(spec.kind in TABLES for spec in case.maps)
    # They name what they do not have, and do not use it.
    and not case.name.startswith("lddw of a ")
]
#: Faults that a loader can foresee.
STRUCTURAL = (
    FaultCause.ILLEGAL_INSTRUCTION,
    FaultCause.END_OF_PROGRAM,
    FaultCause.CALL_DEPTH,
    FaultCause.UNKNOWN_HELPER,
    FaultCause.BAD_MAP,
)


def ask(*requests, engine="golden"):
    lines = [
        (each if isinstance(each, str) else json.dumps(each)).encode() + b"\n" for each in requests
    ]
    return [json.loads(line) for line in answers(lines, find_engine(engine))]


def document(case):
    """A case's maps, with what is in them before."""
    maps = {
        spec.name: {
            "type": spec.kind.name,
            "key_size": spec.key_size,
            "value_size": spec.value_size,
            "max_entries": spec.max_entries,
            "flags": spec.flags,
            "entries": [],
        }
        for spec in case.maps
    }
    for entry in case.before:
        row = {"value": entry.value.hex()} | ({"key": entry.key.hex()} if entry.key else {})
        maps[case.maps[entry.map].name]["entries"].append(row)
    return maps


def test_a_suite_of_programs():
    assert len(SUITE) > 300
    requests = [
        {
            "id": case.name,
            "hex": case.code.hex(),
            "mem": case.context.hex(),
            "maps": document(case),
            "budget": case.budget,
        }
        for case in SUITE
    ]
    begin = time.perf_counter()
    found = ask(*requests)
    seconds = time.perf_counter() - begin
    print(f"\n{len(SUITE)} programs in {seconds:.1f} s")
    assert seconds < 60
    assert [answer["id"] for answer in found] == [case.name for case in SUITE]
    ran = 0
    for case, answer in zip(SUITE, found, strict=True):
        if case.fault is FaultCause.NONE:
            assert answer["status"] == 0, answer
            assert int(answer["r0"], 16) == case.r0, case.name
            after = case.context if case.context_after is None else case.context_after
            assert answer["mem"] == after.hex(), case.name
            ran += 1
        elif answer["status"] == 1:
            assert answer["fault"] == case.fault.name, case.name
        else:
            # What no machine may be given is not run at all.
            assert answer["status"] == 2, case.name
            assert case.fault in STRUCTURAL, case.name
    assert ran > 300


def test_an_answer_for_each_line_in_order():
    found = ask({"id": 1, "hex": ANSWER}, "", {"id": "b", "hex": BYTE, "mem": "07 ff"}, "  ")
    assert found == [
        {"id": 1, "status": 0, "r0": "2a", "mem": "", "slot": 1, "instructions": 2},
        {"id": "b", "status": 0, "r0": "7", "mem": "07ff", "slot": 1, "instructions": 2},
    ]


def test_a_fault_is_status_1():
    (answer,) = ask({"hex": BYTE})
    assert answer["status"] == 1
    assert answer["fault"] == "OUT_OF_BOUNDS"
    assert answer["message"] == "line 1, instruction 0: out of bounds after 1 instruction"
    assert "r0" not in answer


def test_one_bad_line_does_not_disturb_the_next_one():
    found = ask("{", {"hex": ANSWER})
    assert [answer["status"] for answer in found] == [2, 0]
    assert found[0]["message"].startswith("line 1 is no JSON: ")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("[]", 'line 1: expected an object, such as {"hex": "95000000 00000000"}'),
        ("7", "line 1: expected an object"),
        ({}, "line 1: expected hex or object, and not both"),
        ({"hex": ANSWER, "object": "a.o"}, "line 1: expected hex or object, and not both"),
        ({"hex": ANSWER, "memory": ""}, f"'memory' is unknown; known are {', '.join(FIELDS)}"),
        ({"hex": 9}, "line 1: hex = 9; expected instructions as hexadecimal text"),
        ({"hex": "9"}, "line 1: hex: not hexadecimal"),
        ({"hex": "ff" + 14 * "0"}, "line 1, instruction 0: opcode 0xff does not exist"),
        ({"hex": ""}, "line 1: the program is empty"),
        ({"hex": ANSWER, "mem": "xy"}, "line 1: mem: not hexadecimal"),
        ({"hex": ANSWER, "budget": 0}, "budget = 0; expected a number from 1 on"),
        ({"hex": ANSWER, "budget": True}, "budget = true; expected a number from 1 on"),
        ({"hex": ANSWER, "verify": 1}, "verify = 1; expected true or false"),
        ({"hex": ANSWER, "maps": []}, "maps = []; expected what is put into the maps"),
        ({"hex": ANSWER, "maps": {"m": {}}}, "line 1: maps, map 'm': type None; choose one of"),
        ({"hex": ANSWER, "section": "other"}, "section 'other' names 0 programs"),
        ({"object": "none.o"}, "none.o cannot be read: No such file or directory"),
        ({"hex": BYTE, "verify": True}, "rule CONTEXT_BOUNDS"),
    ],
)
def test_bad_requests_are_status_2(request_, message):
    (answer,) = ask(request_)
    assert answer["status"] == 2
    assert message in answer["message"]


def test_a_refusal_keeps_the_id():
    assert ask({"id": [3], "what": 1})[0]["id"] == [3]


def test_object_files_are_verified_unless_told_otherwise(tmp_path):
    source, file = tmp_path / "variables.c", tmp_path / "variables.o"
    source.write_text(SAMPLES["variables"])
    file.write_bytes(compile_c(source).data)
    request = {"object": str(file), "section": "first"}
    good, short, loose = ask(
        {**request, "mem": "05", "maps_out": True},
        request,
        {**request, "verify": False},
    )
    assert (good["status"], good["r0"]) == (0, "19")
    assert good["maps"][".bss"]["entries"][0]["value"].endswith("0500000000000000")
    assert short["status"] == 2
    assert "rule CONTEXT_BOUNDS" in short["message"]
    assert (loose["status"], loose["fault"]) == (1, "OUT_OF_BOUNDS")


class Alive:
    """An engine that counts, and fails in its own ways."""

    calls = 0

    @classmethod
    def run(cls, request):
        cls.calls += 1
        if cls.calls == 2:
            raise FaultError("the simulation does not answer")
        if cls.calls == 3:
            raise InputError("the maps do not fit")
        return RunResult(r0=cls.calls, context=b"", contents={})


def test_any_engine_of_the_registry_stays_alive():
    lines = [json.dumps({"hex": ANSWER}).encode()] * 4
    found = [json.loads(line) for line in answers(lines, Alive.run)]
    assert [answer["status"] for answer in found] == [0, 1, 2, 0]
    assert found[0] == {"status": 0, "r0": "1", "mem": ""}
    assert found[1]["message"] == "the simulation does not answer"
    assert found[3]["r0"] == "4"


def test_the_command():
    given = "".join(json.dumps({"id": n, "hex": ANSWER}) + "\n" for n in range(3))
    done = CliRunner().invoke(ebpf, ["serve"], input=given)
    assert done.exit_code == 0
    assert [json.loads(line)["id"] for line in done.output.splitlines()] == [0, 1, 2]
    refused = CliRunner().invoke(ebpf, ["serve", "--engine", "none"], input=given)
    assert isinstance(refused.exception, InputError)
    assert "engine 'none' is not known; choose one of" in str(refused.exception)
    assert "golden" in ENGINES


def test_an_answer_comes_before_the_next_request():
    command = [sys.executable, "-c", "from fanweave.sw.ebpf.commands import ebpf; ebpf()", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        for number in range(3):
            server.stdin.write(json.dumps({"id": number, "hex": ANSWER}).encode() + b"\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == number
        server.stdin.close()
        assert server.wait(timeout=60) == 0
