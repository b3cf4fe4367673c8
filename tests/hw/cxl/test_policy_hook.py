# amaranth: UnusedElaboratable=no

"""Promotions of verdicts whose events the hook no longer knows."""

import pytest
from amaranth.sim import Simulator

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction
from fanweave.hw.cxl.policy_hook import PolicyHook

CONFIG = PRESETS["tiny"]
PROMOTE = Verdict(action=VerdictAction.PROMOTE, island=3)


def told(allowed=0b1100, **payload):
    """What the hook makes of a verdict for an event that it never sent."""
    dut, found = PolicyHook(config=CONFIG, sources=2), {}

    async def body(ctx):
        for host in range(CONFIG.upstream):
            ctx.set(dut.allowed[host], allowed if host == 1 else 0)
        ctx.set(dut.verdicts.payload, payload)
        ctx.set(dut.verdicts.valid, 1)
        for name in ("late", "refused", "promoted"):
            found[name] = ctx.get(getattr(dut, name))
        found["verdict_valid"] = ctx.get(dut.verdict_valid)
        await ctx.tick()
        ctx.set(dut.verdicts.valid, 0)
        for _ in range(4):
            if ctx.get(dut.promotions.valid):
                asked = ctx.get(dut.promotions.payload)
                found["asked"] = asked.host, asked.page, asked.target
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(body)
    simulator.run()
    return found


def test_a_promotion_names_its_page_and_host():
    found = told(r0=PROMOTE.encode(), tag=9, again=1, host=1, page=0x77)
    assert found == {
        "late": 0,
        "refused": 0,
        "promoted": 1,
        "verdict_valid": 0,
        "asked": (1, 0x77, 3),
    }


@pytest.mark.parametrize(
    ("payload", "late", "refused"),
    [
        # Nobody says whose it was.
        ({"r0": PROMOTE.encode(), "again": 0, "host": 1}, 1, 0),
        # The host has nothing at that port.
        ({"r0": PROMOTE.encode(), "again": 1, "host": 0}, 0, 1),
        # It asks for no move, and the request is on its way.
        ({"r0": 0x301, "again": 1, "host": 1}, 0, 0),
        ({"r0": PROMOTE.encode(), "again": 1, "host": 1, "failed": 1}, 0, 0),
    ],
)
def test_anything_else_moves_nothing(payload, late, refused):
    found = told(tag=9, page=1, **payload)
    assert found == {"late": late, "refused": refused, "promoted": 0, "verdict_valid": 0}
