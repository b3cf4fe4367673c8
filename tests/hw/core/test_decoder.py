"""The decoder agrees with the tables on any word."""

import random

from amaranth.sim import Simulator

from fanweave.golden.isa.riscv import INSTRUCTIONS, kind_of
from fanweave.hw.core.decoder import Decoder
from fanweave.hw.core.operations import Unit, asks

COUNT = 6000


def words():
    generator = random.Random(1)
    for row in INSTRUCTIONS:
        for _ in range(4):
            word = row.match | generator.randrange(1 << 32) & ~row.mask
            yield word
            yield word ^ 1 << generator.randrange(32)
    for _ in range(COUNT):
        yield generator.randrange(1 << 32) | 3


def test_every_row_and_random_words():
    decoder = Decoder()
    legal = 0

    async def testbench(ctx):
        nonlocal legal
        for word in words():
            ctx.set(decoder.word, word)
            controls, row = ctx.get(decoder.controls), kind_of(word)
            asked = None if row is None else asks(row)
            assert bool(controls.legal) == (asked is not None), hex(word)
            if asked is None:
                continue
            legal += 1
            fields = row.decode(word)
            assert (controls.unit, controls.operation) == tuple(map(int, asked)), row.name
            for name in ("rs1", "rs2", "fs1", "fs2", "fs3"):
                assert controls[f"reads_{name}"] == (name in fields), row.name
            assert (controls.writes_x, controls.writes_f) == ("rd" in fields, "fd" in fields)
            assert controls.vector == (asked[0] is Unit.OFFLOAD)
            value = fields.get("imm", fields.get("shamt"))
            if value is not None:
                assert ctx.get(decoder.immediate) == value & 0xFFFFFFFF, row.name

    simulator = Simulator(decoder)
    simulator.add_testbench(testbench)
    simulator.run()
    assert legal > 4 * len(INSTRUCTIONS) - 50


def test_no_two_rows_share_a_word():
    for number, row in enumerate(INSTRUCTIONS):
        for other in INSTRUCTIONS[:number]:
            common = row.mask & other.mask
            assert (row.match ^ other.match) & common, (row.name, other.name)
