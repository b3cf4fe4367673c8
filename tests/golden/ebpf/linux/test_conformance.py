"""The conformance cases on the kernel of this machine, where it lets programs run.

What Linux runs gives the same result, context and maps; what is a fault here, it refuses.
"""

import pytest

from fanweave.golden.ebpf.conformance import CASES, Entry
from fanweave.golden.ebpf.linux import LinuxMachine, RefusedError, why_unavailable
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType

pytestmark = pytest.mark.skipif(
    bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}"
)

#: What the verifier says of programs that are well defined here, and why it need not.
REFUSALS = {
    "div by zero": "an immediate divisor that is zero",
    "invalid shift": "an immediate shift count beyond the width",
    "unreachable insn": "code that nothing reaches",
    "!read_ok": "registers that nothing was written to, or that a call may have changed",
    "jump out of range": "jumps across a function",
    "the call stack of 9 frames is too deep": "the harness has a frame of its own",
    "invalid mem access 'scalar'": "addresses as numbers",
    "misaligned stack access": "stores to the stack that are not aligned",
    "invalid access to map value pointer": "addresses of values in arrays of more than one",
    "no direct value access": "addresses of values in maps that are not arrays",
    "Unreleased reference": "records that are left open",
}

#: Cases about what every machine has of its own.
DIFFERENT = {
    "the stack begins as zeros": "Linux's begins as it was",
    "lddw of a map_fd": "addresses of maps differ",
    "lddw of a map_index": "addresses of maps differ",
    "RINGBUF: size": "a ring of Linux has a page at least",
    "RINGBUF: question 0 after a record": "the harness fills what a page has too much",
    "RINGBUF: question 3 after a record": "the harness fills what a page has too much",
    "time is the event's": "Linux's goes on",
    "the first random number": "Linux's is random",
    "LRU_HASH: a failed update does not": "Linux makes room before it looks for the key",
    "illegal: jump operation 14": "Linux has one since RFC 9669",
    "an exit beyond the budget": "Linux has no budget",
}

TABLES = (MapType.PROG_ARRAY, MapType.ARRAY_OF_MAPS)
ARRAYS = (MapType.ARRAY, MapType.PERCPU_ARRAY)


def inner_maps(specs):
    """The map behind an array of maps is like those that it names."""
    return {
        number: (number + 1) % len(specs)
        for number, spec in enumerate(specs)
        if spec.kind is MapType.ARRAY_OF_MAPS
    }


def fill(machine, case):
    programs = {
        number: machine.load_raw(Program.of(program, f"other {number}"))
        for number, program in case.others
    }
    for entry in case.before:
        made, value = machine.maps[entry.map], entry.value
        named = int.from_bytes(value, "little")
        if made.spec.kind is MapType.PROG_ARRAY:
            value = programs[named].to_bytes(4, "little")
        elif made.spec.kind is MapType.ARRAY_OF_MAPS:
            value = machine.maps[named].descriptor.to_bytes(4, "little")
        assert made.update(entry.key, value) == 0


def entries_of(maps):
    return tuple(
        Entry(map=number, key=key, value=value)
        for number, made in enumerate(maps)
        if made.spec.kind not in TABLES
        for key, value in made.items()
        if made.spec.kind not in ARRAYS or any(value)
    )


def differences(case):
    """Run a case; returns what is not as it should be, by name."""
    context = bytearray(case.context)
    with LinuxMachine(case.maps, inner=inner_maps(case.maps)) as machine:
        fill(machine, case)
        r0 = machine.run(Program.of(case.program, case.name), context)
        after = entries_of(machine.maps)
    wanted = tuple(entry for entry in case.after if case.maps[entry.map].kind not in TABLES)
    expected_context = case.context if case.context_after is None else case.context_after
    rows = (("r0", r0, case.r0), ("context", context, expected_context), ("maps", after, wanted))
    return {name: (found, expected) for name, found, expected in rows if found != expected}


def test_what_linux_runs_is_the_same():
    compared, refused = [], set()
    for case in CASES:
        if case.fault is not FaultCause.NONE or case.name in DIFFERENT:
            continue
        try:
            found = differences(case)
        except RefusedError as error:
            refused.add(next((text for text in REFUSALS if text in str(error)), str(error)))
        else:
            assert found == {}, case.name
            compared.append(case.name)
    # Were the harness at fault, Linux would refuse more.
    assert len(compared) > 500
    assert refused == set(REFUSALS)


def test_linux_refuses_what_is_a_fault():
    refused = 0
    for case in CASES:
        if case.fault is FaultCause.NONE or case.name in DIFFERENT:
            continue
        with (
            LinuxMachine(case.maps, inner=inner_maps(case.maps)) as machine,
            pytest.raises(RefusedError),
        ):
            machine.run(Program.of(case.program, case.name), bytearray(case.context))
        refused += 1
    assert refused > 80


def test_what_differs_is_a_case():
    assert set(DIFFERENT) <= {case.name for case in CASES}
