"""The host's port at its bus: which transfers it takes and refuses."""

import pytest

from fanweave.golden.ebpf.config import PRESETS, EbpfConfig
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.golden.isa.ebpf_registers import LIMITS, MAGIC, REGISTERS
from fanweave.sim.benches.ebpf.host_registers import play_registers

TINY = PRESETS["tiny"]
REFUSED = 2


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

    play_registers(scenario, config)


def test_registers_hold_what_their_fields_can():
    async def scenario(registers):
        for entry in REGISTERS:
            if entry.access != "rw" or entry.name == "default_verdict":
                continue
            await registers.write(entry.name, 0xFFFF_FFFF)
            bits = sum((1 << field.width) - 1 << field.low for field in entry.fields)
            assert await registers.read(entry.name) == bits, entry.name

    play_registers(scenario, TINY)


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

    play_registers(scenario, TINY)


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

    play_registers(scenario, TINY)
