"""How hard the compiler works on models."""

import pytest

from fanweave.sim.runner.optimisation import expect_long_runs, optimisation


@pytest.fixture
def unset(monkeypatch):
    # Set first, so that whatever a test sets is taken back.
    monkeypatch.setenv("FANWEAVE_OPTIMISE", "")
    monkeypatch.delenv("FANWEAVE_OPTIMISE")


@pytest.mark.usefixtures("unset")
def test_models_are_built_quickly_until_long_runs_are_expected():
    assert optimisation() == "-O1"
    expect_long_runs()
    assert optimisation() == "-Os"


def test_what_the_user_says_counts(monkeypatch):
    monkeypatch.setenv("FANWEAVE_OPTIMISE", "-O3")
    expect_long_runs()
    assert optimisation() == "-O3"
