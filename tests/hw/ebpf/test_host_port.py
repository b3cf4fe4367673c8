"""The host's port at its bus, with a map unit and a program store: what registers do and refuse."""

import random

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.config import PRESETS, EbpfConfig
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.maps import MapSpec, hash_key
from fanweave.golden.isa.ebpf import encode_program
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET, FaultCause, map_address
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.golden.isa.ebpf_registers import (
    COUNTERS,
    LIMITS,
    MAGIC,
    REGISTERS,
    byte_address,
    register,
)
from fanweave.sim.benches.ebpf.host_bench import play_host

TINY = PRESETS["tiny"]
OKAY, REFUSED = 0, 2
SPECS = (
    MapSpec(name="array", kind=MapType.ARRAY, key_size=4, value_size=20, max_entries=4),
    MapSpec(name="hash", kind=MapType.HASH, key_size=7, value_size=40, max_entries=8),
    MapSpec(
        name="sealed",
        kind=MapType.ARRAY,
        key_size=4,
        value_size=8,
        max_entries=2,
        flags=MapFlag.RDONLY_PROG | MapFlag.WRONLY_PROG,
    ),
    MapSpec(name="queue", kind=MapType.QUEUE, key_size=0, value_size=8, max_entries=4),
    MapSpec(name="long", kind=MapType.ARRAY, key_size=4, value_size=100, max_entries=1),
)


class Registers:
    """Registers by their names."""

    def __init__(self, bench):
        self.bench = bench

    async def put(self, name, value=0, word=0, **fields):
        packed = register(name).pack(**fields) if fields else value
        return await self.bench.put(byte_address(name, word), packed)

    async def write(self, name, value=0, word=0, **fields):
        assert await self.put(name, value, word, **fields) == OKAY, name

    async def read(self, name, word=0):
        response, value = await self.bench.get(byte_address(name, word))
        assert response == OKAY, name
        return value

    async def status(self, name):
        value = await self.read(name)
        return {field.name: field.extract(value) for field in register(name).fields}

    async def wait(self, name):
        for _ in range(200):
            status = await self.status(name)
            if not status["busy"]:
                return status
        raise AssertionError(f"{name} stays busy")

    async def write_key(self, key):
        for at in range(0, len(key), 4):
            await self.write("operation_key", int.from_bytes(key[at : at + 4], "little"), at // 4)

    async def operate(self, command, number, key=b"", **fields):
        await self.write_key(key)
        await self.write("operation", command=command, map=number, **fields)
        status = await self.wait("operation_status")
        low, high = [await self.read("operation_result", word) for word in (0, 1)]
        return status["found"], high << 32 | low

    async def access(self, address, count, data=None):
        await self.write("access_address", address)
        if data is not None:
            for word in (0, 1):
                await self.write("access_data", data >> 32 * word & 0xFFFF_FFFF, word)
        await self.write("access", bytes=count, stores=int(data is not None))
        status = await self.wait("access_status")
        low, high = [await self.read("access_result", word) for word in (0, 1)]
        return FaultCause(status["cause"]), high << 32 | low

    async def create(self, specs, config=TINY):
        for number, place in enumerate(lay_out(specs, config)):
            for word in range(8):
                await self.write("descriptor", place.descriptor >> 32 * word & 0xFFFF_FFFF, word)
            await self.write("descriptor_map", map=number)
            await self.write("operation_length", 8 * place.value_words)
            await self.operate(MapCommand.CREATE, number)

    async def load(self, image, base, words):
        await self.write("program_slot", base)
        for word in words:
            await self.write("program_low", word & 0xFFFF_FFFF)
            await self.write("program_high", word >> 32)
        await self.write("commit_base", base)
        await self.write("commit_length", len(words))
        await self.write("commit", image=image)
        status = await self.wait("commit_status")
        return LoadFault(status["fault"]), status["slot"]


def play(scenario, config=TINY, *others, stall=0):
    async def run(bench):
        await scenario(Registers(bench))

    play_host(run, config, *others, stall=stall)


def words_of(*program):
    code = encode_program(list(program))
    return [int.from_bytes(code[at : at + 8], "little") for at in range(0, len(code), 8)]


@pytest.mark.parametrize("config", [TINY, EbpfConfig(engines=3, returns_context=True)])
def test_identification_and_reset_values(config):
    async def scenario(registers):
        assert await registers.read("magic") == MAGIC == 0x65425046
        assert await registers.read("version") == 0x0001_0000
        for name, _ in LIMITS:
            assert await registers.read(f"limit_{name}") == getattr(config, name), name
        assert await registers.read("budget") == DEFAULT_BUDGET
        for entry in REGISTERS:
            if entry.access == "rw" and entry.name != "budget":
                assert await registers.read(entry.name) == 0, entry.name

    play(scenario, config)


def test_registers_hold_what_their_fields_can():
    async def scenario(registers):
        for entry in REGISTERS:
            if entry.access != "rw" or entry.name == "default_verdict":
                continue
            await registers.write(entry.name, 0xFFFF_FFFF)
            bits = sum((1 << field.width) - 1 << field.low for field in entry.fields)
            assert await registers.read(entry.name) == bits, entry.name

    play(scenario)


def test_every_other_transfer_is_refused_and_changes_nothing():
    words = {"operation_key": 4, "operand": 16, "read_back": 16}
    written, read = set(), set()
    for entry in REGISTERS:
        addresses = {entry.address + w for w in range(words.get(entry.name, entry.words))}
        written |= addresses if entry.access != "ro" else set()
        read |= addresses if entry.access != "wo" else set()

    async def scenario(registers):
        bench = registers.bench
        before = {word: (await bench.get(4 * word))[1] for word in sorted(read)}
        for word in {*range(0x110), *range(0x3F0, 0x420), *range(0x7F0, 0x820), 0xFFF}:
            if word not in written:
                assert await bench.put(4 * word, 0xFFFF_FFFF) == REFUSED, hex(word)
            elif word < 0x400:
                for strobes in (0, 1, 7, 0xE):
                    assert await bench.put(4 * word, 1, strobes=strobes) == REFUSED
            if word not in read:
                assert await bench.get(4 * word) == (REFUSED, 0), hex(word)
        assert before == {word: (await bench.get(4 * word))[1] for word in sorted(read)}

    play(scenario)


def test_budget_and_default_verdict_reach_the_engine_whole():
    async def scenario(registers):
        bench = registers.bench
        await registers.write("budget", 77)
        assert bench.ctx.get(bench.port.budget) == 77
        await registers.write("default_verdict", 0x1111_1111, 0)
        assert bench.ctx.get(bench.port.default_verdict) == 0
        await registers.write("default_verdict", 0x2222_2222, 1)
        assert bench.ctx.get(bench.port.default_verdict) == 0x2222_2222_1111_1111
        await registers.write("default_verdict", 0x3333_3333, 0)
        assert bench.ctx.get(bench.port.default_verdict) == 0x2222_2222_1111_1111
        assert await registers.read("default_verdict", 0) == 0x1111_1111
        assert await registers.read("default_verdict", 1) == 0x2222_2222

    play(scenario)


@pytest.mark.parametrize("stall", [0, 200])
def test_programs_are_written_committed_bound_and_released(stall):
    async def scenario(registers):
        bench, store = registers.bench, registers.bench.store
        program = words_of(mov(0, 7), leave())
        assert await registers.load(1, 6, program) == (LoadFault.NONE, 0)
        assert await registers.read("program_slot") == 8
        await registers.write("bind", program=2, image=1, valid=1)
        assert (await registers.wait("bind_status"))["refused"] == 0
        bench.ctx.set(store.event_program, 2)
        assert bench.ctx.get(store.event_valid)
        assert (bench.ctx.get(store.event_image), bench.ctx.get(store.event_base)) == (1, 6)
        bench.ctx.set(store.fetch_slot, 6)
        await bench.ctx.tick()
        assert bench.ctx.get(store.fetch_word) == program[0]
        # A word for an image's slot is dropped, and the next ones are not to blame.
        await registers.write("program_slot", 7)
        await registers.write("program_high", 1)
        await registers.write("program_high", 1)
        assert (await registers.wait("program_status"))["refused"] == 1
        await registers.write("program_slot", 9)
        assert (await registers.wait("program_status"))["refused"] == 0
        await registers.write("release", image=1)
        assert (await registers.wait("release_status"))["refused"] == 1
        await registers.write("bind", program=2, image=1, valid=0)
        assert (await registers.wait("bind_status"))["refused"] == 0
        assert not bench.ctx.get(store.event_valid)
        bench.ctx.set(store.in_use, 2)
        await registers.write("release", image=1)
        assert (await registers.wait("release_status"))["refused"] == 1
        bench.ctx.set(store.in_use, 0)
        await registers.write("release", image=1)
        assert (await registers.wait("release_status"))["refused"] == 0
        await registers.write("bind", program=2, image=1, valid=1)
        assert (await registers.wait("bind_status"))["refused"] == 1

    play(scenario, stall=stall)


def test_what_is_wrong_with_a_program_is_said():
    async def scenario(registers):
        bad = words_of(mov(0, 0), mov(0, 1), leave())
        bad[1] |= 0xFF
        assert await registers.load(0, 0, bad) == (LoadFault.ILLEGAL_INSTRUCTION, 1)
        assert await registers.load(9, 0, words_of(leave())) == (LoadFault.NO_IMAGE, 0)
        assert await registers.load(0, 0, words_of(mov(0, 0), leave())) == (LoadFault.NONE, 0)
        assert await registers.load(0, 8, words_of(leave())) == (LoadFault.COMMITTED, 0)

    play(scenario)


def test_a_commit_that_goes_on_keeps_others_out():
    async def scenario(registers):
        await registers.write("commit_length", 60)
        await registers.write("commit", image=0)
        assert (await registers.status("commit_status"))["busy"] == 1
        assert await registers.put("commit", image=1) == REFUSED
        status = await registers.wait("commit_status")
        # Slots that were never written are no instructions.
        assert status["fault"] == LoadFault.ILLEGAL_INSTRUCTION

    play(scenario)


@pytest.mark.parametrize("stall", [0, 200])
def test_operations_on_a_hash_map(stall):
    async def scenario(registers):
        await registers.create(SPECS)
        value = bytes(range(40))
        for at in range(0, 40, 4):
            await registers.write("operand", int.from_bytes(value[at : at + 4], "little"), at // 4)
        key = bytes(range(1, 8))
        # What is behind the key's end in its last word does not count.
        assert await registers.operate(MapCommand.UPDATE, 1, key + b"\xaa") == (0, 0)
        assert await registers.operate(MapCommand.UPDATE, 1, key, flags=1) == (0, 2**64 - 17)
        address = map_address(1)
        assert await registers.operate(MapCommand.READ, 1, key + b"\xbb") == (1, address)
        assert await registers.access(address + 3, 8) == (
            FaultCause.NONE,
            int.from_bytes(value[3:11], "little"),
        )
        await registers.write("operation_place", 0)
        found, _ = await registers.operate(MapCommand.KEY, 1)
        row = b"".join(
            [(await registers.read("read_back", word)).to_bytes(4, "little") for word in (0, 1)]
        )
        assert (found, row) == (1, key + b"\0")
        await registers.write("operation_place", 1)
        assert (await registers.operate(MapCommand.KEY, 1))[0] == 0
        assert await registers.operate(MapCommand.DELETE, 1, key) == (0, 0)
        assert await registers.operate(MapCommand.READ, 1, key) == (0, 0)

    play(scenario, stall=stall)


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
        await registers.create([spec])
        await registers.write_key(bytes([0xFF] * 16))
        await registers.operate(MapCommand.READ, 0, key)

    play(scenario, TINY, watch)
    assert set(seen) == {(hash_key(key), key)}


def test_operations_that_a_host_may_not_ask_for():
    async def scenario(registers):
        await registers.create(SPECS)
        allowed = {"command": MapCommand.READ, "map": 0}
        for fields in (
            {"map": 5},  # never described
            {"map": 255},
            {"engine": 1},
            {"command": MapCommand.PUSH},
            {"command": MapCommand.READ, "map": 3},
            {"command": MapCommand.UPDATE, "map": 4},  # longer than the operands
            {"command": MapCommand.RESERVE, "map": 3},
        ):
            assert await registers.put("operation", **{**allowed, **fields}) == REFUSED, fields
            assert (await registers.status("operation_status"))["busy"] == 0
        await registers.write("operation_place", 8)  # there are slots 0 to 7
        assert await registers.put("operation", command=MapCommand.KEY, map=1) == REFUSED
        await registers.write("operation_place", 7)
        assert await registers.put("operation", command=MapCommand.KEY, map=1) == OKAY
        await registers.wait("operation_status")
        assert await registers.put("operation", **allowed) == OKAY

    play(scenario)


def test_an_operation_keeps_its_registers():
    async def scenario(registers):
        await registers.create(SPECS)
        bench = registers.bench
        # One that lasts: all values of a map become zero.
        await registers.write("operation_length", 4096)
        await registers.write("operation", command=MapCommand.CREATE, map=4)
        for name in ("operation", "operation_key", "operation_length", "operation_place"):
            assert await registers.put(name, 1) == REFUSED, name
        assert await registers.put("operand", 1) == REFUSED
        assert (await registers.status("operation_status"))["busy"] == 1
        assert await registers.put("budget", 1) == OKAY
        await registers.wait("operation_status")
        assert bench.ctx.get(bench.port.operations.valid) == 0
        assert await registers.read("operation_length") == 4096

    play(scenario)


def test_descriptors_that_cannot_be():
    async def scenario(registers):
        await registers.write("descriptor", 9 << 8 | 1 << 5 | MapType.HASH, 0)
        assert await registers.put("descriptor_map", map=8) == REFUSED
        assert await registers.put("descriptor_map", map=7) == OKAY
        await registers.write("descriptor", 17 << 8 | 1 << 5 | MapType.HASH, 0)
        assert await registers.put("descriptor_map", map=7) == REFUSED

    play(scenario)


@pytest.mark.parametrize("count", range(1, 9))
def test_loads_and_stores_of_every_size(count):
    async def scenario(registers):
        await registers.create(SPECS)
        generator = random.Random(count)
        value = bytearray(20)
        base = map_address(0) + 24
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
        outside = (FaultCause.OUT_OF_BOUNDS, 0)
        assert await registers.access(base + 21 - count, count) == outside
        cause, _ = await registers.access(base + 21 - count, count, (1 << 64) - 1)
        assert cause is FaultCause.OUT_OF_BOUNDS
        assert await registers.access(base + 19, 1) == (FaultCause.NONE, value[19])

    play(scenario)


def test_accesses_that_are_none_are_refused():
    async def scenario(registers):
        await registers.create(SPECS)
        for address, count in (
            (map_address(0), 0),
            (map_address(0), 9),
            (0, 1),
            (0x8000_0000, 1),
            (0xC000_0000, 8),
        ):
            await registers.write("access_address", address)
            assert await registers.put("access", bytes=count) == REFUSED, (address, count)
        assert (await registers.status("access_status"))["busy"] == 0

    play(scenario)


def test_flags_about_programs_do_not_bind_a_host():
    async def scenario(registers):
        await registers.create(SPECS)
        bench = registers.bench
        assert await registers.access(map_address(2), 8, 5) == (FaultCause.NONE, 0)
        assert await registers.access(map_address(2), 8) == (FaultCause.NONE, 5)
        # Values of a queue have no addresses for programs.
        await registers.write("operand", 6, 0)
        await registers.write("operand", 0, 1)
        assert await registers.operate(MapCommand.PUSH, 3) == (0, 0)
        assert await registers.access(map_address(3), 8) == (FaultCause.NONE, 6)
        outside = map_address(3) + 8 * 4
        assert (await registers.access(outside, 8))[0] is FaultCause.OUT_OF_BOUNDS
        for number, cause in ((2, FaultCause.FORBIDDEN), (3, FaultCause.OUT_OF_BOUNDS)):
            accesses, results = bench.maps.accesses[0], bench.maps.access_results[0]
            payload = {"map": number, "span": 8, "size": 3, "loads": 1, "atomic_operation": 0}
            bench.ctx.set(accesses.payload, payload)
            bench.ctx.set(accesses.valid, 1)
            await bench.ctx.tick().until(accesses.ready)
            bench.ctx.set(accesses.valid, 0)
            bench.ctx.set(results.ready, 1)
            (result,) = await bench.ctx.tick().sample(results.payload).until(results.valid)
            assert FaultCause(result.cause.value) is cause

    play(scenario)


def test_counters_count_all_engines():
    config = EbpfConfig(engines=3)
    generator = random.Random(5)
    expected = dict.fromkeys((name for name, _ in COUNTERS), 0)

    async def scenario(registers):
        ctx, port = registers.bench.ctx, registers.bench.port
        for _ in range(300):
            for engine in range(3):
                happens = [generator.randrange(2) for _ in range(3)]
                cause = generator.choice(list(FaultCause))
                ctx.set(port.event_taken[engine], happens[0])
                ctx.set(port.instructions[engine], happens[1])
                ctx.set(port.verdict_valid[engine], happens[2])
                ctx.set(port.verdict_cause[engine], cause.value)
                expected["events"] += happens[0]
                expected["instructions"] += happens[1]
                expected[f"verdicts_{cause.name.lower()}"] += happens[2]
            await ctx.tick()
        for engine in range(3):
            for name in ("event_taken", "instructions", "verdict_valid"):
                ctx.set(getattr(port, name)[engine], 0)
        for name, count in expected.items():
            assert await registers.read(f"counter_{name}", 0) == count, name
            assert await registers.read(f"counter_{name}", 1) == 0

    play(scenario, config)


def test_halves_of_a_counter_belong_together():
    from amaranth.hdl import Module
    from amaranth.sim import Simulator

    from fanweave.hw.ebpf.host_counters import HostCounters

    dut = HostCounters(engines=1)
    top = Module()
    top.submodules.dut = dut
    simulator = Simulator(top)
    simulator.add_clock(1e-6)

    async def bench(ctx):
        counter = dut.counters["events"]
        ctx.set(counter, 0x1_FFFF_FFFF)
        ctx.set(dut.word, 0)
        ctx.set(dut.read, 1)
        assert ctx.get(dut.data) == 0xFFFF_FFFF
        await ctx.tick()
        ctx.set(dut.read, 0)
        ctx.set(dut.event_taken[0], 1)
        await ctx.tick().repeat(3)
        assert ctx.get(counter) > 0x2_0000_0000 - 1
        ctx.set(dut.word, 1)
        ctx.set(dut.read, 1)
        for _ in range(2):  # reading it changes nothing
            assert ctx.get(dut.data) == 1
            await ctx.tick()
        ctx.set(dut.word, 0)
        await ctx.tick()
        ctx.set(dut.read, 0)
        ctx.set(dut.word, 1)
        assert ctx.get(dut.data) == 2

    simulator.add_testbench(bench)
    simulator.run()
