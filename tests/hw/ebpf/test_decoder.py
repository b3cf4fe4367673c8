"""The decoder and the table agree on what exists, for every opcode and many fields."""

import itertools

from amaranth.lib import data
from amaranth.sim import Simulator

from fanweave.golden.ebpf.program import wide_value
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import CallKind, Instruction
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.hw.ebpf.decoder import Controls, Decoder

#: Fields of which an instruction has one.
KINDS = [name for name, _ in data.Layout.cast(Controls) if name.startswith("is_")]
FIELDS = [
    *itertools.product((0, 3, 10, 11), (0, 1, 2, 10, 15), (0, 1, 8, 32), (0, 1, 16, 64)),
    *((1, src, off, 0) for src in range(16) for off in (0, 2, 16, -1)),
    *((1, src, -8, imm) for src in (2, 10) for imm in (0x40, 0x41, 0x51, 0xA0, 0xE0, 0xE1, 0xF1)),
]


def exists(instruction):
    """What the machine executes; the table knows kinds that only an operating system has."""
    if fault_of(instruction) is not None:
        return False
    if instruction.is_wide:
        try:
            wide_value(instruction)
        except InputError:
            return False
    return instruction.opcode != 0x85 or instruction.src != CallKind.BTF


def test_every_encoding():
    dut = Decoder()
    simulator = Simulator(dut)
    known = set()

    async def bench(ctx):
        for opcode in range(256):
            ctx.set(dut.word.opcode, opcode)
            for dst, src, offset, imm in FIELDS:
                ctx.set(dut.word.dst, dst)
                ctx.set(dut.word.src, src)
                ctx.set(dut.word.offset, offset & 0xFFFF)
                ctx.set(dut.word.imm, imm & 0xFFFFFFFF)
                instruction = Instruction(opcode, dst, src, offset, imm)
                controls = ctx.get(dut.controls)
                assert controls.legal == exists(instruction), instruction
                if controls.legal:
                    known.add(opcode)
                    kinds = [controls[name] for name in KINDS]
                    assert sum(kinds) == 1, instruction

    simulator.add_testbench(bench)
    simulator.run()
    assert len(known) == 119
