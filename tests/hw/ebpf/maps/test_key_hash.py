# amaranth: UnusedElaboratable=no
"""The hash of a key that comes in word by word is golden's, whatever its length."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.maps import hash_key
from fanweave.hw.ebpf.maps.key_hash import KeyHash

KEY_BYTES = 24


def hashes(keys, arrival):
    """Hash of each key; `arrival` says after which cycle a word is there."""
    unit = KeyHash(key_bytes=KEY_BYTES)
    found = []

    async def bench(ctx):
        for key in keys:
            ctx.set(unit.start, 1)
            ctx.set(unit.length, len(key))
            ctx.set(unit.words, 0)
            ctx.set(unit.key, 0)
            await ctx.tick()
            ctx.set(unit.start, 0)
            words = -(-len(key) // 4)
            for cycle in range(4 * KEY_BYTES):
                there = min(arrival(cycle), words)
                ctx.set(unit.words, there)
                ctx.set(unit.key, int.from_bytes(key[: 4 * there], "little"))
                if ctx.get(unit.done):
                    break
                await ctx.tick()
            found.append(ctx.get(unit.hash))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize(
    "arrival",
    [lambda cycle: KEY_BYTES, lambda cycle: cycle // 3, lambda cycle: 2 * (cycle // 2)],
    ids=["at once", "slowly", "in pairs"],
)
def test_every_length_of_a_key(arrival):
    chance = random.Random(1)
    keys = [chance.randbytes(length) for length in range(1, KEY_BYTES + 1) for _ in range(3)]
    assert hashes(keys, arrival) == [hash_key(key) for key in keys]


def test_nothing_is_left_of_the_key_before():
    keys = [b"\xff" * KEY_BYTES, b"\1", b"\xff" * KEY_BYTES]
    assert hashes(keys, lambda cycle: KEY_BYTES) == [hash_key(key) for key in keys]


@pytest.mark.parametrize("size", [0, 3, 6])
def test_a_size_that_is_no_multiple_of_a_word_is_refused(size):
    with pytest.raises(ValueError, match=f"key_bytes = {size} must be a multiple of 4"):
        KeyHash(key_bytes=size)
