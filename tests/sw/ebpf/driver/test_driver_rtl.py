"""The driver against the port, the map unit and the program store in Amaranth's simulator."""

import random

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR, MapCommand
from fanweave.golden.isa.ebpf_machine import map_address
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.host_bench import play_host
from fanweave.sw.ebpf.driver import EngineDriver


def play(scenario, config, stall=0):
    async def run(bench):
        await scenario(bench, await EngineDriver.identify(bench))

    play_host(run, config, stall=stall)


@pytest.mark.parametrize("seed", range(2))
def test_maps_of_every_type_are_those_of_golden(tiny, specs, scenario, seed):
    async def run(_, driver):
        assert driver.config == tiny
        await driver.maps.create(specs)
        plays = scenario(driver, specs, seed=seed)
        for _ in range(14):
            for number, spec in enumerate(specs):
                if spec.kind is not MapType.RINGBUF:
                    await plays.step(number)
        await plays.compare()

    play(run, tiny, stall=100 * seed)


class RingProgram:
    """What programs do to a ring, at the map unit's first source."""

    def __init__(self, bench, spec, descriptor):
        self.bench = bench
        self.fields = {field.name: field.extract(descriptor) for field in DESCRIPTOR}
        self.spec = spec

    async def ask(self, command, *, length, place=0):
        ctx, maps = self.bench.ctx, self.bench.maps
        operations, results = maps.operations[0], maps.results[0]
        ctx.set(
            operations.payload,
            {
                "command": command.value,
                "map": 0,
                "descriptor": self.fields,
                "length": length,
                "place": place,
            },
        )
        ctx.set(operations.valid, 1)
        await ctx.tick().until(operations.ready)
        ctx.set(operations.valid, 0)
        ctx.set(results.ready, 1)
        (result,) = await ctx.tick().sample(results.payload).until(results.valid)
        ctx.set(results.ready, 0)
        return result.value

    async def reserve(self, length):
        address = await self.ask(MapCommand.RESERVE, length=length)
        return address - map_address(0) if address else None

    async def finish(self, place, length, *, keep):
        command = MapCommand.SUBMIT if keep else MapCommand.DISCARD
        await self.ask(command, length=length, place=place)


def test_records_of_a_ring_while_programs_write_it(tiny, specs):
    from fanweave.golden.ebpf.layout import lay_out
    from fanweave.golden.ebpf.maps import create_map

    spec = specs[-1]
    golden = create_map(spec)
    generator = random.Random(3)

    async def run(bench, driver):
        await driver.maps.create([spec])
        ring = RingProgram(bench, spec, lay_out([spec], tiny)[0].descriptor)
        opened = []
        for turn in range(40):
            length = generator.randrange(1, 40)
            place = golden.reserve(length)
            assert await ring.reserve(length) == place
            if place is not None:
                opened.append((place, length))
                content = generator.randbytes(length)
                for at, byte in enumerate(content):
                    golden.memory[place + at] = byte
                await store(driver, place, content)
            if opened and generator.random() < 0.8:
                place, length = opened.pop(generator.randrange(len(opened)))
                keep = generator.random() < 0.7
                golden.finish(place, keep=keep)
                await ring.finish(place, length, keep=keep)
            assert await driver.maps.items(0) == list(golden.items()), turn
            if generator.random() < 0.5:
                assert await driver.maps.consume(0) == golden.consume()

    play(run, tiny)


async def store(driver, place, content):
    """What a program's stores do, with the same check."""
    from fanweave.sw.ebpf.driver.values import EngineValues

    await EngineValues(driver.registers).store(map_address(0) + place, content)


def test_programs_are_replaced_under_load(tiny):
    def program(value):
        return Program.of([mov(0, value), leave()])

    async def run(bench, driver):
        ctx, store = bench.ctx, bench.store
        ctx.set(store.event_program, 1)
        old = await driver.programs.install(1, program(1))
        ctx.set(store.in_use, 1 << old)
        for value in range(2, 7):
            # One image stays with the events of the first program; the others take turns.
            image = await driver.programs.install(1, program(value))
            assert image != old
            assert ctx.get(store.event_image) == image
            ctx.set(store.fetch_slot, ctx.get(store.event_base))
            await ctx.tick()
            assert ctx.get(store.fetch_word) == value << 32 | 0xB7
            assert driver.programs.images == 2
        ctx.set(store.in_use, 0)
        await driver.programs.tidy()
        assert driver.programs.images == 1
        bad = Program.of([mov(0, 0), mov(0, 1)], "endless")
        with pytest.raises(InputError, match=r"refuses slot 1 \(r0 = 1\): control can run off"):
            await driver.programs.install(1, bad)
        assert ctx.get(store.event_valid)

    play(run, tiny)


def test_counters_and_limits_reach_the_engine(tiny):
    async def run(bench, driver):
        ctx, port = bench.ctx, bench.port
        await driver.set_budget(1234)
        await driver.set_default_verdict(0x55_0000_0001)
        assert ctx.get(port.budget) == 1234
        assert ctx.get(port.default_verdict) == 0x55_0000_0001
        ctx.set(port.event_taken[1], 1)
        await ctx.tick().repeat(9)
        ctx.set(port.event_taken[1], 0)
        counters = await driver.counters()
        assert counters["events"] == 9
        assert sum(counters.values()) == 9

    play(run, tiny)
