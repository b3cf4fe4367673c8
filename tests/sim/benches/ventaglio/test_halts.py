from dataclasses import replace

import pytest

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ventaglio import ErrorCause
from fanweave.golden.ventaglio.config import PRESETS
from fanweave.golden.ventaglio.model import Ventaglio
from fanweave.sim.benches.ventaglio import halts
from fanweave.sim.benches.ventaglio.run import MemoryModel, Stalls

CONFIG = PRESETS["tiny"]


def cause_of(seed):
    workload, _ = halts.halting_workload(CONFIG, seed=seed)
    unit = Ventaglio(CONFIG, workload.image, workload.activations)
    unit.write_all(workload.commands.tolist())
    return unit.error.cause


def test_seeds_meet_every_error_that_halts():
    causes = [cause_of(seed) for seed in range(40)]
    assert set(causes) >= {ErrorCause.LENGTH, ErrorCause.TIMEOUT, ErrorCause.NONE}
    assert cause_of(5) is causes[5]


@pytest.mark.verilator
def test_a_halt_is_the_same_and_a_difference_is_told(tmp_path, monkeypatch):
    seed = next(n for n in range(40) if cause_of(n) is ErrorCause.LENGTH)
    surroundings = {"folder": tmp_path, "memory": MemoryModel(), "stalls": Stalls()}
    assert halts.check_halt(CONFIG, seed=seed, **surroundings) is ErrorCause.LENGTH

    honest = halts._error_of
    monkeypatch.setattr(
        halts, "_error_of", lambda outcome: replace(honest(outcome), row=honest(outcome).row + 1)
    )
    with pytest.raises(FaultError, match=f"programs of seed {seed} .* instead of ErrorState"):
        halts.check_halt(CONFIG, seed=seed, **surroundings)
