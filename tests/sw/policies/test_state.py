"""What one machine keeps from event to event: full maps, and many events at random."""

import random

import pytest

from fanweave.golden.isa.cxl_event import (
    Channel,
    ReqOpcode,
    Verdict,
    VerdictAction,
    encode_event,
)
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object.contents import machine_of
from fanweave.sw.policies.library import SETTINGS, build_policy

PAGE = 4096


class Running:
    """A policy on a golden machine that stays."""

    def __init__(self, name, maps):
        self.built = build_policy(name)
        self.machine = machine_of(
            self.built.loaded, self.built.contents(maps), budget=self.built.policy.budget
        )

    def on(self, **event):
        outcome = self.machine.run(self.built.program.program, encode_event(**event))
        assert outcome.fault is FaultCause.NONE
        return Verdict.decode(outcome.r0)

    def map(self, name):
        return self.machine.maps[self.built.loaded.number_of(name, "map")]

    def value(self, name, key):
        number = self.built.loaded.number_of(name, "map")
        return self.built.values({number: list(self.map(name).items())})[name].get(key)


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


def test_pages_that_are_not_used_are_forgotten():
    policy = Running("hot_pages", counting(1000))
    room = policy.map("pages").spec.max_entries
    for page in range(room):
        policy.on(**read(PAGE * page))
    policy.on(**read(0))
    policy.on(**read(PAGE * room))
    assert policy.value("pages", 0) == {"epoch": 0, "count": 2}
    assert policy.value("pages", 1) is None
    assert policy.value("pages", room) == {"epoch": 0, "count": 1}


@pytest.mark.parametrize("seed", range(3))
def test_a_sketch_is_never_too_late(seed):
    """Against the true counts; with few pages it is exact, with many it may be too early."""
    draw = random.Random(seed)
    threshold, pages = 8, 40 if seed == 0 else 2000
    policy = Running("hot_pages_sketch", counting(threshold))
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


def test_a_full_ring_loses_records_and_no_message():
    policy = Running("telemetry", {SETTINGS: {0: {"sample_mask": 0, "slow_ns": 1000}}})
    answer = {"channel": Channel.S2M_DRS, "latency_ns": 100, "port": 3}
    # 24 bytes and 8 of header; a ring is never quite full.
    room = policy.map("records").spec.max_entries // 32 - 1
    for number in range(room + 5):
        assert policy.on(**answer, address=64 * number).action is VerdictAction.PASS
    assert len(list(policy.map("records").items())) == room
    assert policy.value(".bss.totals", 0) == {"answers": room + 5, "lost": 5}
    policy.map("records").consume()
    policy.on(**answer, address=0)
    assert policy.value(".bss.totals", 0) == {"answers": room + 6, "lost": 5}
    assert policy.value("latencies", 6) == room + 6
