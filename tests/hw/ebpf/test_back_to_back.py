"""One thread alone, whose instructions follow one another as closely as they can.

Each program is played on the golden machine too: result, cause, count and context are compared.
"""

import pytest

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf import lockstep
from fanweave.sw.ebpf import assemble

CONFIG = EbpfConfig(threads=2, slots=128, context_bytes=32, returns_context=True)
#: Two addresses of the context that differ in one byte, so that r3 can be a base.
CONTEXT = bytes.fromhex("0800001000000000 1000001000000000 0908070605040302 a1a2a3a4a5a6a7a8")
_BASE = 0x1000_0000

#: Each leaves an address of the context in r3.
PRODUCERS = {
    "add": "r3 += 16",
    "32 bits": "w3 |= 16",
    "move": "r3 = r1",
    "immediate of 64 bits": f"r3 = {_BASE + 8} ll",
    "load of the context": "r3 = *(u64 *)(r1 + 0)",
    "load at an odd place": "r3 = *(u32 *)(r10 - 13)",
    "sign-extending load": "r3 = *(s32 *)(r1 + 8)",
    "load of what was stored": "*(u64 *)(r10 - 8) = r1\nr3 = *(u64 *)(r10 - 8)",
    "atomic operation": "r3 = atomic_fetch_add((u64 *)(r10 - 16), r3)",
    "exchange": "r3 = xchg_((u64 *)(r1 + 0), r3)",
    "division": "r3 /= 1",
}
CONSUMERS = {
    "operand": "r0 += r3",
    "both operands": "r3 += r3",
    "shift": "r0 <<= r3",
    "branch": "if r3 > r4 goto over\nr0 += 5\nover:",
    "branch backwards": "again:\nr3 += -1\nif r3 > r4 goto again",
    "base of a load": "r0 = *(u32 *)(r3 + 1)",
    "base of a store": "*(u16 *)(r3 + 2) = r4",
    "stored": "*(u64 *)(r1 + 24) = r3",
    "source of an atomic operation": "r0 = 9\nlock *(u64 *)(r1 + 16) += r3",
    "divisor": "r4 /= r3",
    "argument": "call pc function",
}
TAIL = """
    r0 *= 31
    r0 ^= r3
    r0 *= 31
    r0 ^= r4
    exit
"""
FUNCTION = """
function:
    r0 = r3
    r0 += 1
    exit
"""


def check(*texts, context=CONTEXT):
    batches = [(Program.of(assemble(text), text), [context]) for text in texts]
    return lockstep.check(batches, config=CONFIG)


@pytest.mark.parametrize("known", [True, False], ids=["written before", "never written"])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_result_is_seen_by_the_next_instruction(producer, known):
    """Whether its register held something else before or nothing at all."""
    set_up = f"r4 = {_BASE + 3}\nr0 = 7\nr5 = {_BASE + 8}\n*(u64 *)(r10 - 16) = r5\n"
    set_up += "*(u32 *)(r10 - 13) = r5\n" if producer == "load at an odd place" else ""
    set_up += f"r3 = {_BASE}\n" if known else ""
    texts = [
        set_up + PRODUCERS[producer] + "\n" + text + TAIL + FUNCTION for text in CONSUMERS.values()
    ]
    causes = check(*texts)
    assert FaultCause.NONE in causes


@pytest.mark.parametrize("register", range(10))
def test_every_register_is_handed_on(register):
    """As destination and as source, three times on end; r6 to r9 of a function are its own."""
    other = (register + 1) % 10
    work = "\n".join([f"r{register} += 5", f"r{other} += r{register}", f"r{register} ^= r{other}"])
    inner = f"function:\n{work}\nr0 += r{register}\nexit\n"
    fold = f"r0 += r{register}\nr0 *= 31\nr0 += r{other}\nexit\n"
    check(f"{work}\n{work}\n{fold}", f"{work}\ncall pc function\n{work}\n{fold}{inner}")


#: What must have no effect if it is not reached.
EFFECTS = {
    "register": "r0 = 1",
    "store": "*(u64 *)(r1 + 8) = r1",
    "atomic operation": "lock *(u64 *)(r1 + 8) += r1",
    "fault": "r0 = *(u64 *)(r1 + 25)",
    "division": "r0 /= 3",
    "call": "call pc function",
    "end": "exit",
}


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_was_guessed_wrong_has_no_effect(effect):
    line = EFFECTS[effect]
    tail = f"r0 += 3\n{TAIL}"
    texts = (
        # Jumps forward that are taken, and that are not.
        f"r0 = 7\nif r0 == 7 goto over\n{line}\nover:\n{tail}",
        f"r0 = 7\nif r0 != 7 goto over\nr0 += 1\nover:\n{tail}",
        # Backwards: not taken, and taken three times.
        f"r0 = 7\ngoto on\nback:\n{line}\n{tail}\non:\nif r0 != 7 goto back\n{tail}",
        f"r6 = 4\nagain:\nr0 += r6\nr6 -= 1\nif r6 != 0 goto again\n{tail}",
        # Behind jumps that are always taken, and a call.
        f"goto over\n{line}\nover:\n{tail}",
        f"r0 = 7\ncall pc function\ngoto over\n{line}\nover:\n{tail}",
    )
    assert check(*(text + FUNCTION for text in texts)) == {FaultCause.NONE}


@pytest.mark.parametrize("effect", [name for name in EFFECTS if name != "fault"])
@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("r4 = *(u64 *)(r1 + 25)", FaultCause.OUT_OF_BOUNDS),
        ("*(u64 *)(r10 + 0) = r1", FaultCause.OUT_OF_BOUNDS),
        ("lock *(u64 *)(r1 + 4) += r1", FaultCause.MISALIGNED_ATOMIC),
        # A map's value, which no map holds: its result comes late.
        ("r4 = 0x40000000 ll\nr4 = *(u64 *)(r4 + 0)", FaultCause.OUT_OF_BOUNDS),
        ("r4 = 0x40000000 ll\n*(u64 *)(r4 + 0) = r1", FaultCause.OUT_OF_BOUNDS),
    ],
)
def test_nothing_happens_behind_an_access_that_faults(line, cause, effect):
    assert check(f"r0 = 7\n{line}\n{EFFECTS[effect]}\n{TAIL}{FUNCTION}") == {cause}


def test_a_budget_ends_events_between_close_instructions():
    text = "again:\nr0 += 1\nr3 ^= r0\ngoto again\n"
    batch = [(Program.of(assemble(text), text), [CONTEXT])]
    for budget in range(1, 12):
        causes = lockstep.check(batch, config=CONFIG, budget=budget)
        assert causes == {FaultCause.WATCHDOG}
