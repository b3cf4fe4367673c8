"""Ventaglio's instructions in random orders on the Verilated core complex."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.hw.vector.config import PRESETS
from fanweave.sim.benches.core.soak import run_verilated
from fanweave.sim.benches.vector import ventaglio_soak
from fanweave.sim.benches.vector.complex_machine import complex_machine
from fanweave.sim.benches.vector.ventaglio_programs import WATCH, ventaglio_program

pytestmark = pytest.mark.verilator
SMALL = PRESETS["small-ventaglio"]


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_random_orders(pause):
    """Registers, accumulators, errors and memory are golden's, and every program ends."""
    run, checker = run_verilated(
        ventaglio_program(21, SMALL, 1200),
        machine=complex_machine(SMALL),
        golden=SMALL.golden,
        seed=4,
        pause=pause,
        watch=(WATCH, 4 * SMALL.vlen),
    )
    completed = checker.completed
    assert completed["vfxmacc.vrf"] + completed["vfxmul.vrf"] > 1000
    assert completed["vventclr"] > 20
    assert completed["vse32.v"] > 100
    assert checker.traps > 10
    assert run.cycles < 200_000


def test_presets_without_ventaglio_are_refused():
    with pytest.raises(InputError, match="preset small has no Ventaglio unit"):
        ventaglio_soak.play(seed=1, config="small")
