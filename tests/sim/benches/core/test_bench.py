"""Cycles of loops, to the cycle."""

import pytest

from fanweave.golden.errors import FaultError
from fanweave.sim.benches.core import bench
from fanweave.sim.benches.core.bench import LOOPS, rows, run_loop

pytestmark = pytest.mark.verilator

#: Cycles of a turn: one an instruction, and what is waited for.
TURNS = {
    "eight dependent additions": 10,
    "copy of eight words": 18,
    "four loads, each used at once": 10 + 4,
    "eight multiplications, two chains": 10,
    "eight multiplications, one chain": 10 + 7,
    "dot product, four sums": 26,
    "dot product, one sum": 26 + 7 * 2,
    "a division, used at once": 4 + 33,
}


@pytest.mark.parametrize("name", TURNS)
def test_cycles_of_a_turn(name):
    body = LOOPS[name][0]()
    short, long = run_loop(body, 100), run_loop(body, 200)
    assert long.cycles - short.cycles == 100 * TURNS[name]


def test_rows(monkeypatch):
    monkeypatch.setattr(bench, "_QUICK", 200)
    found = {row.case: row.value for row in rows(quick=True, seed=1)}
    assert found.keys() == {*LOOPS, "dot product in Verilator"}
    assert found["eight dependent additions"] == 1


def test_a_loop_without_an_end_is_reported():
    endless = [0x0000006F]  # a jump to itself
    with pytest.MonkeyPatch.context() as patch:
        original = bench.run_core
        patch.setattr(bench, "run_core", lambda *a, **k: original(*a, **{**k, "limit": 2000}))
        with pytest.raises(FaultError, match="the loop does not end: limit at 0x80"):
            run_loop(endless, 10)
