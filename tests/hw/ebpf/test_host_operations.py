"""Registers of operations and descriptors, with a map unit: what they do and refuse."""

import random

import pytest

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.maps import MapSpec, hash_key
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_machine import FaultCause, map_address
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.host_registers import play_registers

TINY = PRESETS["tiny"]
OKAY, REFUSED = 0, 2
ARRAY, HASH, QUEUE, LONG = range(4)
SPECS = (
    MapSpec(name="array", kind=MapType.ARRAY, key_size=4, value_size=20, max_entries=4),
    MapSpec(name="hash", kind=MapType.HASH, key_size=7, value_size=40, max_entries=8),
    MapSpec(name="queue", kind=MapType.QUEUE, key_size=0, value_size=8, max_entries=4),
    MapSpec(name="long", kind=MapType.ARRAY, key_size=4, value_size=100, max_entries=1),
)


@pytest.mark.parametrize("stall", [0, 200])
def test_operations_on_a_hash_map(stall):
    async def scenario(registers):
        await registers.create(SPECS, TINY)
        value = bytes(range(40))
        for at in range(0, 40, 4):
            await registers.write("operand", int.from_bytes(value[at : at + 4], "little"), at // 4)
        key = bytes(range(1, 8))
        # What is behind the key's end in its last word does not count.
        assert await registers.operate(MapCommand.UPDATE, HASH, key + b"\xaa") == (0, 0)
        assert await registers.operate(MapCommand.UPDATE, HASH, key, flags=1) == (0, 2**64 - 17)
        address = map_address(HASH)
        assert await registers.operate(MapCommand.READ, HASH, key + b"\xbb") == (1, address)
        assert await registers.access(address + 3, 8) == (
            FaultCause.NONE,
            int.from_bytes(value[3:11], "little"),
        )
        await registers.write("operation_place", 0)
        found, _ = await registers.operate(MapCommand.KEY, HASH)
        row = b"".join(
            [(await registers.read("read_back", word)).to_bytes(4, "little") for word in (0, 1)]
        )
        assert (found, row) == (1, key + b"\0")
        await registers.write("operation_place", 1)
        assert (await registers.operate(MapCommand.KEY, HASH))[0] == 0
        assert await registers.operate(MapCommand.DELETE, HASH, key) == (0, 0)
        assert await registers.operate(MapCommand.READ, HASH, key) == (0, 0)

    play_registers(scenario, TINY, stall=stall)


@pytest.mark.parametrize("length", [1, 3, 4, 7, 8])
def test_the_hash_is_that_of_the_key(length):
    spec = MapSpec(name="hash", kind=MapType.HASH, key_size=length, value_size=8, max_entries=4)
    key = random.Random(length).randbytes(length)
    seen = []

    async def watch(bench):
        async for _, _, valid, payload in bench.ctx.tick().sample(
            bench.port.operations.valid, bench.port.operations.payload
        ):
            if valid and payload.command.value == MapCommand.READ:
                seen.append((payload.hash, payload.key.to_bytes(16, "little")[:length]))

    async def scenario(registers):
        await registers.create([spec], TINY)
        await registers.write_key(bytes([0xFF] * 16))
        await registers.operate(MapCommand.READ, 0, key)

    play_registers(scenario, TINY, beside=watch)
    assert set(seen) == {(hash_key(key), key)}


def test_operations_that_a_host_may_not_ask_for():
    async def scenario(registers):
        await registers.create(SPECS, TINY)
        allowed = {"command": MapCommand.READ, "map": ARRAY}
        for fields in (
            {"map": 4},  # never described
            {"map": 255},
            {"engine": 1},
            {"command": MapCommand.PUSH},
            {"command": MapCommand.READ, "map": QUEUE},
            {"command": MapCommand.UPDATE, "map": LONG},  # longer than the operands
            {"command": MapCommand.RESERVE, "map": QUEUE},
        ):
            assert await registers.put("operation", **{**allowed, **fields}) == REFUSED, fields
            assert (await registers.status("operation_status"))["busy"] == 0
        await registers.write("operation_place", 8)  # there are slots 0 to 7
        assert await registers.put("operation", command=MapCommand.KEY, map=HASH) == REFUSED
        await registers.write("operation_place", 7)
        assert await registers.put("operation", command=MapCommand.KEY, map=HASH) == OKAY
        await registers.wait("operation_status")
        assert await registers.put("operation", **allowed) == OKAY

    play_registers(scenario, TINY)


def test_an_operation_keeps_its_registers():
    async def scenario(registers):
        await registers.create(SPECS, TINY)
        bench = registers.bench
        # One that lasts: all values of a map become zero.
        await registers.write("operation_length", 4096)
        await registers.write("operation", command=MapCommand.CREATE, map=LONG)
        for name in ("operation", "operation_key", "operation_length", "operation_place"):
            assert await registers.put(name, 1) == REFUSED, name
        assert await registers.put("operand", 1) == REFUSED
        assert (await registers.status("operation_status"))["busy"] == 1
        assert await registers.put("budget", 1) == OKAY
        await registers.wait("operation_status")
        assert bench.ctx.get(bench.port.operations.valid) == 0
        assert await registers.read("operation_length") == 4096

    play_registers(scenario, TINY)


def test_descriptors_that_cannot_be():
    async def scenario(registers):
        await registers.write("descriptor", 9 << 8 | 1 << 5 | MapType.HASH, 0)
        assert await registers.put("descriptor_map", map=8) == REFUSED
        assert await registers.put("descriptor_map", map=7) == OKAY
        await registers.write("descriptor", 17 << 8 | 1 << 5 | MapType.HASH, 0)
        assert await registers.put("descriptor_map", map=7) == REFUSED

    play_registers(scenario, TINY)
