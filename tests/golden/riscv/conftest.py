"""A hart with a few instructions in front of it."""

import numpy as np
import pytest

from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.riscv.hart import Hart
from fanweave.golden.riscv.memory import Memory

CODE = 0x80000000


def encode(name, **fields):
    """An instruction; vm is 1 and rm dynamic unless given."""
    kind = INSTRUCTION_BY_NAME[name]
    defaults = {"vm": 1, "rm": 7, "aq": 0, "rl": 0}
    values = {key: fields.get(key, defaults.get(key)) for key in kind.fields}
    return kind.encode(**values)


class Bench:
    """A hart and helpers to run single instructions on it."""

    def __init__(self, **config):
        self.memory = Memory()
        self.hart = Hart(self.memory, config=CoreConfig(**config))
        self.hart.csrs.write("mstatus", 0x6600)

    def run(self, name, **fields):
        """Execute one instruction; returns the trap that it raised, or None."""
        return self.run_word(encode(name, **fields))

    def run_word(self, word):
        hart = self.hart
        hart.pc = CODE
        hart.unhandled = None
        hart.forget_code()
        self.memory.store(CODE, 4, word)
        hart.step()
        return hart.unhandled

    def set_vector(self, sew, lmul8=8, vl=None, tail=0, mask=0):
        """Set vtype and vl; returns VLMAX."""
        code = {1: 5, 2: 6, 4: 7, 8: 0, 16: 1, 32: 2, 64: 3}[lmul8]
        vector = self.hart.vector
        vlmax = vector.set_vtype(mask << 7 | tail << 6 | (sew // 8).bit_length() - 1 << 3 | code)
        vector.vl = vlmax if vl is None else vl
        vector.vstart = 0
        return vlmax

    def fill(self, generator):
        """Random vector registers."""
        registers = self.hart.vector.bytes
        registers[:] = np.frombuffer(generator.randbytes(registers.shape[0]), np.uint8)


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def make_bench():
    """A bench with another configuration of the core."""
    return Bench
