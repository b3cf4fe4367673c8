"""Long programs on the Verilated core, and what its run says."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import HOST, RESET_ADDRESS, peripheral_address
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.config import ScalarConfig
from fanweave.sim.benches.core import verilated
from fanweave.sim.benches.core.checker import DifferenceError
from fanweave.sim.benches.core.programs import ScalarProgram, assemble, load_constant
from fanweave.sim.benches.core.random_programs import random_program
from fanweave.sim.benches.core.soak import image_of, play, run_verilated
from fanweave.sim.benches.core.verilated import core_machine, run_core

pytestmark = pytest.mark.verilator
TOHOST = peripheral_address(HOST, "tohost")


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_long_program(pause):
    run, checker = run_verilated(
        random_program(11, 3000), machine=core_machine(ScalarConfig()), seed=3, pause=pause
    )
    assert checker.instructions > 8000
    assert checker.traps > 100
    assert set(run.stalls) >= {"fetch", "load", "operand", "memory", "unit", "redirect"}


def test_a_difference_is_found(monkeypatch):
    """A trace in which one register's value is changed."""
    program = random_program(12, 300)
    original = verilated._result

    def changed(text, memory, trace):
        place = [n for n, row in enumerate(trace) if row[0] == 2][200]
        trace[place, 2] ^= 1
        return original(text, memory, trace)

    monkeypatch.setattr(verilated, "_result", changed)
    with pytest.raises(DifferenceError, match="becomes"):
        run_verilated(program, machine=core_machine(ScalarConfig()))


def test_a_round_of_the_soak_and_an_unknown_preset(monkeypatch):
    monkeypatch.setattr("fanweave.sim.benches.core.soak._PIECES", 300)
    assert play(1).startswith("default: ")
    with pytest.raises(InputError, match="unknown preset 'large' of unit core; choose one of"):
        play(1, config="large")


def run(*words, **options):
    program = ScalarProgram(words=words, data=b"", end=0)
    return run_core(image_of(program), boot=RESET_ADDRESS, limit=1000, **options)


def test_endings():
    passing = (*load_constant(5, TOHOST), assemble("addi", rd=6, rs1=0, imm=1))
    store = assemble("sw", rs2=6, rs1=5, imm=0)
    passed = run(*passing, store, assemble("jal", rd=0, imm=0))
    assert (passed.ending, passed.code) == ("pass", 0)
    failing = (*load_constant(5, TOHOST), assemble("addi", rd=6, rs1=0, imm=7))
    failed = run(*failing, assemble("sw", rs2=6, rs1=5, imm=4), store)
    assert (failed.ending, failed.code, failed.output) == ("fail", 3, b"\7")
    endless = run(assemble("jal", rd=0, imm=0))
    assert (endless.ending, endless.cycles, endless.pc) == ("limit", 1000, RESET_ADDRESS)
    halted = run(assemble("lw", rd=5, rs1=0, imm=2))
    assert (halted.ending, halted.trap) == ("halt", (Cause.LOAD_MISALIGNED, RESET_ADDRESS, 2))


def test_sources_are_all_that_the_core_imports():
    """What the conversion depends on is part of its key."""
    import sys
    from fnmatch import fnmatch
    from pathlib import Path

    import fanweave
    import fanweave.sim.benches.core.bare_core

    root = Path(fanweave.__file__).resolve().parent
    names = [
        name.removeprefix("fanweave.").replace(".", "/")
        for name in sys.modules
        if name.startswith(("fanweave.hw.core", "fanweave.golden.isa.riscv"))
    ]
    files = [f"{name}.py" for name in names if (root / f"{name}.py").exists()]
    assert files
    for file in files:
        assert any(fnmatch(file, pattern) for pattern in verilated.SOURCES), file
