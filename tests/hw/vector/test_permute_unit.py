"""The permutation unit by itself: every row at random against golden, and cycles."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.permute_operations import permute_operation
from fanweave.hw.vector.permute_unit import PermuteUnit
from fanweave.hw.vector.unit_testing import (
    GoldenVector,
    RegisterModel,
    draw_shape,
    encode,
    lmul_code,
)

ROWS = [row for row in INSTRUCTIONS if permute_operation(row) is not None]
#: Numbers that sums, minima and maxima treat in their own ways.
HALVES = (0, 0x8000, 1, 0x83FF, 0x3C00, 0xBC01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7D01)
SINGLES = (0, 0x80000000, 1, 0x807FFFFF, 0x3F800000, 0xBF800001, 0x7F7FFFFF, 0xFF7FFFFF,
           0x7F800000, 0xFF800000, 0x7FC00000, 0xFFA00001)  # fmt: skip


class Bench:
    """Gives instructions to golden and to the unit, one after the other."""

    def __init__(self, config, seed, pause):
        self.config = config
        self.unit = unit = PermuteUnit(config=config)
        self.golden = GoldenVector(config)
        self.generator = random.Random(seed)
        self.pause = pause
        self.goes = lambda: pause == 0 or self.generator.random() >= pause
        reads = [unit.vs2, unit.vs1, unit.vd]
        self.registers = RegisterModel(config, reads, [unit.write], self.goes)
        self.cycles = 0

    def randomise(self):
        generator = np.random.default_rng(self.generator.randrange(1 << 32))
        vector = self.golden.vector.bytes
        vector[:] = generator.integers(0, 256, vector.shape[0])
        kind = self.generator.randrange(6)
        if kind == 0:  # few bits
            vector[generator.random(vector.shape[0]) < 0.97] = 0
        elif kind == 1:  # numbers at the edges
            for edges in (HALVES, SINGLES):
                view = vector.view(np.uint16 if edges is HALVES else np.uint32)
                at = generator.random(view.shape[0]) < 0.3
                view[at] = generator.choice(edges, at.sum())
        elif kind == 2:  # sums that are subnormal
            vector.view(np.uint16)[:] &= np.uint16(0x83FF)
        elif kind == 3:  # integers of one sign
            vector &= 0x7F
        elif kind == 4:
            vector |= 0x80
        self.registers.bytes[:] = vector

    async def cycle(self, ctx):
        """One clock; returns whether the instruction is taken, over, and its result."""
        unit = self.unit
        ctx.set(unit.mask, self.registers.mask())
        self.registers.before_edge(ctx)
        ctx.set(unit.results.ready, self.goes())
        shown = self.registers.sample(ctx)
        taken = ctx.get(unit.instructions.ready)
        over = ctx.get(unit.finished)
        flags = ctx.get(unit.flags) if over else 0
        result = None
        if ctx.get(unit.results.valid) and ctx.get(unit.results.ready):
            given = ctx.get(unit.results.payload)
            result = (given.floating, given.register, given.value)
        await ctx.tick()
        self.cycles += 1
        for signal, value in shown:
            ctx.set(signal, value)
        return taken, over, flags, result

    async def give(self, ctx, payload):
        """Let the unit execute an instruction; returns its flags and result."""
        unit = self.unit
        ctx.set(unit.instructions.payload, payload)
        ctx.set(unit.instructions.valid, 1)
        flags, result, over = 0, None, False
        for _ in range(5000):
            taken, over, flags, given = await self.cycle(ctx)
            result = given or result
            if taken:
                ctx.set(unit.instructions.valid, 0)
            if over:
                return flags, result
        raise AssertionError("it takes too long")

    async def run(self, ctx, word, sew, lmul8, vl, vstart, scalar, rounding):
        """Execute one instruction on both; False if it is illegal."""
        golden, hart = self.golden, self.golden.hart
        kind = next(row for row in ROWS if row.matches(word))
        fields = kind.decode(word)
        golden.shape(sew, lmul8, vl, vstart)
        hart.x[5] = hart.f[5] = scalar
        if "fs1" in fields and sew == 16:
            hart.f[5] = scalar | 0xFFFF0000
            scalar &= 0xFFFF
        for name in ("uimm", "simm"):
            scalar = fields.get(name, scalar) & 0xFFFFFFFF
        hart.fflags, hart.frm = 0, rounding
        before_x, before_f = list(hart.x), list(hart.f)
        if golden.run(word) is not None:
            return False
        payload = {"word": word, "slot": 1, "sew": (sew // 8).bit_length() - 1,
                   "lmul": lmul_code(lmul8), "vl": vl, "vstart": vstart, "scalar": scalar,
                   "rs2": 0, "rounding": rounding}  # fmt: skip
        where = f"{kind.name} {fields} sew {sew} lmul8 {lmul8} vl {vl} vstart {vstart}"
        flags, result = await self.give(ctx, payload)
        assert flags == hart.fflags, f"{where}: flags {flags:05b}, not {hart.fflags:05b}"
        wrong = np.flatnonzero(self.registers.bytes != golden.vector.bytes)
        assert not wrong.size, f"{where}: registers differ at bytes {wrong[:20]}"
        expected = None
        if "rd" in fields:
            expected = (0, fields["rd"], hart.x[fields["rd"] or 32])
        elif "fd" in fields:
            expected = (1, fields["fd"], hart.f[fields["fd"]])
        assert result == expected, f"{where}: {result}, not {expected}"
        hart.x[:], hart.f[:] = before_x, before_f
        return True


def simulate(bench, testbench):
    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


async def random_instruction(bench, ctx, row):
    """One that vtype allows."""
    generator = bench.generator
    while True:
        sew, lmul8 = draw_shape(generator)
        vlmax = bench.config.vlen * lmul8 // 8 // sew
        vl = generator.choice([0, 1, vlmax, vlmax, generator.randrange(vlmax + 1)])
        vstart = generator.choice([0, 0, 0, generator.randrange(vlmax)])
        align = generator.choice([1, 2, 4, 8])
        values = {name: generator.randrange(32) & -align for name in ("vd", "vs1", "vs2")}
        values |= {"vm": generator.randrange(2), "rs1": 5, "fs1": 5, "rd": generator.randrange(32),
                   "uimm": generator.randrange(32), "fd": generator.randrange(32)}  # fmt: skip
        if generator.random() < 0.3:
            values["vd"] = values["vs2"]
        near = generator.choice([0, 1, vlmax - 1, vlmax, generator.randrange(vlmax + 1)])
        scalar = generator.choice([near, near, generator.randrange(1 << 32)])
        rounding = generator.randrange(5 if row.vector.floating else 4)
        if generator.random() < 0.5:
            bench.randomise()
        if row.name.startswith("vrgather") and generator.random() < 0.8:
            spread_indices(bench, row, values["vs1"], sew, vlmax)
        word = encode(row, values)
        if await bench.run(ctx, word, sew, lmul8, vl, vstart, scalar, rounding):
            return


def spread_indices(bench, row, register, sew, vlmax):
    """Indices that are mostly inside of their group."""
    bits = 16 if "16" in row.name else sew
    room = (32 - register) * bench.config.vlen // bits
    index = bench.golden.vector.group(register, bits, min(vlmax, room))
    index[:] = [
        bench.generator.randrange(min(vlmax + vlmax // 4 + 1, 1 << bits)) for _ in range(len(index))
    ]
    bench.registers.bytes[:] = bench.golden.vector.bytes


def run_random(config, seed, rows, pause):
    bench = Bench(config, seed, pause)

    async def testbench(ctx):
        bench.randomise()
        for row in rows:
            await random_instruction(bench, ctx, row)

    simulate(bench, testbench)
    return bench


@pytest.mark.parametrize(
    ("config", "seed", "pause"),
    [
        (VectorConfig(vlen=128, lanes=2), 1, 0.3),
        (VectorConfig(vlen=256, lanes=1), 2, 0.4),
    ],
    ids=["two lanes", "one lane"],
)
def test_random_instructions_are_those_of_golden(config, seed, pause):
    """Every row, with all that vtype allows."""
    rows = ROWS * 3
    random.Random(seed).shuffle(rows)
    run_random(config, seed, rows, pause)


def test_the_first_bit_of_masks_of_several_words():
    bench = Bench(VectorConfig(vlen=256, lanes=1), 0, 0)
    names = ("vmsbf.m", "vmsif.m", "vmsof.m", "vfirst.m", "vcpop.m")

    async def testbench(ctx):
        bench.randomise()
        for first in (0, 63, 64, 127, 130, 255, 256):
            bits = (np.arange(256) >= first) & (np.arange(256) % 3 == first % 3)
            bench.golden.vector.group(16, 8, 32)[:] = np.packbits(bits, bitorder="little")
            bench.registers.bytes[:] = bench.golden.vector.bytes
            for name in names:
                row = next(row for row in ROWS if row.name == name)
                word = encode(row, {"vd": 8, "rd": 7, "vs2": 16, "vm": 1})
                assert await bench.run(ctx, word, 8, 64, 256, 0, 0, 0)

    simulate(bench, testbench)


#: Name, SEW, scalar, and cycles on groups of eight registers; a group has 16 words.
CYCLES = [
    ("vslideup.vx", 32, 3, 16 + 2),
    ("vslidedown.vx", 8, 17, 17 + 2),
    ("vslide1down.vx", 16, 0, 17 + 2),
    ("vmv8r.v", 8, 0, 16 + 2),
    ("viota.m", 32, 0, 16 + 3),
    ("vid.v", 8, 0, 16 + 2),
    ("vrgather.vx", 32, 5, 16 + 3),
    ("vredsum.vs", 16, 0, 16 + 7),
    # 128 elements; a word of indices has 8.
    ("vrgather.vv", 32, 0, 128 + 16 + 2),
    ("vmand.mm", 8, 0, 6),
]


def test_whole_groups_go_by_words():
    """Alone, with nothing that holds them up."""
    bench = Bench(VectorConfig(), 0, 0)
    cycles = []

    async def testbench(ctx):
        bench.randomise()
        for name, sew, scalar, _ in CYCLES:
            row = next(row for row in ROWS if row.name == name)
            word = encode(row, {"vd": 8, "vs2": 16, "vs1": 24, "rs1": 5})
            before, vl = bench.cycles, bench.config.vlen * 8 // sew
            assert await bench.run(ctx, word, sew, 64, vl, 0, scalar, 0)
            cycles.append((name, bench.cycles - before))

    simulate(bench, testbench)
    assert cycles == [(name, most) for name, _, _, most in CYCLES]
