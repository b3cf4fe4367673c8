# amaranth: UnusedElaboratable=no
"""Open records of threads against a dictionary for each: who has what, and what lies inside."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.ebpf_machine import MAP_SPAN, OPEN_RECORDS
from fanweave.hw.ebpf.records import Records

#: Few maps and places, so that threads come upon one another's; the last ones end an address space.
MAPS = (0, 3, 255)
PLACES = (*range(0, 200, 24), MAP_SPAN - 64, MAP_SPAN - 8)
LENGTHS = (0, 1, 5, 8, 16, 23, 64, MAP_SPAN)


class Model:
    """Records by thread and number, and the unit beside it."""

    def __init__(self, ctx, dut, threads, generator):
        self.ctx, self.dut, self.generator = ctx, dut, generator
        self.records = [{} for _ in range(threads)]  # of each thread: number to record

    def random_thread(self):
        return self.generator.randrange(len(self.records))

    async def step(self):
        """Add one, or give one back, or neither."""
        ctx, dut, chance = self.ctx, self.dut, self.generator
        thread = self.random_thread()
        own = self.records[thread]
        ctx.set(dut.thread, thread)
        record = (chance.choice(MAPS), chance.choice(PLACES), chance.choice(LENGTHS))
        taken = {found[:2] for found in own.values()}
        adds = len(own) < OPEN_RECORDS and record[:2] not in taken and chance.random() < 0.6
        removes = bool(own) and not adds and chance.random() < 0.6
        chosen = chance.choice(list(own)) if removes else chance.randrange(OPEN_RECORDS)
        ctx.set(dut.record, dict(zip(("map", "place", "length"), record, strict=True)))
        ctx.set(dut.chosen, chosen)
        ctx.set(dut.add, adds)
        ctx.set(dut.remove, removes)
        self.check_now(thread)
        await ctx.tick()
        ctx.set(dut.add, 0)
        ctx.set(dut.remove, 0)
        if adds:
            number = self.find(record)
            assert number is not None
            assert number not in own
            own[number] = record
        if removes:
            del own[chosen]
        self.check_now(thread)

    def find(self, record):
        """Number of the record that begins there, as the unit says."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.wanted_map, record[0])
        ctx.set(dut.wanted_place, record[1])
        if not ctx.get(dut.found):
            return None
        if len(record) > 2:
            assert ctx.get(dut.found_length) == record[2]
        return ctx.get(dut.found_number)

    def check_now(self, thread):
        """What is shown without a clock."""
        ctx, dut, own = self.ctx, self.dut, self.records[thread]
        assert ctx.get(dut.open) == sum(bool(r) << t for t, r in enumerate(self.records))
        assert ctx.get(dut.full) == (len(own) == OPEN_RECORDS)
        if own:
            first = ctx.get(dut.first)
            number = ctx.get(dut.first_number)
            assert own[number] == (first.map, first.place, first.length)
        for number, record in own.items():
            assert self.find(record) == number
        for at in (self.generator.choice(MAPS), self.generator.choice(PLACES)), (1, 24), (0, 25):
            if at not in {record[:2] for record in own.values()}:
                assert self.find(at) is None

    def check_reader(self, reader):
        """Bytes somewhere, often at the edges of a record of this or of another thread."""
        ctx, chance = self.ctx, self.generator
        thread = self.random_thread()
        number, place, length = chance.choice(
            [*self.records[thread].values(), *self.records[self.random_thread()].values()]
            or [(0, 0, 8)]
        )
        at = place + chance.choice([0, 0, 1, length - 1, length, -1])
        span = chance.choice([1, 8, length, length + 1, length - 1]) % (1 << 16)
        if not 0 <= at < MAP_SPAN:
            return None
        for name, value in (("thread", thread), ("map", number), ("place", at), ("span", span)):
            ctx.set(getattr(self.dut, f"{reader}_{name}"), value)
        expected = any(
            number == own and start <= at and at + span <= start + behind
            for own, start, behind in self.records[thread].values()
        )
        assert ctx.get(getattr(self.dut, f"{reader}_inside")) == expected, (thread, number, at)
        return expected


@pytest.mark.parametrize("threads", [2, 8])
def test_random_records_of_threads(threads):
    dut = Records(threads=threads)
    answers, filled = [], set()

    async def bench(ctx):
        model = Model(ctx, dut, threads, random.Random(threads))
        for _ in range(1_500):
            await model.step()
            filled.update(len(own) for own in model.records)
            for reader in ("access", "helper"):
                answers.append(model.check_reader(reader))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert filled == set(range(OPEN_RECORDS + 1))
    assert min(answers.count(True), answers.count(False)) > 500
