"""One loop from right costs and one from wrong ones, in the cycle models."""

from dataclasses import replace

import pytest

from fanweave.golden.loop.description import find_loop
from fanweave.sim.loop.run import run_loop
from fanweave.sim.loop.table import MeasuredTable


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """A folder of measurements that all loops share."""
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="session")
def closed(measured):
    """Runs the shipped loop in the models; the same start is run once."""
    known = {}

    def run(start="platform", **changed):
        key = (start, *sorted(changed.items()))
        if key not in known:
            loop = replace(find_loop("smollm2-sparse"), measure="model", **changed)
            table = MeasuredTable(measured)
            known[key] = run_loop(loop, start=start, table=table, folder=measured / "runs")
        return known[key]

    return run
