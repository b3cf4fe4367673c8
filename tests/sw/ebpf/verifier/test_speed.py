"""How long programs of some hundred instructions take; ``pytest -s`` shows it."""

import time

import pytest

from fanweave.golden.ebpf.program import Program
from fanweave.sim.benches.ebpf.linux_programs import CONTEXT_BYTES, verifiable_program
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.verifier import ContextRule, verify


def ways(count):
    """Ways that part and meet again, each with a number of its own."""
    lines = ["r0 = 0"]
    for at in range(count):
        lines += [f"r3 = *(u8 *)(r1 + {at})", "r4 = 1", f"if r3 > 5 goto m{at}", "r4 = 2"]
        lines += [f"m{at}: r0 += r4", "r0 ^= 3"]
    return "\n".join([*lines, "exit"])


def loop(turns):
    return f"""
        r0 = 0
        r6 = 0
    l:  r3 = r1
        r4 = r6
        r4 &= 63
        r3 += r4
        r5 = *(u8 *)(r3 + 0)
        if r5 > 9 goto next
        r0 += r5
    next:
        r6 += 1
        if r6 != {turns} goto l
        exit
    """


PROGRAMS = {
    "50 ways that meet, 302 slots": Program.of(assemble(ways(50))),
    "100 turns with a condition": Program.of(assemble(loop(100))),
    "1000 turns with a condition": Program.of(assemble(loop(1000))),
    "every instruction, with conditions and calls": verifiable_program(7),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_takes_well_under_a_second(name):
    begin = time.perf_counter()
    report = verify(
        PROGRAMS[name], context=ContextRule.exactly(max(CONTEXT_BYTES, 64)), budget=100_000
    )
    seconds = time.perf_counter() - begin
    print(
        f"\n{name}: {report.slots} slots, {report.steps} instructions followed, {report.kept} "
        f"states kept, {1e3 * seconds:.0f} ms"
    )
    # Ten times of what it takes, so that a busy machine does not fail it.
    assert seconds < 5
    assert report.steps < 20_000
