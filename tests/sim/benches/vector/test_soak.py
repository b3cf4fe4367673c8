"""Random programs on the core complex in Verilator, and programs that it does wrongly."""

import random
from dataclasses import replace

import pytest

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.riscv import kind_of
from fanweave.hw.vector.config import PRESETS
from fanweave.sim.benches.core.soak import run_verilated
from fanweave.sim.benches.vector import soak
from fanweave.sim.benches.vector.complex_machine import complex_machine
from fanweave.sim.benches.vector.random_programs import ROWS, WATCH, vector_program

pytestmark = pytest.mark.verilator


def test_random_programs(monkeypatch):
    monkeypatch.setattr(soak, "_PIECES", 400)
    line = soak.play(seed=1, config="small-ventaglio")
    assert line.startswith("small-ventaglio: ")
    vectors = int(line.split(" instructions, ")[1].split()[0])
    assert vectors > 300


def test_a_difference_is_found():
    """Golden of another length of registers does other things."""
    config = PRESETS["small-ventaglio"]
    with pytest.raises(FaultError):
        run_verilated(
            vector_program(5, config, 100),
            machine=complex_machine(config),
            golden=replace(config.golden, vlen=2 * config.vlen),
            seed=1,
            pause=0.0,
            watch=(WATCH, 4 * config.vlen),
        )


def test_programs_have_every_row():
    """In the words of some programs, each instruction of the table is there."""
    generator = random.Random(2)
    missing = {row.name for row in ROWS}
    for _ in range(12):
        program = vector_program(generator.getrandbits(48), PRESETS["small-ventaglio"], 1000)
        words = {kind_of(word) for word in program.words}
        missing -= {kind.name for kind in words if kind is not None}
        if not missing:
            break
    assert not missing
