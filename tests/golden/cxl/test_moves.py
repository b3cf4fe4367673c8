"""Where the lines of a page are while it moves, and what the switch may send for that."""

import pytest

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import message
from fanweave.golden.cxl.switch import SwitchModel
from fanweave.golden.cxl.tables import PAGE_LINES, Device, range_writes
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, NdrOpcode, ReqOpcode
from fanweave.golden.isa.cxl_switch import PAGE_BYTES, MoveStep

CONFIG = SwitchConfig(moves=2, move_lines=16)
GROUPS = PAGE_LINES // CONFIG.move_lines
#: Pages 1 and 2 lie over ports 2 and 3, page 8 at port 2.
A, B, C = Device(2, 0), Device(3, 0), Device(4, 0)
SINGLE, SPREAD = 8, 1


def register(model, name, **fields):
    entry = next(entry for entry in model.config.registers if entry.name == name)
    model.write(entry.address, entry.pack(**fields))


@pytest.fixture
def model():
    made = SwitchModel(CONFIG)
    for number in range(3):
        register(made, f"binding_0_{number}", bound=1, port=2 + number, ld_id=0)
    for number, first, pages, targets in ((0, SPREAD, 2, [0, 1]), (1, SINGLE, 1, [0])):
        for write in range_writes(
            CONFIG,
            host=0,
            number=number,
            first=first * PAGE_BYTES,
            size=pages * PAGE_BYTES,
            targets=targets,
        ):
            made.write(*write)
    return made


def step(model, what, *, page=SINGLE, group=0, target=B, entry=0, host=0):
    model.migration.step(what, host=host, entry=entry, page=page, group=group, target=target)


def copy(model, *, page=SINGLE, group=0, target=B, entry=0, data=None):
    """The devices' part of a group; returns the lines that were read, with their devices."""
    step(model, MoveStep.HOLD, page=page, group=group, target=target, entry=entry)
    first = page * PAGE_LINES + group * CONFIG.move_lines
    read = {}
    for line in range(first, first + CONFIG.move_lines):
        source = model.locate(0, line)
        if source == target:
            continue
        asked = message(
            Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line, ld_id=source.ld_id, tag=line
        )
        model.arrives(source.port, asked)
        read[line] = source
    for line, source in read.items():
        answer = message(Channel.S2M_DRS, tag=line, data=line, poison=line % 2, meta_value=1)
        assert model.answer(source.port, answer) == []
    for line in read:
        written = message(
            Channel.M2S_RWD,
            opcode=1,
            address=line,
            data=line if data is None else data,
            poison=line % 2,
            meta_value=1,
            ld_id=target.ld_id,
            tag=0x8000 | line,
        )
        model.arrives(target.port, written)
        answer = message(Channel.S2M_NDR, opcode=NdrOpcode.CMP, tag=0x8000 | line)
        assert model.answer(target.port, answer) == []
    return read


def move(model, *, page=SINGLE, target=B, entry=0, home=False, groups=range(GROUPS)):
    step(model, MoveStep.BEGIN, page=page, target=target, entry=entry)
    read = {}
    for group in groups:
        read |= copy(model, page=page, group=group, target=target, entry=entry)
        step(model, MoveStep.FLIP, page=page, group=group, target=target, entry=entry)
    end = MoveStep.HOME if home else MoveStep.END
    step(model, end, page=page, target=target, entry=entry)
    return read


def places(model, page):
    return [model.locate(0, page * PAGE_LINES + line) for line in range(PAGE_LINES)]


def test_a_page_moves_group_by_group(model):
    step(model, MoveStep.BEGIN)
    assert places(model, SINGLE) == [A] * PAGE_LINES
    copy(model)
    assert places(model, SINGLE) == [A] * PAGE_LINES
    step(model, MoveStep.FLIP)
    moved = CONFIG.move_lines
    assert places(model, SINGLE) == [B] * moved + [A] * (PAGE_LINES - moved)
    for group in range(1, GROUPS):
        copy(model, group=group)
        step(model, MoveStep.FLIP, group=group)
    step(model, MoveStep.END)
    assert places(model, SINGLE) == [B] * PAGE_LINES


def test_lines_that_are_there_are_not_copied(model):
    read = move(model, page=SPREAD)
    assert set(read.values()) == {A}
    assert len(read) == PAGE_LINES // 2
    assert places(model, SPREAD) == [B] * PAGE_LINES


def test_a_page_that_comes_home_needs_no_entry(model):
    move(model)
    move(model, target=C)
    assert places(model, SINGLE) == [C] * PAGE_LINES
    move(model, target=A, home=True)
    assert places(model, SINGLE) == [A] * PAGE_LINES
    assert model.moves.pages == {}


def test_a_page_that_stays_half_way_goes_on_or_back(model):
    move(model)
    step(model, MoveStep.BEGIN, target=C)
    copy(model, target=C)
    step(model, MoveStep.FLIP, target=C)
    step(model, MoveStep.HOLD, target=C, group=1)
    step(model, MoveStep.GIVE_UP, target=C)
    half = [C] * CONFIG.move_lines + [B] * (PAGE_LINES - CONFIG.move_lines)
    assert places(model, SINGLE) == half
    with pytest.raises(FaultError, match="page 0x8 cannot move to Device"):
        step(model, MoveStep.BEGIN, target=A)
    move(model, target=B, groups=[0])
    assert places(model, SINGLE) == [B] * PAGE_LINES


@pytest.mark.parametrize("before", [False, True])
def test_a_move_that_copied_nothing_leaves_no_trace(model, before):
    if before:
        move(model)
    where = places(model, SINGLE)
    target = C if before else B
    step(model, MoveStep.BEGIN, target=target)
    step(model, MoveStep.HOLD, target=target)
    step(model, MoveStep.GIVE_UP, target=target)
    assert places(model, SINGLE) == where
    assert len(model.moves.pages) == before


def test_what_was_begun_of_a_move_given_up_is_not_expected(model):
    step(model, MoveStep.BEGIN)
    step(model, MoveStep.HOLD)
    step(model, MoveStep.GIVE_UP)
    read = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=SINGLE * PAGE_LINES)
    with pytest.raises(FaultError, match="no request is next"):
        model.arrives(2, read)


def test_the_host_forgets_a_page(model):
    move(model)
    register(model, "move_0_0")
    assert places(model, SINGLE) == [A] * PAGE_LINES
    step(model, MoveStep.BEGIN)
    register(model, "move_0_0")
    assert model.moves.moving.number == SINGLE


def test_an_unbound_target_leaves_its_pages_without_memory(model):
    move(model)
    register(model, "binding_0_1")
    assert places(model, SINGLE) == [None] * PAGE_LINES
    register(model, "binding_1_0", bound=1, port=3, ld_id=0)
    assert places(model, SINGLE) == [None] * PAGE_LINES


def test_a_request_goes_where_its_line_is_when_it_leaves(model):
    line = SINGLE * PAGE_LINES
    decoded = (model.tables.decode(0, line),)
    move(model)
    read = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line)
    assert [sent.port for sent in model.request(0, read, decoded=decoded)] == [3]
    assert model.on_its_way(0, line)
    assert not model.on_its_way(0, line + 1)
    assert not model.on_its_way(1, line)


def test_other_data_than_were_read_are_refused(model):
    step(model, MoveStep.BEGIN)
    with pytest.raises(FaultError, match="no request is next"):
        copy(model, data=1)


def test_a_line_without_memory_is_not_taken_for_data(model):
    step(model, MoveStep.BEGIN)
    step(model, MoveStep.HOLD)
    line = SINGLE * PAGE_LINES
    model.arrives(2, message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line, tag=1))
    nothing = message(Channel.S2M_DRS, opcode=DrsOpcode.MEM_DATA_NXM, tag=1)
    assert model.answer(2, nothing) == []
    with pytest.raises(FaultError, match="group 0 flips before lines"):
        step(model, MoveStep.FLIP)


@pytest.mark.parametrize(
    ("steps", "difference"),
    [
        ([(MoveStep.FLIP, {})], "no page moves"),
        ([(MoveStep.BEGIN, {}), (MoveStep.BEGIN, {})], "moves before page 0x8 is there"),
        ([(MoveStep.BEGIN, {"target": Device(5, 0)})], "host 0 does not have"),
        ([(MoveStep.BEGIN, {"host": 1})], "host 1 does not have"),
        ([(MoveStep.BEGIN, {}), (MoveStep.FLIP, {})], "group 0 of page 0x8 was not held"),
        ([(MoveStep.BEGIN, {}), (MoveStep.HOLD, {}), (MoveStep.FLIP, {})], "flips before lines"),
        ([(MoveStep.BEGIN, {}), (MoveStep.END, {})], "is there with groups"),
        ([(MoveStep.BEGIN, {}), (MoveStep.HOLD, {"target": C})], "HOLD of .* while"),
        ([(MoveStep.BEGIN, {}), *[(MoveStep.HOLD, {})] * 2], "held out of turn"),
    ],
)
def test_steps_out_of_turn_are_refused(model, steps, difference):
    *before, (last, settings) = steps
    for what, more in before:
        step(model, what, **more)
    with pytest.raises(FaultError, match=difference):
        step(model, last, **settings)


def test_entries_are_of_one_page(model):
    move(model)
    with pytest.raises(FaultError, match="entry 0 of host 0 has page 0x8"):
        step(model, MoveStep.BEGIN, page=SPREAD)
    with pytest.raises(FaultError, match="page 0x8 is in entry 0, not 1"):
        step(model, MoveStep.BEGIN, entry=1, target=C)
    with pytest.raises(FaultError, match="page 0x8 cannot move to"):
        step(model, MoveStep.BEGIN)


def test_a_page_is_not_home_where_its_ranges_do_not_say_so(model):
    with pytest.raises(FaultError, match="the ranges of host 0 do not say"):
        move(model, home=True)
