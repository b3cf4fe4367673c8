"""What a loader refuses, and why."""

import time

import pytest

from fanweave.golden.ebpf.build import alu, call, goto, helper, leave, load, map_of, mov, wide
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import AluOperation, Instruction
from fanweave.sw.ebpf.check import check_program


def chain(depth):
    """A function that calls the next one, and so on."""
    program = []
    for _ in range(depth - 1):
        program += [call(1), leave()]
    return [*program, mov(0, 0), leave()]


@pytest.mark.parametrize(
    "program",
    [
        [mov(0, 0), leave()],
        [goto(0), leave()],
        [wide(0, 5), goto(-3)],
        [map_of(1, 1), helper(1), leave()],
        chain(8),
        [call(2), call(1), leave(), mov(0, 1), leave()],
    ],
)
def test_a_sound_program_is_accepted(program):
    check_program(Program.of(program), maps=2)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([], "p: the program is empty; it needs an exit at least"),
        ([mov(0, 0)], "p: control can run off the end"),
        ([leave(), alu(AluOperation.ADD, 0, 11)], "instruction 1: src names register 11"),
        ([Instruction(0x05, imm=4), leave()], "instruction 0: imm is 4 and has no meaning here"),
        ([Instruction(0xFF), leave()], "instruction 0: opcode 0xff does not exist"),
        ([mov(10, 1), leave()], "instruction 0: it writes r10, which is read-only"),
        ([load(10, 1), leave()], "instruction 0: it writes r10, which is read-only"),
        ([goto(1), leave()], "instruction 0: it leads to slot 2; the program has 2"),
        ([goto(-2), leave()], "instruction 0: it leads to slot -1"),
        ([goto(1), wide(0, 1), leave()], "it leads into the middle of the 64-bit immediate load"),
        ([helper(6), leave()], "instruction 0: helper 6 (trace_printk) is not supported; supp"),
        ([map_of(1, 2), leave()], "instruction 0: map 2 does not exist; there are 2"),
        ([wide(1, 0, kind=4), leave()], "64-bit immediate loads of kind 4 are not possible here"),
        ([wide(1, 0, kind=7), leave()], "64-bit immediate loads of kind 7 do not exist"),
        ([Instruction(0x85, src=2), leave()], "calls by BTF id are not possible here"),
        ([Instruction(0x85, src=3), leave()], "calls of kind 3 do not exist"),
        ([call(-1), leave()], "p: the function at 0 calls itself"),
        (
            [call(1), leave(), call(-3), leave()],
            "p: the function at 0 calls itself by way of the function at 2; write a loop",
        ),
        (chain(9), "p: local calls are more than 8 deep: the function at 0 calls the function"),
    ],
)
def test_an_unsound_program_is_refused_with_the_place_and_the_rule(program, message):
    with pytest.raises(InputError) as refused:
        check_program(Program.of(program, name="p"), maps=2)
    assert message in str(refused.value)


def test_a_program_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="p: 5 slots; at most 4 are possible"):
        check_program(Program.of([mov(0, 0)] * 4 + [leave()], name="p"), max_slots=4)


def test_names_and_lines_of_a_source_are_said():
    program = Program.of([mov(0, 0), call(1), leave(), call(-1), leave()], name="p")
    with pytest.raises(InputError, match="p: 'shared' calls itself; write a loop"):
        check_program(program, functions={0: "p", 3: "shared"})
    program = Program.of([mov(0, 0), helper(4), leave()], name="p")
    with pytest.raises(InputError, match=r"p, instruction 1, p\.c:7: probe\(\): helper 4"):
        check_program(program, lines={1: "p.c:7: probe()"})


def test_what_no_entry_reaches_may_call_as_it_likes():
    check_program(Program.of([mov(0, 0), leave(), call(-1), leave()]))


@pytest.mark.parametrize(
    "program",
    [
        [part for _ in range(20_000) for part in (call(1), leave())] + [mov(0, 0), leave()],
        # Each call leads to another place of one long function.
        [call(20_000)] * 20_000 + [leave()] + [mov(0, 0)] * 20_000 + chain(9),
    ],
)
def test_any_number_of_functions_takes_a_moment(program):
    begin = time.perf_counter()
    with pytest.raises(InputError, match="more than 8 deep"):
        check_program(Program.of(program))
    assert time.perf_counter() - begin < 10
