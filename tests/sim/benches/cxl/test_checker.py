"""The checker refuses what a switch must not do."""

from dataclasses import replace

import pytest

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.messages import message
from fanweave.golden.cxl.tables import Device
from fanweave.golden.isa.cxl_event import (
    BirspOpcode,
    BisnpOpcode,
    Channel,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
)
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.sim.benches.cxl.checker import DifferenceError, TrafficChecker
from fanweave.sim.benches.cxl.contents import LineContents
from fanweave.sim.benches.cxl.records import Dead, Moved, Record
from fanweave.sim.benches.cxl.traffic import ranges

CONFIG = PRESETS["tiny"]
LINE = 64
PORT = 2
READ = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=LINE, tag=7)
CLEAN = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_CLN_EVCT, address=LINE, tag=8)
DONE = message(Channel.S2M_NDR, opcode=NdrOpcode.CMP)


@pytest.fixture
def checker():
    made = TrafficChecker(CONFIG)
    for write in ranges(CONFIG, timeout=100):
        made.see(Record(0, write.sent))
    return made


def enters(checker, host, request):
    """The switch takes a request, and sends it on."""
    checker.takes(host, request)
    checker.leaves(host, request.channel, judged=False)


def asked(checker, request=READ, tag=33):
    enters(checker, 0, request)
    checker.gives(PORT, request.changed(tag=tag))


def data(tag, content=5):
    return message(Channel.S2M_DRS, tag=tag, data=content)


def test_a_read_and_its_answer(checker):
    asked(checker)
    assert not checker.settled
    checker.takes(PORT, data(33))
    checker.gives(0, data(7))
    assert checker.settled
    assert dict(checker.count) == {"taken": 2, "delivered": 1, "answered": 1}


@pytest.mark.parametrize(
    ("before", "came", "difference"),
    [
        ([], data(7, 6), "instead of"),
        ([], data(9), "host 0 did not ask"),
        ([data(7)], data(7), "host 0 did not ask"),
        ([], message(Channel.S2M_NDR, tag=7), "host 0 is answered twice"),
    ],
)
def test_wrong_answers_are_found(checker, before, came, difference):
    asked(checker)
    checker.takes(PORT, data(33))
    for right in before:
        checker.gives(0, right)
    with pytest.raises(DifferenceError, match=difference):
        checker.gives(0, came)


@pytest.mark.parametrize(
    "came", [READ.changed(tag=33, address=LINE + 1), READ.changed(tag=33, ld_id=1)]
)
def test_a_request_that_changed_is_found(checker, came):
    enters(checker, 0, READ)
    with pytest.raises(DifferenceError, match="no request is next that looks like"):
        checker.gives(PORT, came)


def test_a_tag_that_is_used_twice_is_found(checker):
    asked(checker)
    enters(checker, 1, READ)
    with pytest.raises(DifferenceError, match="is on its way twice"):
        checker.gives(PORT, READ.changed(tag=33, ld_id=1))


def test_an_answer_that_overtakes_is_found(checker):
    for tag in (7, 8):
        asked(checker, CLEAN.changed(tag=tag), tag + 30)
        checker.takes(PORT, DONE.changed(tag=tag + 30))
    with pytest.raises(DifferenceError, match="overtook"):
        checker.gives(0, DONE.changed(tag=8))


def test_an_answer_of_the_switch_needs_a_reason(checker):
    lost = message(Channel.S2M_NDR, opcode=NdrOpcode.CMP, tag=8)
    asked(checker, CLEAN)
    with pytest.raises(DifferenceError, match="instead of None"):
        checker.gives(0, lost)


def test_a_silent_device_is_a_reason(checker):
    checker.silent = {PORT}
    asked(checker, CLEAN)
    checker.gives(0, message(Channel.S2M_NDR, opcode=NdrOpcode.CMP, tag=8))
    assert checker.settled
    assert checker.count["lost"] == 1


def test_nothing_leaves_that_did_not_come(checker):
    with pytest.raises(DifferenceError, match="host 0: nothing waits in the entry of M2S_REQ"):
        checker.leaves(0, Channel.M2S_REQ, judged=False)


def test_a_dead_port_is_answered_by_the_switch(checker):
    checker.see(Record(1, Dead(1 << PORT)))
    enters(checker, 0, READ)
    checker.gives(0, message(Channel.S2M_DRS, tag=7, poison=1))
    assert checker.settled


def test_what_waits_at_a_port_that_dies_may_be_lost(checker):
    other = READ.changed(tag=8, address=LINE + 1)
    enters(checker, 0, READ)
    enters(checker, 0, other)
    with pytest.raises(DifferenceError, match="no request is next"):
        checker.gives(PORT, other.changed(tag=34))
    checker.see(Record(1, Dead(1 << PORT)))
    checker.see(Record(2, Dead(0)))
    checker.gives(PORT, other.changed(tag=34))
    checker.takes(PORT, data(34))
    checker.gives(0, data(8))
    checker.gives(0, message(Channel.S2M_DRS, tag=7, poison=1))
    assert checker.settled
    assert checker.count["lost"] == 1


BEGIN = Moved(MoveStep.BEGIN, 0, 0, LINE // 64, 0, Device(3, 0))


def test_a_line_that_is_copied_while_it_is_in_use_is_found(checker):
    enters(checker, 0, READ.changed(snoop=3))
    checker.see(Record(1, BEGIN))
    checker.see(Record(1, replace(BEGIN, step=MoveStep.HOLD)))
    checker.gives(PORT, READ.changed(snoop=3, tag=1))
    with pytest.raises(DifferenceError, match="line 0x40 of host 0 is copied while it is in use"):
        checker.gives(PORT, READ.changed(tag=2))


def test_a_move_out_of_turn_is_found(checker):
    with pytest.raises(DifferenceError, match="cycle 5: no page moves"):
        checker.see(Record(5, replace(BEGIN, step=MoveStep.FLIP)))


def test_a_read_of_something_else_than_was_written_is_found(checker):
    checker.contents = LineContents()
    write = message(Channel.M2S_RWD, opcode=RwdOpcode.MEM_WR, address=LINE, tag=9, data=6)
    asked(checker, write, 99)
    checker.takes(PORT, DONE.changed(tag=99))
    checker.gives(0, DONE.changed(tag=9))
    for content in (6, 7):
        asked(checker)
        checker.takes(PORT, data(33, content))
        if content == 6:
            checker.gives(0, data(7, content))
    with pytest.raises(DifferenceError, match=r"host 0 reads Content\(data=7"):
        checker.gives(0, data(7, 7))


SNOOP = message(Channel.S2M_BISNP, opcode=BisnpOpcode.INV_BLK, bi_id=0, bi_tag=3, address=5)
GIVEN_UP = message(Channel.M2S_BIRSP, opcode=BirspOpcode.I_BLK)


def test_a_snoop_and_its_answers(checker):
    checker.takes(PORT, SNOOP)
    checker.gives(0, SNOOP.changed(bi_id=PORT, bi_tag=1))
    line = message(Channel.M2S_BIRSP, opcode=BirspOpcode.I)
    for number in (1, 0):
        checker.takes(0, line.changed(bi_id=PORT, bi_tag=1, low_address=number))
    assert not checker.settled
    for number in (1, 0):
        checker.gives(PORT, line.changed(bi_id=0, bi_tag=3, low_address=number))
    assert checker.settled
    # A third answer goes nowhere.
    checker.takes(0, GIVEN_UP.changed(bi_id=PORT, bi_tag=1))
    assert checker.settled


def test_a_snoop_at_the_wrong_host_is_found(checker):
    checker.takes(PORT, SNOOP)
    with pytest.raises(DifferenceError, match="host 1: no device sent"):
        checker.gives(1, SNOOP.changed(bi_id=PORT, bi_tag=1))


def test_a_snoop_of_what_nobody_has_is_answered_line_by_line(checker):
    checker.takes(PORT, SNOOP.changed(bi_id=9))
    line = message(Channel.M2S_BIRSP, opcode=BirspOpcode.I, bi_id=9, bi_tag=3)
    checker.gives(PORT, line.changed(low_address=0))
    with pytest.raises(DifferenceError, match="no host answered"):
        checker.gives(PORT, line.changed(low_address=2))
    checker.gives(PORT, line.changed(low_address=1))
    assert checker.settled
