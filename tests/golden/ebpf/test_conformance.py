"""The conformance cases, on both ways to run, and that they leave nothing out."""

import pytest

from fanweave.golden.ebpf.build import alu, jump, leave, load, mov
from fanweave.golden.ebpf.conformance import CASES, Entry
from fanweave.golden.ebpf.conformance.case import Case, unique
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import ArrayMap, QueueMap, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, CallKind, JumpOperation, decode_program
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, kind_of
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType

#: Instructions that the standard has and no machine without an operating system.
ELSEWHERE = {"call btf", "lddw variable", "lddw code"}


def machine_of(case):
    maps = [create_map(spec) for spec in case.maps]
    for entry in case.before:
        made = maps[entry.map]
        if isinstance(made, QueueMap):
            assert made.push(entry.value) == 0
        else:
            assert made.update(entry.key, entry.value) == 0
    programs = {number: Program.of(program) for number, program in case.others}
    return Machine(maps, programs=programs, budget=case.budget)


def entries_of(maps):
    found = []
    for number, made in enumerate(maps):
        for key, value in made.items():
            if not isinstance(made, ArrayMap) or any(value):
                found.append(Entry(map=number, key=key, value=value))
    return tuple(found)


@pytest.mark.parametrize("reference", [True, False], ids=["reference", "translated"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case, reference):
    machine = machine_of(case)
    context = bytearray(case.context)
    outcome = machine.run(Program.of(case.program), context, reference=reference)
    assert outcome.fault is case.fault
    if case.fault is FaultCause.NONE:
        assert hex(outcome.r0) == hex(case.r0)
    if case.slot is not None:
        assert outcome.slot == case.slot
    assert context == (case.context if case.context_after is None else case.context_after)
    assert entries_of(machine.maps) == case.after


def executed():
    """Every instruction that a case executes, with its case."""
    for case in CASES:
        seen = []
        machine = machine_of(case)
        outcome = machine.run(
            Program.of(case.program),
            bytearray(case.context),
            trace=lambda event, instruction, seen=seen: seen.append(instruction),
        )
        if outcome.fault is not FaultCause.NONE:
            seen.pop()
        yield from ((case, instruction) for instruction in seen)


def test_every_instruction_and_every_helper_is_executed():
    instructions = [instruction for _, instruction in executed()]
    rows = {id(kind_of(instruction)) for instruction in instructions}
    missing = {row.name for row in INSTRUCTIONS if id(row) not in rows}
    assert missing == ELSEWHERE
    called = {i.imm for i in instructions if i.opcode == 0x85 and i.src == CallKind.HELPER}
    assert called == set(HELPERS)


def test_every_fault_and_every_type_of_map_has_a_case():
    # Those of hardware alone are tested where the hardware is.
    hardware = {FaultCause.OPERAND_SIZE, FaultCause.NO_PROGRAM}
    assert {case.fault for case in CASES} == set(FaultCause) - hardware
    assert {spec.kind for case in CASES for spec in case.maps} == set(MapType)


def test_cases_can_be_loaded_as_bytes():
    for case in CASES:
        assert decode_program(case.code) == list(case.program)


def test_two_cases_cannot_have_one_name():
    case = Case(name="twice", program=(leave(),))
    with pytest.raises(ValueError, match="two conformance cases are called 'twice'"):
        unique([case, case])


def both(instructions, *, budget=10_000):
    outcomes = [
        Machine(budget=budget).run(Program.of(instructions), reference=reference)
        for reference in (True, False)
    ]
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def test_a_fault_says_where_and_after_how_much():
    outcome = both([mov(0, 1), mov(3, 2), load(0, 3), mov(0, 9), leave()])
    assert (outcome.fault, outcome.slot, outcome.instructions) == (FaultCause.OUT_OF_BOUNDS, 2, 3)
    assert outcome.registers[3] == 2


@pytest.mark.parametrize("budget", range(1, 14))
def test_the_watchdog_counts_every_instruction(budget):
    loop = [
        *(mov(0, 0), alu(AluOperation.ADD, 0, imm=1)),
        *(jump(JumpOperation.JNE, 0, -2, imm=5), leave()),
    ]
    outcome = both(loop, budget=budget)
    assert outcome.fault is (FaultCause.WATCHDOG if budget < 12 else FaultCause.NONE)
    assert outcome.instructions == min(budget, 12)
