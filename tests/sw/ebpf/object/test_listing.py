"""Programs as text: names of maps and helpers, lines of the source, traces and faults."""

from itertools import pairwise

import pytest

from fanweave.golden.ebpf.build import helper, leave, map_of, mov, wide
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object.engines import RunRequest, RunResult, find_engine
from fanweave.sw.ebpf.object.listing import (
    fault_text,
    instruction_text,
    program_lines,
    tracer,
)
from fanweave.sw.ebpf.object.loader import load_object


@pytest.fixture(scope="module")
def variables(sample):
    return load_object(sample("variables"), "variables.o")


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (map_of(1, 1), "r1 = map older"),
        (wide(3, 3 | 4 << 32, kind=2), "r3 = value .data + 4"),
        (helper(1), "call 1   # map_lookup_elem"),
        (helper(4711), "call 4711"),
        (mov(0, 1), "r0 = 1"),
        (wide(1, 7), "r1 = 0x7 ll"),
    ],
)
def test_instructions_with_names(variables, instruction, text):
    assert instruction_text(instruction, variables) == text


def test_a_map_that_does_not_exist_is_shown_as_bytes(variables):
    assert "18 11 00 00 63" in instruction_text(map_of(1, 99), variables)


def test_programs_with_functions_and_lines(variables):
    lines = list(program_lines(variables.find_program("second"), variables))
    assert lines[0].startswith("second:  # event, ")
    heads = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert heads == ["second", "shared", "twice"]
    assert any(line.strip().endswith("total += number;") for line in lines)
    code = [line for line in lines if line.startswith("  ") and ";" not in line]
    slots = [int(line.split(":")[0]) for line in code]
    assert slots == sorted(slots)
    assert slots[0] == 0
    # A line is shown once, however many places of it there are.
    shown = [line for line in lines if line.lstrip().startswith(";")]
    assert all(first != second for first, second in pairwise(shown))


def test_a_trace_shows_lines_instructions_and_registers(variables, capsys):
    program = variables.find_program("first")
    find_engine("golden")(
        RunRequest(loaded=variables, program=program, context=b"\5", trace=tracer(variables))
    )
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("; ")
    assert lines[0].endswith("__u32 key = context[0];")
    assert lines[1].split()[:2] == ["0:", "r1"]
    # r1 is the context's address, r2 its length; r10 the end of the frame.
    assert lines[1].split()[-11:-8] == ["0", "10000000", "1"]
    assert lines[1].split()[-1] == "20000200"
    assert lines[2].split()[-10] == "5"


def result(**fields):
    return RunResult(r0=0, context=b"", contents={}, **fields)


def test_faults_name_place_line_and_cause(variables):
    program = variables.find_program("first")
    fault = FaultCause.OUT_OF_BOUNDS
    text = fault_text(variables, program, result(fault=fault, slot=0, instructions=1))
    assert text.startswith("variables.o, event:first, instruction 0 (")
    assert text.endswith("__u32 key = context[0];): out of bounds after 1 instruction")
    text = fault_text(variables, program, result(fault=FaultCause.WATCHDOG, instructions=9))
    assert text == "variables.o, event:first: watchdog after 9 instructions"
    assert fault_text(variables, program, result(fault=fault)) == (
        "variables.o, event:first: out of bounds"
    )


def test_no_line_where_a_tail_call_may_have_led_elsewhere(sample):
    loaded = load_object(sample("maps"), "maps.o")
    done = result(fault=FaultCause.OUT_OF_BOUNDS, slot=1)
    text = fault_text(loaded, loaded.find_program("tail"), done)
    assert text == "maps.o, event/tail:tail, instruction 1: out of bounds"


def test_leave_is_an_exit(variables):
    assert instruction_text(leave(), variables) == "exit"
