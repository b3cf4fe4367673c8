"""The core against the golden machine: result, cause and count of every event."""

import random

import pytest

from fanweave.golden.ebpf.build import alu, atomic, call, copy, goto, jump, leave, load, mov, store
from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.hw.ebpf import alu as alu_module
from fanweave.sim.benches.ebpf import lockstep
from fanweave.sim.benches.ebpf.random_programs import random_program


def check(batches, threads=8):
    config = EbpfConfig(threads=threads, slots=128, context_bytes=32)
    return lockstep.check(batches, config=config)


@pytest.mark.parametrize("group", range(4))
def test_random_programs_on_all_threads(group):
    generator = random.Random(group)
    batches = []
    for seed in range(group * 100, group * 100 + 25):
        contexts = [generator.randbytes(generator.choice([0, 1, 8, 31, 32])) for _ in range(9)]
        batches.append((random_program(seed), contexts))
    causes = check(batches)
    assert causes >= {FaultCause.NONE, FaultCause.OUT_OF_BOUNDS}


def test_directed_programs():
    a, j = AluOperation, JumpOperation
    recursion = [call(-1), leave()]
    frames = [
        *(mov(6, 5), mov(1, 7), call(3), alu(a.ADD, 0, 6), alu(a.ADD, 0, 9), leave()),
        *(copy(0, 6), alu(a.ADD, 0, 1), mov(6, 99), mov(9, 99), leave()),
    ]
    divisions = [
        *(mov(0, 1000), mov(3, 7)),
        *(alu(a.DIV, 0, 3), alu(a.MOD, 3, imm=4), alu(a.DIV, 0, 3, offset=1)),
        *(alu(a.ADD, 0, 3), alu(a.DIV, 0, 5), leave()),
    ]
    loop = [mov(0, 0), alu(a.ADD, 0, imm=1), jump(j.JNE, 0, -2, imm=30), leave()]
    shared = [load(0, 1), alu(a.ADD, 0, imm=1), store(1, 0), load(0, 1), leave()]
    across = [mov(3, -1), store(10, 3, -13), load(0, 10, -16), leave()]
    programs = [
        *(recursion, frames, divisions, loop, shared, across),
        [goto(-1)],
        [goto(50)],
        [Instruction(0x06, imm=1 << 30)],
        [Instruction(0x85, imm=9999)],
        [mov(0, 3)],
        [store(10, 0, -513), leave()],
        [store(10, 0, -512), leave()],
        [load(0, 1, 24), leave()],
        [load(0, 1, 25), leave()],
    ]
    contexts = [bytes([n] * 32) for n in range(8)]
    causes = check([(Program.of(p, str(n)), contexts) for n, p in enumerate(programs)])
    assert causes >= {
        FaultCause.CALL_DEPTH,
        FaultCause.WATCHDOG,
        FaultCause.END_OF_PROGRAM,
        FaultCause.UNKNOWN_HELPER,
        FaultCause.OUT_OF_BOUNDS,
    }


def test_names_and_addresses_of_maps_have_64_bits():
    programs = [
        [Instruction(0x18, 0, kind, 0, number, high), leave()]
        for kind in (1, 2, 5, 6)
        for number in (0, 3, -1, -(1 << 31), (1 << 31) - 1)
        for high in (0, 8, -1)
    ]
    check([(Program.of(p, str(n)), [b""]) for n, p in enumerate(programs)])


def test_nothing_is_left_of_the_event_before():
    """Each thread handles several; what one stored, the next one must not find."""
    program = [load(0, 10, -8), load(3, 10, -13), alu(AluOperation.XOR, 0, 3), mov(4, -1)]
    program += [store(10, 4, -9, Size.B), store(10, 4, -4, Size.H), load(3, 10, -16)]
    program += [alu(AluOperation.XOR, 0, 3), store(10, 4, -8), store(10, 4, -16), leave()]
    assert check([(Program.of(program), [b""] * 20)], threads=2) == {FaultCause.NONE}


def test_every_atomic_operation():
    programs = []
    for operation in (0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1):
        for size in (Size.W, Size.DW):
            for base, offset in ((10, -8), (1, 8)):
                for r0 in (-2, 0x0F0F):
                    programs.append(
                        [
                            *(mov(0, r0), mov(3, -2), store(base, 3, offset), mov(4, 0x7FF3)),
                            atomic(operation, base, 4, offset, size),
                            *(alu(AluOperation.MUL, 0, imm=31), alu(AluOperation.ADD, 0, 4)),
                            *(load(5, base, offset), alu(AluOperation.MUL, 0, imm=31)),
                            *(alu(AluOperation.ADD, 0, 5), leave()),
                        ]
                    )
    causes = check([(Program.of(p, str(n)), [bytes(16)]) for n, p in enumerate(programs)])
    assert causes == {FaultCause.NONE}


@pytest.mark.parametrize("threads", [2, 4, 16])
def test_other_numbers_of_threads(threads):
    contexts = [bytes([n] * 8) for n in range(threads + 3)]
    check([(random_program(seed), contexts) for seed in range(900, 906)], threads=threads)


def test_a_difference_is_found_and_named(monkeypatch):
    """The multiplier of the core is replaced by an adder."""
    monkeypatch.setattr(alu_module, "AluOperation", SwappedOperations)
    program = Program.of([mov(0, 6), alu(AluOperation.MUL, 0, imm=7), leave()], "product")
    with pytest.raises(
        FaultError, match=r"program 'product', event 0 with .* none: it is Decided\(r0"
    ):
        check([(program, [b""])])


class SwappedOperations:
    """`AluOperation` with two of its values exchanged."""

    def __getattr__(self, name):
        return getattr(AluOperation, {"MUL": "ADD", "ADD": "MUL"}.get(name, name))


SwappedOperations = SwappedOperations()
