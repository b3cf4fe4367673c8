"""The port to a vector unit: what it is given, results, traps, and the order of accesses."""

import random

import pytest

from fanweave.golden.isa.cluster import RESET_ADDRESS
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.testing import CoreBench, VectorModel
from fanweave.sim.benches.core.lockstep import GoldenMemories, load
from fanweave.sim.benches.core.programs import DATA_BASE, assemble


class Unit(VectorModel):
    """Gives verdicts at once or later, and results after a while.

    Parameters
    ----------
    verdicts : dict of int to (cause, value)
        Instructions that trap.
    results : dict of int to int
        Results of instructions, where not zero.
    """

    def __init__(self, verdicts=(), results=(), delay=0, seed=1):
        self.verdicts, self.results, self.delay = dict(verdicts), dict(results), delay
        self.generator = random.Random(seed)
        self.taken = []
        self.due = None  # verdict that is still to be given: cycles left, trap
        self.waiting = []  # results: cycles left, floating, register, value
        self.shown = False
        self.busy = {"loads": 0, "stores": 0, "floats": 0}

    def before_edge(self, ctx, core):
        for name, value in self.busy.items():
            ctx.set(core.vector[name], value)
        self._give_result(ctx, core)
        ctx.set(core.verdicts.valid, 0)
        ready = self.due is None and (self.delay == 0 or self.generator.random() < 0.5)
        ctx.set(core.offloads.ready, ready)
        if ready and ctx.get(core.offloads.valid):
            offload = ctx.get(core.offloads.payload)
            self.taken.append((offload.word, offload.id, offload.rs1, offload.rs2, offload.fs1))
            self.due = [self.generator.randrange(self.delay + 1), offload.word]
        if self.due is not None:
            self.due[0] -= 1
            if self.due[0] < 0:
                self._give_verdict(ctx, core, self.due[1])
                self.due = None

    def _give_verdict(self, ctx, core, word):
        trap = self.verdicts.get(word)
        ctx.set(core.verdicts.valid, 1)
        ctx.set(core.verdicts.payload.trap, trap is not None)
        if trap is not None:
            ctx.set(core.verdicts.payload.cause, trap[0])
            ctx.set(core.verdicts.payload.value, trap[1])
            return
        fields = kind_of(word).decode(word)
        for key in ("rd", "fd"):
            if key in fields:
                delay = 1 + self.generator.randrange(self.delay + 1)
                value = self.results.get(word, 0)
                self.waiting.append([delay, key == "fd", fields[key], value])

    def _give_result(self, ctx, core):
        """The oldest result whose time has come; it stays until it is taken."""
        if self.shown and ctx.get(core.results.ready):
            self.waiting.pop(0)
        for row in self.waiting:
            row[0] -= 1
        self.shown = bool(self.waiting) and self.waiting[0][0] <= 0
        ctx.set(core.results.valid, self.shown)
        if self.shown:
            _, floating, register, value = self.waiting[0]
            ctx.set(core.results.payload.floating, floating)
            ctx.set(core.results.payload.register, register)
            ctx.set(core.results.payload.value, value)


def play(builder, unit, pause=0.0, each_cycle=None, limit=4000):
    """Registers written, addresses retired with their cycles, and the memory."""
    program = builder.program(bytes(range(64)))
    memory = load(program)
    written, retired = {}, []
    cycle = 0

    def observe(ctx, core):
        nonlocal cycle
        cycle += 1
        seen = ctx.get(core.observed)
        for port, letter in (("x", "x"), ("late_x", "x"), ("late_f", "f")):
            if seen[f"{port}_write"]:
                written[f"{letter}{seen[f'{port}_register']}"] = seen[f"{port}_value"]
        if seen.retired:
            retired.append((cycle, seen.pc))
        if each_cycle is not None:
            each_cycle(cycle, seen)
        return bool(seen.retired) and seen.pc == program.end and not unit.waiting

    bench = CoreBench(
        memories=GoldenMemories(memory), boot=RESET_ADDRESS, vector=unit, pause=pause, seed=5
    )
    assert bench.run(observe, limit=limit)
    return written, retired, memory


def switch_on(builder):
    builder.constant(31, 0x0600)
    builder.csr("csrrs", "mstatus", rs1=31)


@pytest.mark.parametrize(("delay", "pause"), [(0, 0.0), (6, 0.3)])
def test_operands_results_and_increments(builder, delay, pause):
    switch_on(builder)
    for register, value in ((5, 55), (6, 66), (10, DATA_BASE), (11, 64)):
        builder.constant(register, value)
    builder.number(1, 0x3F800000)
    words = [
        assemble("vsetvli", rd=7, rs1=5, vtype=0xD0),
        assemble("vadd.vx", vd=1, vs2=2, rs1=7),
        assemble("p.vle32.v.rrpost", vd=3, rs1=10, rs2=11),
        assemble("vle32.v", vd=3, rs1=10),
        assemble("vfmacc.vf", vd=1, fs1=1, vs2=2),
        assemble("vfmv.f.s", fd=2, vs2=1),
        assemble("vfmul.vf", vd=1, fs1=2, vs2=2),
        assemble("vmv.x.s", rd=8, vs2=1),
        assemble("csrrs", rd=9, csr=0xC20, rs1=0),  # vl
        assemble("csrrw", rd=12, csr=0x7C8, rs1=6),  # vtlreg
    ]
    builder.words += words
    builder.op("add", rd=13, rs1=8, rs2=9)
    builder.op("fmv.x.w", rd=14, fs1=2)
    results = {words[0]: 16, words[5]: 0x40000000, words[7]: 100, words[8]: 16, words[9]: 3}
    unit = Unit(results=results, delay=delay)
    written, _, _ = play(builder, unit, pause=pause)
    assert [row[0] for row in unit.taken] == words
    assert [row[1] for row in unit.taken] == list(range(len(words)))
    given = {row[0]: row[2:] for row in unit.taken}
    assert given[words[0]][0] == 55
    assert given[words[1]][0] == 16
    assert given[words[2]][:2] == (DATA_BASE, 64)
    assert given[words[3]][0] == DATA_BASE + 64
    assert given[words[4]][2] == 0x3F800000
    assert given[words[6]][2] == 0x40000000
    assert given[words[9]][0] == 66
    wanted = {"x7": 16, "x8": 100, "x9": 16, "x12": 3, "x13": 116, "x14": 0x40000000}
    assert {name: written[name] for name in wanted} == wanted


@pytest.mark.parametrize("delay", [0, 5])
def test_traps_are_precise(builder, trap_notes, delay):
    switch_on(builder)
    builder.constant(10, DATA_BASE)
    builder.constant(11, 64)
    load_word = assemble("p.vle32.v.rrpost", vd=3, rs1=10, rs2=11)
    illegal = assemble("vsetvli", rd=7, rs1=5, vtype=0xD0)
    wanted = []
    for word, cause, value in (
        (load_word, Cause.LOAD_FAULT, DATA_BASE + 4),
        (illegal, Cause.ILLEGAL_INSTRUCTION, illegal),
    ):
        wanted.append((int(cause), builder.address, value))
        builder.words.append(word)
        builder.op("addi", rd=20, rs1=20, imm=1)
    verdicts = {
        load_word: (Cause.LOAD_FAULT, DATA_BASE + 4),
        illegal: (Cause.ILLEGAL_INSTRUCTION, 0),
    }
    builder.result(10)
    written, _, memory = play(builder, Unit(verdicts, delay=delay))
    assert builder.stored(type("Outcome", (), {"memory": memory})) == [DATA_BASE]
    assert written["x20"] == 2
    assert "x7" not in written
    assert trap_notes(type("Outcome", (), {"memory": memory, "traps": 2})) == wanted


def test_an_instruction_a_cycle(builder):
    switch_on(builder)
    builder.words += [assemble("vadd.vv", vd=1, vs1=2, vs2=3)] * 16
    at = builder.address
    _, retired, _ = play(builder, Unit())
    cycles = [cycle for cycle, pc in retired if at - 64 <= pc < at]
    assert cycles == list(range(cycles[0], cycles[0] + 16))


@pytest.mark.parametrize(
    ("busy", "name", "waits"),
    [
        ("stores", "lw", True),
        ("stores", "sw", True),
        ("loads", "lw", False),
        ("loads", "sw", True),
        ("loads", "amoadd.w", True),
        ("stores", "fence", True),
        ("floats", "add", False),
    ],
)
def test_accesses_keep_their_order(builder, busy, name, waits):
    """The unit is busy from the vector instruction on, for 40 cycles."""
    switch_on(builder)
    builder.constant(5, DATA_BASE)
    vector = builder.address
    builder.op("vadd.vv", vd=1, vs1=2, vs2=3)
    fields = {"rs1": 5, "rs2": 6} if name != "lw" else {"rs1": 5, "rd": 6}
    fields = {} if name == "fence" else fields
    builder.op(name, **fields)
    unit = Unit()
    begin = []

    def each_cycle(cycle, seen):
        if seen.retired and seen.pc == vector:
            begin.append(cycle)
        unit.busy[busy] = int(bool(begin) and cycle < begin[0] + 40)

    _, retired, _ = play(builder, unit, each_cycle=each_cycle)
    cycles = {pc: cycle for cycle, pc in retired}
    assert (cycles[vector + 4] - cycles[vector] >= 40) == waits


def test_flags_of_the_unit_are_awaited(builder):
    switch_on(builder)
    vector = builder.address
    builder.op("vfadd.vv", vd=1, vs1=2, vs2=3)
    builder.csr("csrrs", "fflags", rd=7)
    unit = Unit()
    begin = []

    def each_cycle(cycle, seen):
        if seen.retired and seen.pc == vector:
            begin.append(cycle)
        unit.busy["floats"] = int(bool(begin) and cycle < begin[0] + 20)

    _, retired, _ = play(builder, unit, each_cycle=each_cycle)
    cycles = {pc: cycle for cycle, pc in retired}
    assert cycles[vector + 4] - cycles[vector] >= 20


class Watching(Unit):
    """Notes the accesses that wait for a response when a vector instruction is given."""

    def __init__(self):
        super().__init__()
        self.kinds, self.outstanding = [], []

    def before_edge(self, ctx, core):
        super().before_edge(ctx, core)
        if ctx.get(core.responses.valid):
            self.outstanding.pop(0)
        if ctx.get(core.offloads.valid) and ctx.get(core.offloads.ready):
            name = kind_of(ctx.get(core.offloads.payload.word)).name
            self.kinds.append((name, tuple(self.outstanding)))
        if ctx.get(core.requests.valid) and ctx.get(core.requests.ready):
            self.outstanding.append(ctx.get(core.requests.payload.write))


def test_the_unit_waits_for_accesses_before(builder):
    """A vector load for stores, a vector store for loads as well."""
    switch_on(builder)
    builder.constant(5, DATA_BASE)
    for _ in range(6):
        for scalar in ("lw", "sw"):
            for vector in ("vle32.v", "vse32.v", "vadd.vv"):
                fields = {"rd": 6} if scalar == "lw" else {"rs2": 5}
                builder.op(scalar, rs1=5, **fields)
                builder.op(vector, **({} if vector == "vadd.vv" else {"rs1": 5}))
    unit = Watching()
    play(builder, unit, pause=0.6)
    found = {name: {kinds for n, kinds in unit.kinds if n == name} for name, _ in unit.kinds}
    assert found["vse32.v"] == {()}
    assert all(1 not in kinds for kinds in found["vle32.v"])
    assert any(kinds for kinds in found["vle32.v"])  # loads do not wait for loads
    assert any(1 in kinds for kinds in found["vadd.vv"])
