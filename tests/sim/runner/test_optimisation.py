"""How hard the compiler works on models."""

import pytest

from fanweave.sim.runner.optimisation import long_runs, optimisation


def test_models_are_built_quickly_but_for_long_runs(monkeypatch):
    monkeypatch.delenv("FANWEAVE_OPTIMISE", raising=False)
    assert optimisation() == "-O1"
    with long_runs():
        assert optimisation() == "-Os"
    assert optimisation() == "-O1"
    with pytest.raises(ZeroDivisionError), long_runs():
        raise ZeroDivisionError
    assert optimisation() == "-O1"


def test_what_the_user_says_counts(monkeypatch):
    monkeypatch.setenv("FANWEAVE_OPTIMISE", "-O3")
    with long_runs():
        assert optimisation() == "-O3"
    assert optimisation() == "-O3"
