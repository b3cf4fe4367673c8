# amaranth: UnusedElaboratable=no
"""How long instructions occupy the core, by their class, and how long a thread alone takes."""

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.hw.ebpf.payloads import Cause
from fanweave.sim.benches.ebpf.bare_core import BareCore
from fanweave.sw.ebpf import assemble

THREADS = 8
TURNS = 6
REPEATS = 12  # of the instruction in a turn
PATIENCE = 20_000
CONFIG = EbpfConfig(threads=THREADS, slots=128, context_bytes=32)
#: A program's work follows the first byte of its context.
HEAD = "r7 = r1\nr9 = *(u8 *)(r1 + 0)\n"


class Run:
    """Events by what their contexts begin with: instructions and cycles of all of them."""

    def __init__(self, text, kinds):
        self.core = BareCore(config=CONFIG)
        self.kinds = kinds
        self.code = Program.of(assemble(text), "timed").instructions
        self.ended = {}  # cycle by tag
        self.instructions = self.cycles = 0
        simulator = Simulator(self.core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._play)
        simulator.run()

    async def _load(self, ctx):
        core = self.core
        data = b"".join(instruction.encode() for instruction in self.code)
        ctx.set(core.program.valid, 1)
        for slot in range(len(data) // 8):
            word = int.from_bytes(data[8 * slot : 8 * slot + 8], "little")
            ctx.set(core.program.payload, {"slot": slot, "word": word})
            await ctx.tick()
        ctx.set(core.program.valid, 0)
        ctx.set(core.program_slots, len(data) // 8)

    async def _play(self, ctx):
        core = self.core
        await self._load(ctx)
        ctx.set(core.budget, 100_000)
        ctx.set(core.verdicts.ready, 1)
        events, words = list(enumerate(self.kinds)), list(self.kinds)
        began = None
        for cycle in range(PATIENCE):
            ctx.set(core.events.valid, bool(events))
            if events:
                ctx.set(core.events.payload, {"length": 8, "tag": events[0][0]})
            ctx.set(core.contexts.valid, bool(words))
            ctx.set(core.contexts.payload, words[0] if words else 0)
            takes = events and ctx.get(core.events.ready)
            takes_word = words and ctx.get(core.contexts.ready)
            if ctx.get(core.instructions):
                self.instructions += 1
                began = cycle if began is None else began
            if ctx.get(core.verdicts.valid):
                verdict = ctx.get(core.verdicts.payload)
                assert verdict.cause is Cause.NONE
                self.ended[verdict.tag] = cycle - began
            if len(self.ended) == len(self.kinds):
                self.cycles = cycle - began
                return
            await ctx.tick()
            if takes:
                events.pop(0)
            if takes_word:
                words.pop(0)
        raise AssertionError(f"{len(self.ended)} of {len(self.kinds)} events ended")


def loop(*lines):
    """The lines again and again, in a loop."""
    body = "\n".join(lines[n % len(lines)].replace("@", str(n)) for n in range(REPEATS))
    head = f"{HEAD}r6 = {TURNS}\nr3 = 77\nagain:\n"
    return f"{head}{body}\nr6 -= 1\nif r6 != 0 goto again\nr0 = 0\nexit\n"


CLASSES = {
    "add": ["r3 += r6"],
    "32 bits": ["w3 ^= w6"],
    "shift": ["r3 <<= 3", "w3 s>>= 1"],
    "multiply": ["r3 *= r6", "w3 *= 17"],
    "move and swap": ["r4 = (s16)r3", "r3 = bswap64 r3"],
    "immediate of 64 bits": ["r4 = 0x1234567890 ll"],
    "load of the context": ["r4 = *(u32 *)(r7 + 1)"],
    "store to the context": ["*(u16 *)(r7 + 3) = r3"],
    "load and store of the stack": ["*(u64 *)(r10 - 13) = r3", "r4 = *(s8 *)(r10 - 9)"],
    "atomic operation on the stack": ["lock *(u64 *)(r10 - 16) += r3"],
    "branch that is taken": ["if r6 != 0 goto on_@\non_@:"],
    "branch over something": ["if r6 != 0 goto on_@\nr3 += 1\non_@:"],
    "branch that is not taken": ["if r6 == 0 goto on_@\non_@:"],
}


@pytest.mark.parametrize("name", CLASSES)
def test_an_instruction_takes_one_cycle_of_the_core(name):
    """With all threads at work, whatever the class: nothing but the run's ends is lost."""
    run = Run(loop(*CLASSES[name]), [1] * THREADS)
    assert run.instructions > THREADS * TURNS * REPEATS
    assert run.instructions <= run.cycles <= run.instructions + 40


DIVIDES = f"""{HEAD}
    r6 = 40
    r3 = -1
    if r9 == 2 goto divide
again:
    r3 += r6
    r3 *= 5
    r6 -= 1
    if r6 != 0 goto again
    r0 = 0
    exit
divide:
    r6 = 8
divide_again:
    r3 /= r6
    r6 -= 1
    if r6 != 0 goto divide_again
    r0 = 0
    exit
"""


def test_a_division_blocks_no_other_thread():
    plain = Run(DIVIDES, [1] * (THREADS - 1))
    mixed = Run(DIVIDES, [1] * (THREADS - 1) + [2])
    others = max(cycle for tag, cycle in mixed.ended.items() if tag < THREADS - 1)
    # They make room for the instructions of one more thread, and wait for nothing else.
    added = mixed.instructions - plain.instructions
    assert others <= plain.cycles + added + 8


def repeated(line, count):
    """The line so many times, for one event."""
    return Run(f"{HEAD}r3 = -1\nr4 = 3\n" + f"{line}\n" * count + "r0 = 0\nexit\n", [1])


def test_a_thread_alone_takes_at_most_three_cycles_an_instruction():
    few, many = repeated("r3 += r4", 4), repeated("r3 += r4", 24)
    assert many.instructions == few.instructions + 20
    assert 20 <= many.cycles - few.cycles <= 3 * 20


def test_a_division_takes_its_own_thread_at_most_34_cycles_more():
    few, many = repeated("r3 /= r4", 2), repeated("r3 /= r4", 10)
    assert many.instructions == few.instructions + 8
    assert many.cycles - few.cycles <= (34 + 3) * 8
