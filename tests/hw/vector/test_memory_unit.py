"""The memory unit by itself: every row at random against golden, faults, and cycles."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_operations import MemoryOperation, memory_operation
from fanweave.hw.vector.memory_unit import MemoryUnit
from fanweave.hw.vector.unit_testing import (
    GoldenVector,
    MemoryModel,
    RegisterModel,
    draw_shape,
    encode,
    lmul_code,
)
from fanweave.hw.vector.ventaglio_operations import is_packed

ROWS = [row for row in INSTRUCTIONS if memory_operation(row) is not None and not is_packed(row)]
L1, CODE = (
    next(region for region in REGIONS if region.name is name)
    for name in (RegionName.L1, RegionName.INSTRUCTIONS)
)
MEMORIES = (RegionName.L1, RegionName.INSTRUCTIONS)


class Bench:
    """Gives instructions to golden and to the unit, which must not see a hazard."""

    def __init__(self, config, seed, pause):
        self.config = config
        self.unit = unit = MemoryUnit(config=config)
        self.golden = GoldenVector(config)
        self.generator = random.Random(seed)
        goes = lambda: pause == 0 or self.generator.random() >= pause  # noqa: E731
        self.registers = RegisterModel(config, [unit.data, unit.index], [unit.write], goes)
        self.memory = MemoryModel(unit.requests, unit.responses, goes)
        self.cycles, self.pause = 0, pause
        self.traps = self.shortened = 0
        #: Instructions in the unit: slot, registers that are read, registers that are written.
        self.live = []
        self.slot = 0

    def randomise(self):
        """Other registers, and memories; nothing may be on its way."""
        random_bytes = np.random.default_rng(self.generator.randrange(1 << 32))
        vector = self.golden.vector.bytes
        vector[:] = random_bytes.integers(0, 256, vector.shape[0])
        self.registers.bytes[:] = vector
        for name in MEMORIES:
            part = self.golden.part(name)
            part[:] = random_bytes.integers(0, 256, part.shape[0])
            self.memory.parts[name][:] = part

    async def cycle(self, ctx):
        """One clock; returns the transfers of checks and instructions, and the verdict."""
        unit = self.unit
        ctx.set(unit.mask, self.registers.mask())
        self.registers.before_edge(ctx)
        self.memory.before_edge(ctx)
        shown = self.registers.sample(ctx)
        self.memory.sample(ctx)
        checked = ctx.get(unit.verdicts.valid) and ctx.get(unit.verdicts.ready)
        verdict = ctx.get(unit.verdicts.payload) if checked else None
        started = ctx.get(unit.instructions.valid) and ctx.get(unit.instructions.ready)
        if ctx.get(unit.finished):
            slot = ctx.get(unit.slot)
            assert self.live.pop(0)[0] == slot, "not the oldest instruction"
        await ctx.tick()
        self.cycles += 1
        for signal, value in shown:
            ctx.set(signal, value)
        return verdict, started

    async def wait(self, ctx, condition, limit=6000):
        """Let cycles go by until something holds."""
        for _ in range(limit):
            if condition():
                return
            await self.cycle(ctx)
        raise AssertionError("it takes too long")

    async def drain(self, ctx):
        """All is over; registers and memory are golden's."""
        await self.wait(ctx, lambda: not self.live)
        await self.wait(ctx, lambda: not ctx.get(self.unit.loads) and not ctx.get(self.unit.stores))
        wrong = np.flatnonzero(self.registers.bytes != self.golden.vector.bytes)
        assert not wrong.size, f"{self.last}: registers differ at bytes {wrong[:20]}"
        for name in MEMORIES:
            wrong = np.flatnonzero(self.memory.parts[name] != self.golden.part(name))
            assert not wrong.size, f"{self.last}: {name} differs at {wrong[:20]}"

    async def run(self, ctx, word, sew, lmul8, vl, vstart, scalar, rs2, reads, writes):
        """Give one instruction to both; waits for those before that it depends on."""
        golden, unit, generator = self.golden, self.unit, self.generator
        kind = next(row for row in ROWS if row.matches(word))
        self.last = (
            f"{kind.name} sew {sew} lmul8 {lmul8} vl {vl} vstart {vstart} {scalar:#x} {rs2:#x}"
        )
        fields = kind.decode(word)
        golden.shape(sew, lmul8, vl, vstart)
        golden.hart.x[5], golden.hart.x[6] = scalar, rs2
        assert fields["rs1"] == 5
        trap = golden.run(word)
        payload = {"word": word, "slot": self.slot, "sew": (sew // 8).bit_length() - 1,
                   "lmul": lmul_code(lmul8), "vl": vl, "vstart": vstart, "scalar": scalar,
                   "rs2": rs2, "rounding": 0}  # fmt: skip
        await self.wait(ctx, lambda: not any(
            writes & (live[1] | live[2]) or reads & live[2] for live in self.live
        ) and len(self.live) < self.config.slots)  # fmt: skip
        ctx.set(unit.checks.payload, payload)
        ctx.set(unit.checks.valid, 1)
        for _ in range(6000):
            ctx.set(unit.verdicts.ready, self.pause == 0 or generator.random() < 0.8)
            verdict, _ = await self.cycle(ctx)
            if verdict is not None:
                break
        ctx.set(unit.checks.valid, 0)
        ctx.set(unit.verdicts.ready, 0)
        assert verdict is not None, f"{self.last}: no verdict"
        self.judge(verdict, trap, vl)
        self.live.append((self.slot, reads, writes))
        self.slot = (self.slot + 1) % self.config.slots
        ctx.set(unit.instructions.payload, payload)
        ctx.set(unit.instructions.valid, 1)
        for _ in range(6000):
            _, started = await self.cycle(ctx)
            if started:
                break
        ctx.set(unit.instructions.valid, 0)
        assert started, f"{self.last}: not taken"

    def judge(self, verdict, trap, vl):
        vector = self.golden.vector
        assert bool(verdict.trap) == (trap is not None), self.last
        if trap is not None:
            self.traps += 1
            got = (verdict.cause, verdict.value, verdict.element)
            assert got == (trap.cause, trap.value, vector.vstart), self.last
        assert bool(verdict.shortened) == (vector.vl != vl), self.last
        if verdict.shortened:
            self.shortened += 1
            assert verdict.element == vector.vl, self.last


def simulate(bench, testbench):
    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def groups(row, sew, lmul8, fields):
    """Registers of an element's field, and those that the instruction reads and writes."""
    shape, operation = row.memory, memory_operation(row)
    data8 = lmul8 if operation is MemoryOperation.INDEXED else shape.eew * lmul8 // sew
    if operation in (MemoryOperation.MASK, MemoryOperation.WHOLE):
        data8 = 8
    count = max(data8 // 8, 1) * shape.fields
    register = fields["vs3" if shape.store else "vd"]
    data = sum(1 << r % 32 for r in range(register, register + count))
    reads = 0 if fields.get("vm", 1) else 1
    if operation is MemoryOperation.INDEXED:
        index = max(shape.eew * lmul8 // sew // 8, 1)
        reads |= sum(1 << r % 32 for r in range(fields["vs2"], fields["vs2"] + index))
    return (reads | data, 0) if shape.store else (reads, data)


def draw_base(generator, size, reach):
    """An address: mostly inside, sometimes at an edge, misaligned, or nowhere."""
    region = generator.choice([L1, L1, L1, CODE])
    kind = generator.random()
    base = generator.randrange(region.base + 4096, region.end - 8192)
    if kind < 0.12:
        base = generator.choice([region.base, region.end]) + generator.randint(-reach, reach)
    elif kind < 0.17:
        base = generator.choice([0, 0x20000000, 0xC0000000, 0xFFFFFF00, region.base - 4])
    return base if generator.random() < 0.07 else base & -size & 0xFFFFFFFF


async def random_instruction(bench, ctx, row):
    generator, golden = bench.generator, bench.golden
    shape, operation = row.memory, memory_operation(row)
    while True:
        sew, lmul8 = draw_shape(generator)
        vlmax = bench.config.vlen * lmul8 // 8 // sew
        vl = generator.choice([0, 1, vlmax, vlmax, generator.randrange(vlmax + 1)])
        vstart = generator.choice([0, 0, 0, generator.randrange(vlmax)])
        indexed = operation is MemoryOperation.INDEXED
        size = (sew if indexed else shape.eew) // 8
        values = {name: generator.randrange(32) for name in ("vd", "vs2", "vs3")}
        align = generator.choice([1, 2, 4, 8])
        values = {name: value & -align for name, value in values.items()}
        values |= {"vm": generator.randrange(2), "rs1": 5, "rs2": 6}
        word = encode(row, values)
        scalar = draw_base(generator, size, shape.fields * size * 8)
        stride = generator.choice([0, 1, 2, 3, -1, -3, shape.fields, -shape.fields, 5, 40]) * size
        stride += generator.random() < 0.05
        rs2 = (
            generator.choice([stride, stride, generator.randrange(-4096, 4096) & -size])
            & 0xFFFFFFFF
        )
        reads, writes = groups(row, sew, lmul8, values)
        if illegal(golden, word, sew, lmul8):
            continue
        break
    if indexed:
        await bench.drain(ctx)
        far = generator.choice([16, 300, 5000, 5000])
        index = golden.vector.group(values["vs2"], shape.eew, vl)
        top = min(1 << shape.eew, far)
        index[:] = [generator.randrange(top) & -size for _ in range(vl)]
        if vl and generator.random() < 0.2:
            index[generator.randrange(vl)] = generator.randrange(1 << shape.eew)
        bench.registers.bytes[:] = golden.vector.bytes
    await bench.run(ctx, word, sew, lmul8, vl, vstart, scalar, rs2, reads, writes)
    if indexed and shape.store:  # indices are checked while others are in use
        await bench.run(ctx, word, sew, lmul8, vl, 0, scalar, rs2, reads, writes)
    if generator.random() < 0.2:
        await bench.drain(ctx)


def illegal(golden, word, sew, lmul8):
    """Whether vtype forbids an instruction, which without elements does nothing."""
    golden.shape(sew, lmul8, 0, 0)
    kind = next(row for row in ROWS if row.matches(word))
    if memory_operation(kind) is MemoryOperation.WHOLE:  # it ignores vl
        register = kind.decode(word)["vs3" if kind.memory.store else "vd"]
        return register % kind.memory.fields != 0
    trap = golden.run(word)
    return trap is not None and trap.cause == Cause.ILLEGAL_INSTRUCTION


def run_random(config, seed, rows, pause):
    bench = Bench(config, seed, pause)

    async def testbench(ctx):
        bench.randomise()
        for row in rows:
            await random_instruction(bench, ctx, row)
        await bench.drain(ctx)

    simulate(bench, testbench)
    return bench


@pytest.mark.parametrize(
    ("config", "seed", "pause"),
    [
        (VectorConfig(vlen=256, lanes=2), 1, 0.3),
        (VectorConfig(vlen=128, lanes=1), 2, 0.5),
    ],
    ids=["two lanes", "one lane"],
)
def test_random_accesses_are_those_of_golden(config, seed, pause):
    """A row of each kind, segments of random length, with all that vtype allows."""
    generator = random.Random(seed)
    kinds = {}
    for row in ROWS:
        shape = row.memory
        kinds.setdefault((shape.access, shape.eew, shape.store), []).append(row)
    rows = [generator.choice(kind) for kind in kinds.values() for _ in range(3)]
    generator.shuffle(rows)
    bench = run_random(config, seed, rows, pause)
    assert bench.traps > 0


BASE = L1.base + 0x4000
#: Name, SEW, eight times LMUL, address, how often it is given, and words, blocks or groups of
#: elements of all of them.
RATES = [
    ("vle32.v", 32, 64, BASE, 4, 4 * 16),
    ("vle8.v", 8, 64, BASE + 13, 4, 4 * 17),
    ("vse32.v", 32, 64, BASE, 4, 4 * 16),
    ("vse16.v", 16, 64, BASE + 6, 4, 4 * 17),
    ("vlse32.v", 32, 64, BASE, 3, 3 * 32),
    ("vsse32.v", 32, 64, BASE, 3, 3 * 32),
    ("vlseg2e32.v", 32, 32, BASE, 3, 3 * 32),
    ("vluxei16.v", 16, 64, BASE, 3, 3 * 64),
    ("vsoxei16.v", 16, 64, BASE, 3, 3 * 64),
]


def test_accesses_move_a_word_or_an_element_a_port_a_cycle():
    """Given again and again; a check of indices hides behind the access before."""
    bench = Bench(VectorConfig(), 0, 0)
    cycles = []

    async def testbench(ctx):
        bench.randomise()
        index = np.random.default_rng(1).permutation(256) * 4
        bench.golden.vector.group(24, 16, 256)[:] = index
        bench.registers.bytes[:] = bench.golden.vector.bytes
        for name, sew, lmul8, base, count, _ in RATES:
            row = next(row for row in ROWS if row.name == name)
            before, vl = bench.cycles, bench.config.vlen * lmul8 // 8 // sew
            for number in range(count):
                register = 8 + 8 * (number % 2)
                values = {"vd": register, "vs3": register, "vs2": 24, "rs1": 5, "rs2": 6}
                word, used = encode(row, values), groups(row, sew, lmul8, values)
                await bench.run(ctx, word, sew, lmul8, vl, 0, base, 72, *used)
            await bench.drain(ctx)
            cycles.append((name, bench.cycles - before))

    simulate(bench, testbench)
    assert bench.traps == 0
    print(cycles)
    for (name, taken), (*_, steps) in zip(cycles, RATES, strict=True):
        # The first check, the way to memory and back; 16 words of indices before the first.
        most = steps + (28 if "ei16" in name else 8)
        assert steps < taken <= most, f"{name}: {taken} cycles, not {most}"
