"""Programs in an island judge the requests of random traffic, in Verilator."""

import pytest

from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sim.benches.cxl.checker import DifferenceError
from fanweave.sim.benches.cxl.policed import play_policed
from fanweave.sim.benches.cxl.traffic import RandomTraffic
from fanweave.sim.benches.cxl.verilated import Devices
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.policies.library import build_policy
from fanweave.sw.policies.ranges import grant, prefix_key

from .conftest import ISLAND

pytestmark = pytest.mark.verilator

#: Denies requests for odd lines; few instructions, for an event alone has its verdict in time.
DENY_ODD = """
    r0 = 0
    r2 = *(u8 *)(r1 + 0)
    r2 &= 64
    if r2 == 0 goto out
    r0 = 3
out:
    exit
"""
FAULT = """
    r0 = *(u8 *)(r1 + 64)
    exit
"""


def run(loaded, contents, *, requests=200, gap=60.0, budget=100, **more):
    traffic = RandomTraffic(ISLAND.switch, seed=3, requests=requests, gap=gap)
    plan = traffic.plan(timeout=2000)
    return play_policed(
        ISLAND, loaded, contents, plan, budget=budget, limit=200_000, seed=1, **more
    )


def code(text):
    return ObjectFile.of_code(Program.of(assemble(text)))


def test_a_short_program_decides():
    checker, _, _ = run(code(DENY_ODD), {}, devices=Devices(stall=0.1))
    count = checker.count
    assert count["judged"] > 300
    assert count["defaulted"] < 100
    # Half of the requests are denied, and a few are for no memory.
    assert count["delivered"] < 220


def test_a_policy_in_c_says_what_golden_says():
    built = build_policy("access_control")
    maps = {
        "grants": {
            prefix_key(0, 0, 8): grant(*ReqOpcode, *RwdOpcode),
            prefix_key(1, 4096, 52): grant(ReqOpcode.MEM_RD),
        }
    }
    checker, rtl, golden = run(built.loaded, built.contents(maps), budget=built.policy.budget)
    assert rtl == golden
    assert checker.count["asked"] == checker.count["told"] > 200


@pytest.mark.parametrize(("deny", "delivered"), [(False, True), (True, False)])
def test_a_fault_leaves_the_default_of_the_rule(deny, delivered):
    checker, _, _ = run(code(FAULT), {}, deny=deny)
    assert checker.count["judged"] == 0
    assert checker.count["defaulted"] == 400
    assert (checker.count["delivered"] > 0) == delivered


def test_another_program_in_golden_is_noticed(monkeypatch):
    from fanweave.sim.benches.cxl import policed

    machine_of = policed.machine_of
    monkeypatch.setattr(
        policed,
        "machine_of",
        lambda loaded, *rest, **more: machine_of(code("r0 = 0\nexit"), *rest, **more),
    )
    with pytest.raises(DifferenceError, match="verdict 0x3 "):
        run(code(DENY_ODD), {})
