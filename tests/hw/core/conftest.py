"""Small programs on the core in lock-step with golden's."""

import pytest

from fanweave.golden.isa.cluster import RESET_ADDRESS
from fanweave.sim.benches.core.lockstep import run_lockstep
from fanweave.sim.benches.core.programs import (
    DATA_BASE,
    ScalarProgram,
    assemble,
    csr_access,
    load_constant,
)

#: x3 points to where results go, x4 to where traps are noted.
RESULTS, NOTES = DATA_BASE + 0x800, DATA_BASE + 0xC00


class Builder:
    """Appends instructions; traps are noted as mcause, mepc, mtval, and stepped over."""

    def __init__(self):
        handler = [
            csr_access("csrrw", "mscratch", 31, 31),
            *(
                word
                for place, name in enumerate(("mcause", "mepc", "mtval"))
                for word in (
                    csr_access("csrrs", name, 31, 0),
                    assemble("sw", rs2=31, rs1=4, imm=4 * place),
                )
            ),
            assemble("addi", rd=4, rs1=4, imm=12),
            csr_access("csrrs", "mepc", 31, 0),
            assemble("addi", rd=31, rs1=31, imm=4),
            csr_access("csrrw", "mepc", 0, 31),
            csr_access("csrrw", "mscratch", 31, 31),
            assemble("mret"),
        ]
        self.words = [assemble("jal", rd=0, imm=4 * len(handler) + 4), *handler]
        self.constant(31, RESET_ADDRESS + 4)
        self.words += [csr_access("csrrw", "mtvec", 0, 31)]
        self.constant(31, 0x2000)
        self.words += [csr_access("csrrs", "mstatus", 0, 31)]
        self.constant(3, RESULTS)
        self.constant(4, NOTES)
        self.results = 0

    @property
    def address(self):
        return RESET_ADDRESS + 4 * len(self.words)

    def constant(self, register, value):
        self.words += load_constant(register, value)

    def number(self, register, value):
        """A floating-point register."""
        self.constant(31, value)
        self.op("fmv.w.x", fd=register, rs1=31)

    def op(self, name, **fields):
        self.words.append(assemble(name, **fields))

    def csr(self, name, csr, rd=0, rs1=0):
        self.words.append(csr_access(name, csr, rd, rs1))

    def result(self, register):
        """Store a register as the next result."""
        self.op("sw", rs2=register, rs1=3, imm=4 * (self.results % 512))
        self.results += 1
        if self.results % 512 == 0:
            raise ValueError("too many results")

    def program(self, data=b""):
        return ScalarProgram(
            words=(*self.words, assemble("jal", rd=0, imm=0)), data=data, end=self.address
        )

    def run(self, data=b"", **options):
        return run_lockstep(self.program(data), **options)

    def stored(self, outcome):
        """The results in the core's memory."""
        return [outcome.memory.load(RESULTS + 4 * n, 4) for n in range(self.results)]


def notes(outcome):
    """Traps in their order: cause, pc, value."""
    found = []
    for number in range(outcome.traps):
        at = NOTES + 12 * number
        found.append(tuple(outcome.memory.load(at + 4 * place, 4) for place in range(3)))
    return found


@pytest.fixture
def builder():
    return Builder()


@pytest.fixture
def trap_notes():
    return notes
