"""Registers of accesses to values, with a map unit: what they do and refuse."""

import random

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_machine import FaultCause, map_address
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sim.benches.ebpf.host_registers import play_registers

TINY = PRESETS["tiny"]
REFUSED = 2
ARRAY, SEALED, QUEUE = range(3)
SPECS = (
    MapSpec(name="array", kind=MapType.ARRAY, key_size=4, value_size=20, max_entries=4),
    MapSpec(
        name="sealed",
        kind=MapType.ARRAY,
        key_size=4,
        value_size=8,
        max_entries=2,
        flags=MapFlag.RDONLY_PROG | MapFlag.WRONLY_PROG,
    ),
    MapSpec(name="queue", kind=MapType.QUEUE, key_size=0, value_size=8, max_entries=4),
)
OUTSIDE = (FaultCause.OUT_OF_BOUNDS, 0)


async def check_size(registers, value, count):
    """Loads and stores of a size at every place of a value, and behind its end."""
    generator = random.Random(count)
    base = map_address(ARRAY) + 24
    for _ in range(6):
        at = generator.randrange(21 - count)
        data = generator.randbytes(count)
        value[at : at + count] = data
        stored = int.from_bytes(data, "little") | generator.getrandbits(64) << 8 * count
        cause, _ = await registers.access(base + at, count, stored & (1 << 64) - 1)
        assert cause is FaultCause.NONE
    for at in range(21 - count):
        expected = int.from_bytes(value[at : at + count], "little")
        assert await registers.access(base + at, count) == (FaultCause.NONE, expected)
    # One byte too far: nothing is stored, not even what would fit.
    assert await registers.access(base + 21 - count, count) == OUTSIDE
    cause, _ = await registers.access(base + 21 - count, count, (1 << 64) - 1)
    assert cause is FaultCause.OUT_OF_BOUNDS
    assert await registers.access(base + 19, 1) == (FaultCause.NONE, value[19])


def test_loads_and_stores_of_every_size():
    async def scenario(registers):
        await registers.create(SPECS[:1], TINY)
        value = bytearray(20)
        for count in range(1, 9):
            await check_size(registers, value, count)

    play_registers(scenario, TINY)


def test_accesses_that_are_none_are_refused():
    async def scenario(registers):
        await registers.create(SPECS, TINY)
        for address, count in (
            (map_address(ARRAY), 0),
            (map_address(ARRAY), 9),
            (0, 1),
            (0x8000_0000, 1),
            (0xC000_0000, 8),
        ):
            await registers.write("access_address", address)
            assert await registers.put("access", bytes=count) == REFUSED, (address, count)
        assert (await registers.status("access_status"))["busy"] == 0

    play_registers(scenario, TINY)


def test_flags_about_programs_do_not_bind_a_host():
    async def scenario(registers):
        await registers.create(SPECS, TINY)
        bench = registers.bench
        assert await registers.access(map_address(SEALED), 8, 5) == (FaultCause.NONE, 0)
        assert await registers.access(map_address(SEALED), 8) == (FaultCause.NONE, 5)
        # Values of a queue have no addresses for programs.
        await registers.write("operand", 6, 0)
        await registers.write("operand", 0, 1)
        assert await registers.operate(MapCommand.PUSH, QUEUE) == (0, 0)
        assert await registers.access(map_address(QUEUE), 8) == (FaultCause.NONE, 6)
        outside = map_address(QUEUE) + 8 * 4
        assert (await registers.access(outside, 8))[0] is FaultCause.OUT_OF_BOUNDS
        for number, cause in ((SEALED, FaultCause.FORBIDDEN), (QUEUE, FaultCause.OUT_OF_BOUNDS)):
            accesses, results = bench.maps.accesses[0], bench.maps.access_results[0]
            payload = {"map": number, "span": 8, "size": 3, "loads": 1, "atomic_operation": 0}
            bench.ctx.set(accesses.payload, payload)
            bench.ctx.set(accesses.valid, 1)
            await bench.ctx.tick().until(accesses.ready)
            bench.ctx.set(accesses.valid, 0)
            bench.ctx.set(results.ready, 1)
            (result,) = await bench.ctx.tick().sample(results.payload).until(results.valid)
            assert FaultCause(result.cause.value) is cause

    play_registers(scenario, TINY)
