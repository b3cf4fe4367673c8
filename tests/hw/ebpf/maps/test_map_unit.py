"""The map unit against the golden maps: results of random operations on hashes and tries."""

import random

import pytest

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_machine import map_address
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.map_bench import MapCall, play

MASK = (1 << 64) - 1
SPECS = [
    MapSpec(name="array", kind=MapType.ARRAY, key_size=4, value_size=12, max_entries=5),
    MapSpec(name="hash", kind=MapType.HASH, key_size=7, value_size=40, max_entries=8),
    MapSpec(name="lru", kind=MapType.LRU_HASH, key_size=16, value_size=8, max_entries=8),
    MapSpec(name="trie", kind=MapType.LPM_TRIE, key_size=8, value_size=8, max_entries=7),
]
#: Cycles of the slowest operation in random runs.
CYCLES = {"array": 5, "hash": 10, "lru": 10, "trie": 8}


def random_key(generator, spec):
    if spec.kind is MapType.ARRAY:
        return generator.randrange(7).to_bytes(4, "little")
    if spec.kind is MapType.LPM_TRIE:
        length = generator.choice([0, 1, 5, 8, 12, 20, 31, 32, 33])
        data = bytes(generator.choice([0, 128, 129, 255]) for _ in range(4))
        return length.to_bytes(4, "little") + data
    return bytes([generator.randrange(14)]) * spec.key_size


def golden_result(made, call, number):
    if call.command in (MapCommand.LOOKUP, MapCommand.READ):
        look = made.lookup if call.command is MapCommand.LOOKUP else made.find
        place = look(call.key)
        return 0 if place is None else map_address(number) + place
    if call.command is MapCommand.UPDATE:
        return made.update(call.key, call.value, call.flags) & MASK
    return made.delete(call.key) & MASK


@pytest.mark.parametrize("seed", range(3))
def test_random_operations(seed):
    generator = random.Random(seed)
    maps = [create_map(spec) for spec in SPECS]
    commands = [MapCommand.LOOKUP, MapCommand.UPDATE, MapCommand.DELETE, MapCommand.READ]
    calls, expected = [], []
    for _ in range(800):
        number = generator.randrange(len(SPECS))
        spec = SPECS[number]
        call = MapCall(
            command=generator.choices(commands, [2, 4, 1, 1])[0],
            map=number,
            key=random_key(generator, spec),
            value=generator.randbytes(spec.value_size),
            flags=generator.choice([0, 0, 0, 1, 2, 3, 4, 9]),
        )
        calls.append(call)
        expected.append(golden_result(maps[number], call, number))
    replies = play(SPECS, calls, PRESETS["tiny"])
    assert [reply.value for reply in replies] == expected
    for call, reply in zip(calls, replies, strict=True):
        assert reply.cycles <= CYCLES[SPECS[call.map].name], call
