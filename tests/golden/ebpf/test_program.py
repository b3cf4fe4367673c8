"""What 64-bit immediate loads stand for."""

from fanweave.golden.ebpf.build import leave, wide
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import Instruction


def loaded(instruction):
    return Machine().run(Program.of([instruction, leave()])).r0


def test_kinds_of_wide_loads():
    assert loaded(wide(0, (1 << 64) - 2)) == (1 << 64) - 2
    assert loaded(Instruction(0x18, 0, 1, 0, 3)) == 0x8000_0003
    assert loaded(Instruction(0x18, 0, 2, 0, 3, 8)) == 0x4000_0008 + 3 * (1 << 22)


def test_a_map_that_cannot_be_still_gives_64_bits():
    """No loader lets it pass, but no register may hold more than it can."""
    assert loaded(Instruction(0x18, 0, 2, 0, -1)) == 0x4000_0000 - (1 << 22)
    least = Instruction(0x18, 0, 2, 0, -(1 << 31))
    assert loaded(least) == (0x4000_0000 - (1 << 53)) % (1 << 64)
