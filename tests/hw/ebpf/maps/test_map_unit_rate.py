# amaranth: UnusedElaboratable=no
"""Look-ups that follow one another: how many the map unit takes, and that none is mixed up."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.maps import MapSpec, create_map, hash_key
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_machine import map_address
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.hw.ebpf.maps.map_unit import MapUnit
from fanweave.sim.benches.ebpf.map_bench import MapCall, call_map, create_maps

CONFIG = PRESETS["tiny"]
ARRAY, HASH = range(2)
SPECS = (
    MapSpec(name="array", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=8),
    MapSpec(name="hash", kind=MapType.HASH, key_size=16, value_size=8, max_entries=8),
)
KEYS = [bytes([n]) * 16 for n in range(6)]
COUNT = 60
PATIENCE = 2000


class Flood:
    """Look-ups of all sources at once, each offered as soon as the one before it was taken."""

    def __init__(self, sources, numbers, *, seed, stall=0.0):
        self.unit = MapUnit(config=CONFIG, sources=sources, accessors=1)
        self.generator = generator = random.Random(seed)
        self.stall = stall
        self.maps = [create_map(spec) for spec in SPECS]
        self.asked = [
            [self.random_look_up(generator, numbers[n % len(numbers)]) for n in range(COUNT)]
            for _ in range(sources)
        ]
        self.given = [[] for _ in range(sources)]
        self.cycles = 0
        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self.play)
        simulator.run()

    @staticmethod
    def random_look_up(generator, number):
        if number == ARRAY:
            return number, generator.randrange(10).to_bytes(4, "little")
        return number, generator.choice([*KEYS, bytes(16), b"\xff" * 16])

    async def play(self, ctx):
        unit = self.unit
        descriptors = await create_maps(ctx, unit, SPECS, CONFIG)
        for key in KEYS:
            call = MapCall(command=MapCommand.UPDATE, map=HASH, key=key, value=bytes(8))
            await call_map(ctx, unit, call, descriptors)
            self.maps[HASH].update(key, bytes(8))
        offered = [0] * len(self.asked)
        for self.cycles in range(PATIENCE):
            for results in unit.results:
                ctx.set(results.ready, self.generator.random() >= self.stall)
            for source, asked in enumerate(self.asked):
                operations = unit.operations[source]
                ctx.set(operations.valid, offered[source] < COUNT)
                if offered[source] < COUNT:
                    number, key = asked[offered[source]]
                    ctx.set(operations.payload, look_up(number, key, descriptors))
            for source, given in enumerate(self.given):
                results = unit.results[source]
                if ctx.get(results.valid) and ctx.get(results.ready):
                    given.append(ctx.get(results.payload.value))
            taken = [
                ctx.get(operations.valid) and ctx.get(operations.ready)
                for operations in unit.operations
            ]
            if all(len(given) == COUNT for given in self.given):
                return
            await ctx.tick()
            offered = [count + took for count, took in zip(offered, taken, strict=True)]
        raise AssertionError("not all look-ups end")

    def expected(self, source):
        places = [(n, self.maps[n].lookup(key)) for n, key in self.asked[source]]
        return [0 if place is None else map_address(n) + place for n, place in places]


def look_up(number, key, descriptors):
    return {
        "command": MapCommand.LOOKUP.value,
        "thread": 0,
        "map": number,
        "descriptor": descriptors[number],
        "key": int.from_bytes(key, "little"),
        "hash": hash_key(key),
    }


@pytest.mark.parametrize("numbers", [[ARRAY], [ARRAY, HASH, HASH]], ids=["array", "both"])
@pytest.mark.parametrize("sources", [1, 3])
def test_look_ups_are_taken_one_a_cycle(sources, numbers):
    """Keys of the hash map lie in buckets of their own, so that no chain has to be followed."""
    flood = Flood(sources, numbers, seed=1)
    for source, given in enumerate(flood.given):
        assert given == flood.expected(source)
        assert 0 in given
    assert flood.cycles <= sources * COUNT + 4


@pytest.mark.parametrize("sources", [1, 3])
def test_results_that_wait_keep_their_order(sources):
    flood = Flood(sources, [ARRAY, HASH, HASH], seed=2, stall=0.6)
    for source, given in enumerate(flood.given):
        assert given == flood.expected(source)
    assert flood.cycles > sources * COUNT + 20
