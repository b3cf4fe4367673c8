"""Registers of programs, with a program store: what they do and refuse."""

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.isa.ebpf import encode_program
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.sim.benches.ebpf.host_registers import play_registers

TINY = PRESETS["tiny"]
REFUSED = 2


def words_of(*program):
    code = encode_program(list(program))
    return [int.from_bytes(code[at : at + 8], "little") for at in range(0, len(code), 8)]


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

    play_registers(scenario, TINY, stall=stall)


def test_what_is_wrong_with_a_program_is_said():
    async def scenario(registers):
        bad = words_of(mov(0, 0), mov(0, 1), leave())
        bad[1] |= 0xFF
        assert await registers.load(0, 0, bad) == (LoadFault.ILLEGAL_INSTRUCTION, 1)
        assert await registers.load(9, 0, words_of(leave())) == (LoadFault.NO_IMAGE, 0)
        assert await registers.load(0, 0, words_of(mov(0, 0), leave())) == (LoadFault.NONE, 0)
        assert await registers.load(0, 8, words_of(leave())) == (LoadFault.COMMITTED, 0)

    play_registers(scenario, TINY)


def test_a_commit_that_goes_on_keeps_others_out():
    async def scenario(registers):
        await registers.write("commit_length", 60)
        await registers.write("commit", image=0)
        assert (await registers.status("commit_status"))["busy"] == 1
        assert await registers.put("commit", image=1) == REFUSED
        status = await registers.wait("commit_status")
        # Slots that were never written are no instructions.
        assert status["fault"] == LoadFault.ILLEGAL_INSTRUCTION

    play_registers(scenario, TINY)
