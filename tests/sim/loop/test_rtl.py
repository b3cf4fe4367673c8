"""The loop's measurements in RTL: what the models say, to the cycle."""

from dataclasses import replace

import pytest

from fanweave.golden.loop.description import find_loop
from fanweave.sim.loop.run import run_loop
from fanweave.sim.loop.table import MeasuredTable


@pytest.mark.verilator
def test_rtl_counts_what_the_models_say(closed, tmp_path):
    loop = replace(find_loop("smollm2-sparse"), rounds=1)
    table = MeasuredTable(tmp_path / "measured")
    outcome = run_loop(loop, start="platform", table=table, folder=tmp_path / "runs")
    rtl = outcome.converged.rounds[0].result
    model = closed("platform", rounds=1).converged.rounds[0].result
    assert {kernel.origin for kernel in rtl.kernels} == {"rtl"}
    assert [kernel.cycles for kernel in rtl.kernels] == [kernel.cycles for kernel in model.kernels]
    assert rtl.switch is not None
    assert model.switch is not None
    assert rtl.switch.origin == "rtl"
    assert rtl.switch.links == model.switch.links
    assert rtl.switch.without == model.switch.without
    assert rtl.switch.verdicts > 1000
    assert (table.measured, table.found) == (19, 0)
