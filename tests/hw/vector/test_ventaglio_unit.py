"""Ventaglio's datapath by itself: random products, clears and turns of memory against golden."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.riscv.scalar_float import unbox_half
from fanweave.golden.riscv.vector_step import Step
from fanweave.golden.riscv.ventaglio_unit import pattern_of
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.unit_testing import GoldenVector, RegisterModel
from fanweave.hw.vector.ventaglio_unit import VentaglioUnit
from fanweave.hw.ventaglio.payloads import Marker

FORMAT, ERROR = CSR_BY_NAME["vtlfmt"], CSR_BY_NAME["vtlerr"]
INDICES = (1, 2, 5, 28, 31)
MAPPED = 1 << 16 | 1 << 20
SMALL = VectorConfig(
    vlen=128,
    lanes=1,
    slots=4,
    ventaglio=VentaglioConfig(beat_bits=64, accumulators=128, max_outputs=1, mask_columns=32),
)
#: Wider, with bank conflicts and a longer way through an accumulator.
WIDE = VectorConfig(
    vlen=256,
    lanes=2,
    slots=8,
    ventaglio=VentaglioConfig(
        formats=(ElementFormat.FP32, ElementFormat.FP16),
        beat_bits=128,
        accumulators=128,
        max_outputs=1,
        banks=8,
        accumulate_latency=3,
        mask_columns=64,
    ),
)


class Bench:
    """A sequence of instructions, what golden makes of it, and the unit that has to do the same."""

    def __init__(self, config, seed, pause):
        self.config = config
        self.unit = unit = VentaglioUnit(config=config)
        self.golden = GoldenVector(config)
        self.generator = random.Random(seed)
        self.goes = lambda: pause == 0 or self.generator.random() >= pause
        self.registers = RegisterModel(config, [unit.weights, unit.indices], [], self.goes)
        self.size = config.ventaglio.accumulators // 2
        self.cycles = 0

    def new_registers(self):
        """Small numbers, so that sums are not all infinite or NaN; and any bits."""
        generator = np.random.default_rng(self.generator.randrange(1 << 32))
        values = self.golden.vector.bytes
        values[:] = generator.integers(0, 256, values.shape[0])
        if self.generator.random() < 0.7:
            halves = generator.standard_normal(values.shape[0] // 2).astype(np.float16)
            values.view(np.float16)[:] = halves
        if self.generator.random() < 0.5:
            low, high = sorted(generator.integers(0, values.shape[0], 2))
            words = values[low // 4 * 4 : high // 4 * 4].view(np.float32)
            words[:] = generator.standard_normal(words.shape[0])
        # Indices that are mostly in range.
        limit = np.uint16(generator.choice([0x1F] * 5 + [0x1F1F, 0xFFFF]))
        for registers in (slice(1, 8), slice(28, 32)):
            values.view(np.uint16).reshape(32, -1)[registers] &= limit
        self.registers.bytes[:] = values

    def configure(self):
        """CSRs and a vtype that go together, mostly."""
        generator, csrs = self.generator, self.golden.hart.csrs
        element = generator.choice(self.config.ventaglio.formats)
        mode = generator.choice(list(IndexMode))
        m = generator.choice([2, 4, 4, 8, 32, generator.randrange(1, 33)])
        n = generator.randrange(1, m + 1)
        extended = generator.random() < 0.8
        if not extended:
            element, mode = ElementFormat.FP32, IndexMode.N_OF_M
        csrs.write("vtlreg", MAPPED)
        csrs.write("vtlidxw", generator.randrange(4))
        csrs.write("vtlblks", generator.randrange(4))
        csrs.write("vtlratio", generator.randrange(3))
        whole = 0 if mode in (IndexMode.N_OF_M, IndexMode.DENSE) else self.size
        width = generator.choice([whole] * 30 + [0, self.size, generator.randrange(self.size)])
        csrs.write("vtlwidth", width)
        values = {"element": int(element), "index_mode": int(mode), "n": n, "m": m}
        skip = int(generator.random() < 0.2)
        csrs.write("vtlfmt", FORMAT.pack(**values, skip_zeros=skip, extended=int(extended)))
        lmul8 = generator.choice([8, 8, 16, 32])
        vlmax = self.config.vlen * lmul8 // 8 // element.bits
        self.golden.shape(element.bits, lmul8, generator.randrange(1, vlmax + 1), 0)

    def fit(self, register):
        """With a bitmask, as many elements as it has ones, or nearly."""
        csrs, vector = self.golden.hart.csrs.values, self.golden.vector
        word, width = csrs["vtlfmt"], csrs["vtlwidth"]
        if FORMAT.field("index_mode").extract(word) == IndexMode.BITMASK and word >> 31:
            bits = np.unpackbits(
                vector.bytes[register * self.config.vlen // 8 :], bitorder="little"
            )[:width]
            wanted = int(bits.sum()) + self.generator.choice([0] * 20 + [1, -1])
            vector.vl = min(max(wanted, 1), vector.vlmax)

    def product(self, slot):
        """A product that golden executes as well; None if it is illegal."""
        generator, hart = self.generator, self.golden.hart
        name = generator.choice(["vfxmacc.vrf"] * 3 + ["vfxmul.vrf"] + ["vfxmacc.rows"] * 3)
        row = INSTRUCTION_BY_NAME[name]
        fields = {
            "vd": generator.choice([16, 20]),
            "vs2": generator.choice([0, 4, 8, 12, 24]),
            "vs1": generator.choice(INDICES),
            "fs1": 1,
        }
        if name == "vfxmacc.rows":
            del fields["fs1"]
            most = self.config.vlen // self.golden.vector.sew
            fields["uimm"] = generator.randrange(1, min(most, 31) + 1)
            fields["part"] = generator.randrange(min(most // fields["uimm"], 4))
            room = (32 - fields["vs2"]) * most // fields["uimm"]
            self.golden.vector.vl = min(self.golden.vector.vl, room)
        self.fit(fields["vs1"])
        hart.f[1] = generator.choice(
            [0, 1 << 31, 0x3F800000, 0xC0490FDB, generator.randrange(1 << 32)]
            + [0xFFFF0000 | generator.randrange(1 << 16)] * 4
        )
        before = hart.bank.copy()
        error = hart.csrs.values["vtlerr"]
        if self.golden.run(row.encode(**fields)) is not None:
            hart.csrs.values["vtlerr"] = error
            hart.bank[:] = before
            return None
        return self.plan(Step(hart, row, fields), fields, slot)

    def plan(self, step, fields, slot):
        pattern, vl, words = pattern_of(step), step.vl, self.config.words
        scalar = self.golden.hart.f[1]
        if pattern.element is ElementFormat.FP16:
            scalar = unbox_half(scalar)
        scalar &= (1 << pattern.element.bits) - 1
        number = scalar if pattern.element.is_integer else scalar & ~(1 << pattern.element.bits - 1)
        many = "uimm" in fields
        if pattern.skip_zeros and number == 0 and not many:
            return None
        rows = fields.get("uimm", 1)
        size = (pattern.element.bits // 8).bit_length() - 1
        return {
            "marker": Marker.ROW,
            "slot": slot,
            "element": int(pattern.element),
            "size": size,
            "mode": int(pattern.mode),
            "n": pattern.n,
            "m": pattern.m,
            "bits": pattern.bits,
            "width": pattern.columns(vl),
            "base": 0 if fields["vd"] == 16 else self.size,
            "multiply": int(step.kind.name == "vfxmul.vrf"),
            "scalar": scalar,
            "count": vl,
            "weights": fields["vs2"] * words,
            "weight_words": -(-(rows * vl << size) // self.config.word_bytes),
            "indices": fields["vs1"] * words,
            "index_words": pattern.index_words(vl),
            "many": int(many),
            "rows": rows,
            "scalars": fields.get("part", 0) * rows,
        }

    def turn(self, slot):
        """A load or store of some words; returns its plan, and what it does to each word."""
        generator, hart = self.generator, self.golden.hart
        lanes = self.config.ventaglio.drain_lanes
        first = generator.choice([0, self.size // lanes])
        count = generator.randrange(1, self.size // lanes + 1)
        store = generator.random() < 0.7
        work = []
        for address in range(first, first + count):
            row = hart.bank[address * lanes : (address + 1) * lanes]
            enable = (1 << 4 * lanes) - 1
            if not store:
                part = generator.randrange(1, lanes + 1)
                enable = (1 << 4 * part) - 1
                row[:part] = [generator.randrange(1 << 32) for _ in range(part)]
            work.append((address, enable, int.from_bytes(row.tobytes(), "little")))
        return {"marker": Marker.DRAIN, "slot": slot}, store, work

    def sequence(self, length):
        """Plans in order, and the turns among them."""
        plans, turns = [], []
        self.golden.hart.csrs.write("vtlerr", 0)
        self.new_registers()
        slots = self.config.slots
        while len(plans) < length:
            slot, kind = len(plans) % slots, self.generator.random()
            if kind < 0.06:
                self.golden.hart.bank[:] = 0
                plans.append({"marker": Marker.CLEAR, "slot": slot})
            elif kind < 0.15:
                plan, *work = self.turn(slot)
                plans.append(plan)
                turns.append((slot, *work))
            else:
                if self.generator.random() < 0.5:
                    self.configure()
                plan = self.product(slot)
                if plan is not None:
                    plans.append(plan)
        return plans, turns

    async def play(self, ctx, plans, turns):
        """Everything of a sequence, within a bound; returns the first fault."""
        unit, fault = self.unit, 0
        given = fetched = offers = 0
        turns = [(slot, store, list(work)) for slot, store, work in turns]
        bound = 400 + 120 * sum(plan.get("rows", 1) for plan in plans)
        for _ in range(bound):
            may = given < len(plans) and given - fetched < self.config.slots
            offers = may and (offers or self.goes())
            ctx.set(unit.plans.valid, offers)
            if offers:
                ctx.set(unit.plans.payload, plans[given])
            ctx.set(unit.weights_blocked, not self.goes())
            ctx.set(unit.indices_blocked, not self.goes())
            ctx.set(unit.mask, self.registers.mask())
            ctx.set(unit.mask_blocked, not self.goes())
            self.registers.before_edge(ctx)
            checks = self.access(ctx, turns)
            shown = self.registers.sample(ctx)
            if ctx.get(unit.fault) and not fault:
                fault = ERROR.pack(cause=int(ctx.get(unit.fault)), element=ctx.get(unit.element))
            if offers and ctx.get(unit.plans.ready):
                given, offers = given + 1, False
                fetched += plans[given - 1]["marker"] is Marker.DRAIN
            if ctx.get(unit.fetched):
                fetched += 1
            await ctx.tick()
            self.cycles += 1
            for signal, value in shown:
                ctx.set(signal, value)
            if checks is not None:
                assert ctx.get(unit.read.value) == checks
            if given == len(plans) and not turns and not ctx.get(unit.busy):
                return fault
        raise AssertionError(f"{given} of {len(plans)} plans, {len(turns)} turns left: a deadlock")

    def access(self, ctx, turns):
        """The memory unit's side; returns the word that a read has to show after the edge."""
        unit, expected = self.unit, None
        for name in ("read", "write"):
            ctx.set(getattr(unit, name).valid, 0)
        ctx.set(unit.finished, 0)
        if turns and self.goes():
            slot, store, work = turns[0]
            address, enable, value = work[0]
            port = unit.read if store else unit.write
            ctx.set(port.valid, 1)
            ctx.set(port.address, address)
            ctx.set(unit.read_slot if store else unit.write_slot, slot)
            if not store:
                ctx.set(port.enable, enable)
                ctx.set(port.value, value)
            if ctx.get(port.ready):
                expected = value if store else None
                work.pop(0)
                if not work:
                    turns.pop(0)
                    ctx.set(unit.finished, 1)
                    ctx.set(unit.finished_slot, slot)
        return expected


def simulate(bench, testbench):
    simulator = Simulator(bench.unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize(
    ("config", "seed", "pause", "sequences"),
    [(SMALL, 1, 0, 30), (SMALL, 2, 0.3, 15), (WIDE, 3, 0.1, 12), (WIDE, 4, 0, 12)],
)
def test_random_orders(config, seed, pause, sequences):
    """Sums, faults and what memory sees are golden's in every order, and nothing waits for ever."""
    bench = Bench(config, seed, pause)
    faults = []
    words = bench.size * 2 // config.ventaglio.drain_lanes

    async def testbench(ctx):
        for number in range(sequences):
            # Long ones mostly meet a fault, short ones mostly none.
            plans, turns = bench.sequence(4 if number % 3 == 2 else 15)
            values = bench.golden.hart.bank.tobytes()
            last = [
                (
                    at,
                    0,
                    int.from_bytes(values[at * config.word_bytes :][: config.word_bytes], "little"),
                )
                for at in range(words)
            ]
            slot = len(plans) % config.slots
            plans.append({"marker": Marker.DRAIN, "slot": slot})
            turns.append((slot, True, last))
            fault = await bench.play(ctx, plans, turns)
            assert fault == bench.golden.hart.csrs.values["vtlerr"]
            faults.append(fault)
        assert faults.count(0) > 1
        assert len(set(faults)) > 2

    simulate(bench, testbench)


@pytest.mark.parametrize(
    ("element", "elements", "rows"),
    [
        (ElementFormat.FP32, 16, 2),
        (ElementFormat.FP32, 4, 1),
        (ElementFormat.FP16, 16, 2),
        (ElementFormat.E4M3, 16, 1),
    ],
)
def test_no_gap_between_dependent_products(element, elements, rows):
    """Two words of weights, or more, keep the lanes busy, though each adds to the one before."""
    bench = Bench(SMALL, 5, 0)
    bench.new_registers()
    csrs, count = bench.golden.hart.csrs, 24
    csrs.write("vtlreg", MAPPED)
    values = {"element": int(element), "index_mode": int(IndexMode.N_OF_M), "n": 2, "m": 4}
    csrs.write("vtlfmt", FORMAT.pack(**values, skip_zeros=0, extended=1))
    bench.golden.shape(element.bits, 32, elements, 0)
    bench.registers.bytes[SMALL.vlen // 8 :][: SMALL.vlen // 8] = 0x44  # no conflicts in a word
    bench.golden.hart.f[1] = 0xFFFF3C00
    row = INSTRUCTION_BY_NAME["vfxmacc.vrf"]
    plans = []
    for number in range(count):
        fields = {"vd": (16, 20)[number % rows], "vs2": 8, "vs1": 1, "fs1": 1}
        plans.append(bench.plan(Step(bench.golden.hart, row, fields), fields, number % SMALL.slots))

    async def testbench(ctx):
        await bench.play(ctx, plans, [])

    simulate(bench, testbench)
    words = -(-elements * element.bits // SMALL.word_bits) * count
    assert words <= bench.cycles <= words + 8


@pytest.mark.parametrize(("elements", "rows"), [(4, 4), (8, 4), (2, 3)])
def test_no_gap_between_products_of_rows(elements, rows):
    """Neither between rows nor, but for a cycle or two, between instructions."""
    bench = Bench(SMALL, 6, 0)
    bench.new_registers()
    csrs, count = bench.golden.hart.csrs, 12
    csrs.write("vtlreg", MAPPED)
    values = {"element": int(ElementFormat.FP32), "index_mode": int(IndexMode.N_OF_M)}
    csrs.write("vtlfmt", FORMAT.pack(**values, n=2, m=4, skip_zeros=0, extended=1))
    bench.golden.shape(32, 32, elements, 0)
    bench.registers.bytes[SMALL.vlen // 8 :][: SMALL.vlen // 8] = 0x44  # no conflicts in a word
    row = INSTRUCTION_BY_NAME["vfxmacc.rows"]
    plans = []
    for number in range(count):
        fields = {"vd": (16, 20)[number % 2], "vs2": 8, "vs1": 1, "uimm": rows, "part": 0}
        plans.append(bench.plan(Step(bench.golden.hart, row, fields), fields, number % SMALL.slots))

    async def testbench(ctx):
        await bench.play(ctx, plans, [])

    simulate(bench, testbench)
    words = -(-elements * 32 // SMALL.word_bits) * rows * count
    assert words <= bench.cycles <= words + 2 * count + 8
