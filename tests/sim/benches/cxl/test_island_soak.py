"""A program in an island moves the pages that hosts read and write, in Verilator."""

from collections import Counter

import pytest

from fanweave.golden.cxl.tables import Device
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import VerdictAction
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.sim.benches.cxl.checker import DifferenceError
from fanweave.sim.benches.cxl.island_checker import IslandChecker
from fanweave.sim.benches.cxl.island_soak import PROMOTES, judge_by_tags, play
from fanweave.sim.benches.cxl.policed import play_policed
from fanweave.sim.benches.cxl.records import Moved, Record
from fanweave.sim.benches.cxl.traffic import RandomTraffic, matching
from fanweave.sim.benches.cxl.verilated import Devices
from fanweave.sim.coverage.cross import holes_of
from fanweave.sim.coverage.switch import CROSSES
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object.model import ObjectFile

from .conftest import ISLAND


@pytest.mark.verilator
@pytest.mark.parametrize("inline", [False, True])
def test_a_program_moves_pages_while_hosts_use_them(inline):
    traffic = RandomTraffic(ISLAND.switch, seed=3, requests=1500)
    checker, _, _ = play_policed(
        ISLAND,
        ObjectFile.of_code(Program.of(assemble(PROMOTES))),
        {},
        traffic.plan(timeout=2000),
        rules=matching(ISLAND.switch, skip=20, inline=inline),
        budget=100,
        limit=200_000,
        devices=Devices(stall=0.2, single=True),
    )
    count = checker.count
    assert count["end"] + count["home"] > 2
    assert checker.contents.reads > 800
    assert (count["judged"] > 0) == inline


@pytest.mark.verilator
def test_all_verdicts_meet_all_requests_and_all_messages_pass():
    """Once with ports that hosts do not have, once with all ports."""
    met = {cross.name: Counter() for cross in CROSSES}
    for mask, snoops in ((0x7, 0), (0x307, 100)):
        checker = judge_by_tags(
            ISLAND,
            mask=mask,
            fixed=0,
            seed=mask,
            requests=1000,
            gap=40.0,
            snoops=snoops,
            devices=Devices(stall=0.1, missing=0.05),
        )
        for name, hits in checker.covered.items():
            met[name].update(hits)
    for cross in CROSSES:
        assert list(holes_of(cross, met[cross.name])) == []


@pytest.mark.verilator
def test_the_default_of_a_rule_holds_for_all_without_a_verdict():
    checker = judge_by_tags(
        ISLAND, mask=0, fixed=VerdictAction.PASS, seed=5, requests=200, gap=4.0, deny=True
    )
    assert checker.count["defaulted"] > 100
    assert 0 < checker.count["delivered"] <= checker.count["judged"]


def test_a_move_that_no_program_asked_for_is_found():
    checker = IslandChecker(ISLAND, Machine())
    begin = Moved(MoveStep.BEGIN, 0, 0, 1, 0, Device(2, 0))
    with pytest.raises(DifferenceError, match="cycle 4: no program moves page 0x1 to Device"):
        checker.see(Record(4, begin))


def test_an_unknown_preset_is_refused():
    with pytest.raises(InputError, match="unknown preset 'huge' of unit island; choose one of"):
        play(seed=1, config="huge")
