"""Random programs on the core and on golden's; and faults that this must find."""

import pytest

from fanweave.hw.core.alu import Alu
from fanweave.hw.core.atomic import Atomic
from fanweave.hw.core.config import PRESETS
from fanweave.hw.core.registers import Scoreboard
from fanweave.hw.core.traps import Traps
from fanweave.hw.fp.float_round import FloatRounder
from fanweave.sim.benches.core.checker import DifferenceError
from fanweave.sim.benches.core.lockstep import run_lockstep
from fanweave.sim.benches.core.random_programs import random_program


@pytest.mark.parametrize(("seed", "pause"), [(1, 0.0), (2, 0.2), (3, 0.5)])
@pytest.mark.parametrize("preset", PRESETS)
def test_random_programs(preset, seed, pause):
    result = run_lockstep(random_program(seed, 250), seed=seed, pause=pause, config=PRESETS[preset])
    assert result.instructions > 400
    assert result.traps > 5


def _flip(broken, signal):
    """An elaborate that drives an inverted copy of one output's lowest bit."""
    original = broken.elaborate

    def elaborate(self, platform):
        m = original(self, platform)
        output = getattr(self, signal)
        m.d.comb += output[0].eq(0)
        return m

    return elaborate


@pytest.mark.parametrize(
    ("broken", "signal"),
    [
        (Alu, "result"),
        (FloatRounder, "bits"),
        (FloatRounder, "flags"),
        (Atomic, "result"),
        (Traps, "value"),
        (Traps, "cause"),
    ],
)
def test_breaks_are_found(monkeypatch, broken, signal):
    monkeypatch.setattr(broken, "elaborate", _flip(broken, signal))
    with pytest.raises(DifferenceError):
        run_lockstep(random_program(4, 250), seed=4)


def test_operands_that_are_not_awaited_are_found(monkeypatch):
    original = Scoreboard.elaborate

    def elaborate(self, platform):
        m = original(self, platform)
        m.d.comb += self.pending[0].eq(0)
        return m

    monkeypatch.setattr(Scoreboard, "elaborate", elaborate)
    with pytest.raises(DifferenceError):
        run_lockstep(random_program(5, 250), seed=5)


def test_programs_repeat():
    assert random_program(7) == random_program(7)
    assert random_program(7) != random_program(8)
