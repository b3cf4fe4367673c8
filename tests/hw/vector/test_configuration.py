"""Instructions that configure, and accesses to CSRs, in any order, against golden."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME
from fanweave.hw.vector.config import PRESETS
from fanweave.hw.vector.configuration import Configuration
from fanweave.hw.vector.unit_testing import GoldenVector

ROWS = {row.name: row for row in INSTRUCTIONS}
WRITABLE = ("vstart", "vxsat", "vxrm", "vcsr")
READABLE = (*WRITABLE, "vl", "vtype", "vlenb")


class Pair:
    """The unit and a golden core, which do the same."""

    def __init__(self, ctx, dut, config, seed):
        self.ctx, self.dut = ctx, dut
        self.random = random.Random(seed)
        self.golden = GoldenVector(config)
        self.vector = self.golden.vector

    def some_type(self):
        """Often one that there is, with policies."""
        choose = self.random
        if choose.random() < 0.15:
            return choose.getrandbits(choose.choice([8, 10]))
        return (
            choose.choice([0, 1, 2, 3, 5, 6, 7])
            | choose.randrange(3) << 3
            | choose.getrandbits(2) << 6
        )

    def some_length(self):
        return self.random.choice([0, 1, 7, 16, 33, 128, 600, 0xFFFFFFFF])

    async def configure(self):
        name = self.random.choice(["vsetvli", "vsetivli", "vsetvl"])
        rd, rs1, rs2 = (self.random.choice([0, 5, 6, 7]) for _ in range(3))
        x = self.golden.hart.x
        x[5:8] = [self.some_length(), self.some_type(), self.some_length()]
        values = {"rd": rd, "rs1": rs1, "rs2": rs2, "zimm": self.random.randrange(32)}
        values |= {"vtype": self.some_type(), "vtype10": self.some_type()}
        row = ROWS[name]
        word = row.encode(**{field: values[field] for field in row.fields})
        numbers = x[rs1], x[rs2]
        assert self.golden.run(word) is None
        await self.check(word, numbers, self.vector.vl)

    async def access(self):
        name = self.random.choice(["csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"])
        row = ROWS[name]
        source = self.random.choice([0, 1, 5, 31])
        changes = name.startswith("csrrw") or source
        csr = self.random.choice(WRITABLE if changes else READABLE)
        number = self.random.getrandbits(32) if source else 0
        values = {"rd": 3, "rs1": source, "zimm": source, "uimm": source}
        values["csr"] = CSR_BY_NAME[csr].address
        word = row.encode(**{field: values[field] for field in row.fields})
        old = self.golden.hart.csrs.read(csr)
        operand = source if name.endswith("i") else number
        new = {"w": operand, "s": old | operand, "c": old & ~operand}[name[4]]
        if changes:
            self.golden.hart.csrs.write(csr, new & 0xFFFFFFFF)
        await self.check(word, (number, 0), old)

    async def elsewhere(self):
        """What instructions of other units do to the CSRs."""
        what = self.random.choice(["saturated", "finished", "stopped", "shortened"])
        element = self.random.randrange(20)
        self.ctx.set(self.dut.element, element)
        self.ctx.set(getattr(self.dut, what), 1)
        await self.ctx.tick()
        self.ctx.set(getattr(self.dut, what), 0)
        if what == "saturated":
            self.vector.vxsat = 1
        elif what == "shortened":
            self.vector.vl = element
        else:
            self.vector.vstart = element if what == "stopped" else 0

    async def check(self, word, numbers, value):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.word, word)
        ctx.set(dut.rs1, numbers[0])
        ctx.set(dut.rs2, numbers[1])
        assert ctx.get(dut.mine)
        assert ctx.get(dut.value) == value, hex(word)
        ctx.set(dut.commit, 1)
        await ctx.tick()
        ctx.set(dut.commit, 0)

    def compare(self):
        ctx, dut, vector = self.ctx, self.dut, self.vector
        assert ctx.get(dut.vl) == vector.vl
        assert ctx.get(dut.vstart) == vector.vstart
        assert ctx.get(dut.vxrm) == vector.vxrm
        vtype = ctx.get(dut.vtype.as_value())
        assert (vtype >> 8, vtype & 0xFF) == (vector.vtype >> 31, vector.vtype & 0xFF)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(2))
def test_it_does_what_golden_does(preset, seed):
    config = PRESETS[preset]
    dut = Configuration(config=config)
    lengths = set()

    async def bench(ctx):
        pair = Pair(ctx, dut, config, seed)
        for _ in range(1500):
            step = pair.random.choice([pair.configure, pair.configure, pair.access, pair.elsewhere])
            await step()
            pair.compare()
            lengths.add(pair.vector.vl)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(lengths) > 15


def test_other_instructions_are_not_its_own():
    dut = Configuration(config=PRESETS["small"])

    async def bench(ctx):
        for word in (
            ROWS["vadd.vv"].encode(vd=1, vs1=2, vs2=3, vm=1),
            ROWS["csrrw"].encode(rd=1, rs1=2, csr=CSR_BY_NAME["frm"].address),
        ):
            ctx.set(dut.word, word)
            assert not ctx.get(dut.mine)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
