"""What one machine keeps from event to event: full maps, and many events at random."""

import random

import pytest

from fanweave.golden.isa.cxl_event import Channel, ReqOpcode, VerdictAction
from fanweave.sw.policies.library import SETTINGS

PAGE = 4096


def read(address, **more):
    return {
        "channel": Channel.M2S_REQ,
        "opcode": ReqOpcode.MEM_RD,
        "address": address,
        "island": 3,
        **more,
    }


def counting(threshold):
    return {SETTINGS: {0: {"threshold": threshold, "target": 2}}}


def test_pages_that_are_not_used_are_forgotten(start):
    policy = start("hot_pages", counting(1000))
    room = policy.map("pages").spec.max_entries
    for page in range(room):
        policy.on(**read(PAGE * page))
    policy.on(**read(0))
    policy.on(**read(PAGE * room))
    assert policy.values("pages").get(0) == {"epoch": 0, "count": 2}
    assert policy.values("pages").get(1) is None
    assert policy.values("pages").get(room) == {"epoch": 0, "count": 1}


@pytest.mark.parametrize("seed", range(3))
def test_a_sketch_is_never_too_late(start, seed):
    """Against the true counts; with few pages it is exact, with many it may be too early."""
    draw = random.Random(seed)
    threshold, pages = 8, 40 if seed == 0 else 2000
    policy = start("hot_pages_sketch", counting(threshold))
    true, asked, early = {}, set(), 0
    for _ in range(3000):
        page = min(draw.randrange(pages), draw.randrange(pages))
        true[page] = true.get(page, 0) + 1
        verdict = policy.on(**read(PAGE * page))
        if verdict.action is VerdictAction.PROMOTE:
            assert page not in asked
            assert verdict.island == 2
            asked.add(page)
            early += true[page] < threshold
        assert page in asked or true[page] < threshold
    assert bool(early) == (seed != 0)


def test_a_full_ring_loses_records_and_no_message(start):
    policy = start("telemetry", {SETTINGS: {0: {"sample_mask": 0, "slow_ns": 1000}}})
    answer = {"channel": Channel.S2M_DRS, "latency_ns": 100, "port": 3}
    # 24 bytes and 8 of header; a ring is never quite full.
    room = policy.map("records").spec.max_entries // 32 - 1
    for number in range(room + 5):
        assert policy.on(**answer, address=64 * number).action is VerdictAction.PASS
    assert len(list(policy.map("records").items())) == room
    assert policy.values(".bss.totals").get(0) == {"answers": room + 5, "lost": 5}
    policy.map("records").consume()
    policy.on(**answer, address=0)
    assert policy.values(".bss.totals").get(0) == {"answers": room + 6, "lost": 5}
    assert policy.values("latencies").get(6) == room + 6
