"""Ventaglio's part of the front: CSRs, legality, errors and plans, in step with golden."""

import random

from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME, INSTRUCTIONS
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS
from fanweave.golden.riscv.vector_step import Step
from fanweave.golden.riscv.ventaglio_unit import packed_length, pattern_of
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.decoder import VectorDecoder, unit_of
from fanweave.hw.vector.unit_testing import GoldenVector
from fanweave.hw.vector.ventaglio_operations import is_packed, ventaglio_operation
from fanweave.hw.vector.ventaglio_state import VentaglioState
from fanweave.hw.ventaglio.payloads import Marker

CONFIG = VectorConfig(
    vlen=256,
    lanes=1,
    ventaglio=VentaglioConfig(
        formats=tuple(f for f in ElementFormat if f is not ElementFormat.E5M2),
        beat_bits=64,
        accumulators=128,
        max_outputs=1,
        mask_columns=32,
    ),
)
FORMAT = CSR_BY_NAME["vtlfmt"]
L1 = next(region.base for region in REGIONS if region.name is RegionName.L1)
#: What Ventaglio executes or has a say in; one of each kind of the others.
ROWS = [row for row in INSTRUCTIONS if ventaglio_operation(row) is not None] * 12
ROWS += [row for row in INSTRUCTIONS if is_packed(row) and unit_of(row) is not None] * 4
ROWS += [
    INSTRUCTION_BY_NAME[name]
    for name in ("vle32.v", "vse32.v", "p.vle32.v.rrpost") * 6
    + ("vle16.v", "vlse32.v", "vs2r.v", "vlseg2e32.v", "vadd.vv", "vmv.x.s", "vid.v", "vadd.vx")
]


class Dut(wiring.Component):
    """The state and the decoder whose controls it looks at."""

    def __init__(self):
        self.state = VentaglioState(config=CONFIG)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = VectorDecoder()
        m.submodules.state = self.state
        m.d.comb += [decoder.word.eq(self.state.word), self.state.controls.eq(decoder.controls)]
        return m


class Bench:
    def __init__(self, seed):
        self.dut = Dut()
        self.state = self.dut.state
        self.generator = random.Random(seed)
        self.golden = GoldenVector(CONFIG)
        self.seen = set()

    def value_for(self, name):
        """Something to write into a CSR, often sensible."""
        generator = self.generator
        if generator.random() < 0.1:
            return generator.randrange(1 << 32)
        if name == "vtlreg":
            return sum(1 << r for r in generator.sample(range(32), generator.choice([1, 2, 2, 5])))
        if name == "vtlfmt":
            m = generator.randrange(1, 33)
            return FORMAT.pack(
                element=generator.randrange(7),
                index_mode=generator.randrange(6),
                n=generator.randrange(m + 1),
                m=m,
                skip_zeros=generator.randrange(2),
                extended=generator.choice([0, 1, 1, 1]),
            )
        return generator.choice([0, 1, 2, generator.randrange(140)])

    async def access(self, ctx):
        """One access to a CSR; its old value is golden's."""
        generator, csrs, state = self.generator, self.golden.hart.csrs, self.state
        register = generator.choice([row.name for row in VENTAGLIO_CSRS])
        name = generator.choice(["csrrw", "csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"])
        row = INSTRUCTION_BY_NAME[name]
        source, value = generator.choice([0, 5, 5, 5]), self.value_for(register)
        if name.endswith("i"):
            source = generator.randrange(32)
        fields = {"rd": 6, "csr": CSR_BY_NAME[register].address}
        fields["zimm" if "zimm" in row.fields else "rs1"] = source
        word = row.encode(**fields)
        old = csrs.read(register)
        operand = source if name.endswith("i") else (value if source else 0)
        new = {"w": operand, "s": old | operand, "c": old & ~operand}[name[4]]
        ctx.set(state.word, word)
        ctx.set(state.rs1, operand)
        ctx.set(state.commit, 1)
        assert ctx.get(state.mine)
        assert ctx.get(state.of_error) == (register == "vtlerr")
        assert ctx.get(state.value) == old, register
        if name[4] == "w" or source:
            csrs.write(register, new)
        await ctx.tick()
        ctx.set(state.commit, 0)

    def shape(self, ctx):
        """vtype, vl and vstart."""
        generator, vector, state = self.generator, self.golden.vector, self.state
        code = generator.choice([0, 1, 2, 3, 7]) | generator.choice([0, 1, 2, 2, 2, 3]) << 3
        vector.set_vtype(code)
        vector.vl = 0 if vector.illegal else generator.randrange(vector.vlmax + 1)
        vector.vstart = generator.choice([0] * 9 + [1])
        ctx.set(
            state.vtype,
            {"lmul": (code & 7) - 8 * (code >> 2 & 1), "sew": code >> 3, "illegal": vector.illegal},
        )
        ctx.set(state.vl, vector.vl)
        ctx.set(state.vstart, vector.vstart)
        ctx.set(state.changes, 1)

    def word_of(self, row):
        generator, mapped = self.generator, self.golden.hart.csrs.values["vtlreg"]
        fields = {"rs1": 10, "rs2": 11, "fs1": 12, "rd": 13, "vm": generator.choice([1, 1, 1, 0])}
        fields["uimm"] = generator.choice([0, 1, 2, 3, 4, generator.randrange(32)])
        fields["part"] = generator.choice([0, 0, 1, 2, 3])
        in_bank = [r for r in range(32) if mapped >> r & 1] or [0]
        for name in ("vd", "vs3"):
            fields[name] = generator.choice(in_bank * 4 + [generator.randrange(32)] * 2)
        for name in ("vs1", "vs2"):
            fields[name] = generator.choice([8, 24, 16, generator.randrange(32)])
        if is_packed(row) and generator.random() < 0.8:
            fields["vd"] = generator.choice([0, 8, 16, 24, 28, 31])
        return row.encode(**{name: fields[name] for name in row.fields})

    async def instruction(self, ctx):
        generator, golden, state = self.generator, self.golden, self.state
        row = generator.choice(ROWS)
        word = self.word_of(row)
        hart = golden.hart
        hart.x[10], hart.x[11] = L1 + 64, 4
        hart.f[12] = generator.choice(
            [0, 1 << 31, 0xFFFF8000, 0xFFFF0000, 0x8000, generator.randrange(1 << 32)]
        )
        fields = row.decode(word)
        vstart = golden.vector.vstart
        noted = hart.csrs.values["vtlerr"]
        trap = golden.run(word)
        legal = trap is None or trap.cause is not Cause.ILLEGAL_INSTRUCTION
        golden.vector.vstart = vstart
        ctx.set(state.word, word)
        ctx.set(state.fs1, hart.f[12])
        for _ in range(3):
            if not ctx.get(state.waits):
                break
            await ctx.tick()
            ctx.set(state.changes, 0)
        else:
            raise AssertionError("it never settles")
        where = f"{row.name} {fields} {hart.csrs.values} {golden.vector.vl}"
        assert not ctx.get(state.mine)
        if ctx.get(state.decides):
            assert ctx.get(state.legal) == legal, where
        elif ctx.get(state.refuses):
            assert not legal, where
        else:
            assert row.vector is not None or row.memory is not None, where
        now = hart.csrs.values["vtlerr"]
        notes = ctx.get(state.decides) and ctx.get(state.notes)
        self.seen.add((row.name, legal, bool(notes)))
        if notes:
            assert not legal
            assert not noted or now == noted
            ctx.set(state.note, 1)
            await ctx.tick()
            ctx.set(state.note, 0)
        elif legal and ctx.get(state.decides):
            hart.csrs.values["vtlerr"] = noted  # what comes later is not for here
            self.check_plan(ctx, row, fields, where)
        assert self.noted(ctx) == hart.csrs.values["vtlerr"], where

    def noted(self, ctx):
        stored = self.state.registers.stored["vtlerr"]
        return CSR_BY_NAME["vtlerr"].pack(**{name: ctx.get(s) for name, s in stored.items()})

    def check_plan(self, ctx, row, fields, where):
        """What is done is what golden does."""
        state, step = self.state, Step(self.golden.hart, row, fields)
        words = CONFIG.words
        bank = step.hart.csrs.values["vtlreg"]
        plan = ctx.get(state.plan)
        if row.name == "vventclr":
            assert plan.marker == Marker.CLEAR
            return
        pattern = pattern_of(step)
        if is_packed(row):
            length = packed_length(step, row.memory.eew)
            assert ctx.get(state.length) == length, where
            vd = ctx.get(state.vd)
            size = -(-length * row.memory.eew // 8 // CONFIG.word_bytes)
            assert (vd.first, vd.end) == (fields["vd"] * words, fields["vd"] * words + size)
            return
        register = fields.get("vd", fields.get("vs3"))
        below = (bank & (1 << register) - 1).bit_count()
        base = below * (128 >> (bank.bit_count() - 1).bit_length())
        if row.memory is not None:
            assert ctx.get(state.bank)
            assert ctx.get(state.length) == pattern.columns(step.vl), where
            assert ctx.get(state.bank_word) == base // 2, where
            return
        assert (plan.marker, plan.base) == (Marker.ROW, base), where
        assert (plan.element, plan.mode) == (int(pattern.element), int(pattern.mode))
        assert (plan.n, plan.m, plan.bits) == (pattern.n, pattern.m, pattern.bits), where
        assert plan.width == pattern.columns(step.vl)
        assert (plan.count, plan.index_words) == (step.vl, pattern.index_words(step.vl))
        assert plan.multiply == (row.name == "vfxmul.vrf")
        rows = fields.get("uimm", 1)
        assert (plan.many, plan.rows) == ("uimm" in fields, rows)
        assert not plan.many or plan.scalars == fields["part"] * rows
        vs2, vs1 = ctx.get(state.vs2), ctx.get(state.vs1)
        assert vs2.first == fields["vs2"] * words
        bits = rows * step.vl * pattern.element.bits
        assert vs2.end - vs2.first == -(-bits // 8 // CONFIG.word_bytes)
        assert vs1.first == fields["vs1"] * words
        assert vs1.end - vs1.first == -(-rows * plan.index_words * 4 // CONFIG.word_bytes)


def test_in_step_with_golden():
    bench = Bench(1)

    async def testbench(ctx):
        for _ in range(1200):
            for _ in range(bench.generator.choice([0, 1, 1, 3])):
                await bench.access(ctx)
            if bench.generator.random() < 0.7:
                bench.shape(ctx)
            await ctx.tick()
            ctx.set(bench.state.changes, 0)
            for _ in range(3):
                await bench.instruction(ctx)

    simulator = Simulator(bench.dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    names = "vfxmacc.vrf", "vfxmul.vrf", "vfxmacc.rows", "vse32.v", "vlx32.v", "p.vlx16.v.rrpost"
    for name in names:
        assert (name, True, False) in bench.seen, name
        assert (name, False, True) in bench.seen, name
        assert (name, False, False) in bench.seen, name
