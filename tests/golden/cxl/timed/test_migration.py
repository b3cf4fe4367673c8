"""Pages that move: what becomes of their lines, and how long that takes."""

import numpy as np
import pytest

from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.cxl.timed.config import DeviceTiming
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction

from .test_timed_system import (
    FAR,
    NEAR,
    READ,
    START,
    SWITCH,
    WRITE,
    count,
    inline,
    play,
    register,
)

PACE = 50
GROUPS = 64 // SWITCH.move_lines


def promotes(port, *, pages=None, times=1):
    """Asks for pages to be moved to a port, each so many times; None: all."""
    asked = {}

    def judge(_, context, __):
        page = int.from_bytes(context[:8], "little") >> 12
        asked[page] = asked.get(page, 0) + 1
        if (pages is None or page in pages) and asked[page] <= times:
            return Verdict(action=VerdictAction.PROMOTE, island=port).encode()
        return Verdict(action=VerdictAction.PASS).encode()

    return judge


def served(system):
    """Reads and writes of both memories."""
    return [system.state.busy[0, d, 2:4].tolist() for d in range(2)]


def test_a_page_moves_and_what_is_read_then_is_there():
    near, far = DeviceTiming(latency=20), DeviceTiming(latency=200)
    # Page by page, with long gaps: all of the second reads of a page come behind its move.
    flows = [(0, FAR, 64, READ)] * 12
    system, taken = play(
        flows, writes=inline(pace=PACE), judge=promotes(2), near=near, far=far, outstanding=4
    )
    assert count(system, "promotions") == count(system, "moved_pages") == 1
    assert count(system, "moved_lines") == 64
    # Each of 8 groups: held, copied, flipped; and once the page began to move and ended.
    assert count(system, "forgotten") == 2 * GROUPS + 2
    assert system.state.pages[0, 0, 0].tolist() == [1, FAR, 2, 0, -1, -1]
    (near_reads, near_writes), (far_reads, far_writes) = served(system)
    assert (near_reads + far_reads, near_writes, far_writes) == (len(taken) + 64, 64, 0)
    # What was held took as long as from far, and came from near.
    assert 0 < far_reads - 64 <= int((taken > 200).sum()) < 80


@pytest.mark.parametrize("kind", [READ, WRITE])
@pytest.mark.parametrize("latency", [1, 4, 30])
def test_cycles_of_a_move_in_an_idle_switch(kind, latency):
    timing = DeviceTiming(latency=latency)
    system, _ = play(
        [(0, NEAR, 1, kind)], writes=inline(pace=PACE), judge=promotes(3), near=timing, far=timing
    )
    assert count(system, "moved_pages") == 1
    # A group waits for its reads, and then for its writes; all else takes as long anywhere.
    assert int(system.state.clock[0]) - START == 334 + 2 * GROUPS * latency


def test_a_page_comes_back_to_where_its_ranges_say():
    here = iter([2, 3])

    def judge(*_):
        island = next(here, None)
        if island is None:
            return Verdict(action=VerdictAction.PASS).encode()
        return Verdict(action=VerdictAction.PROMOTE, island=island).encode()

    system, _ = play([(0, FAR, 60, READ)] * 20, writes=inline(pace=500), judge=judge, outstanding=2)
    assert count(system, "moved_pages") == 2
    assert count(system, "moved_lines") == 128
    assert not system.state.moved[0, 0]
    assert not system.state.pages[0, 0, :, 0].any()


def test_a_page_that_is_there_already_stays():
    system, _ = play([(0, NEAR, 64, READ)] * 3, writes=inline(pace=PACE), judge=promotes(2))
    assert count(system, "promotions") == 1
    assert not any(
        count(system, name) for name in ("moved_pages", "moved_lines", "dropped_promotions")
    )


def test_a_full_table_takes_no_page():
    pages = SWITCH.moves + 2
    flows = [(0, FAR + n, 64, READ) for n in range(pages)]
    system, _ = play(flows * 4, writes=inline(pace=PACE), judge=promotes(2), outstanding=2)
    assert count(system, "moved_pages") == SWITCH.moves
    dropped = count(system, "dropped_promotions")
    assert 1 <= dropped <= 2
    assert count(system, "promotions") + dropped >= pages - 1


def test_nothing_moves_while_the_switch_says_still():
    still = [*inline(pace=PACE), register("policy", wait=20, still=1)]
    system, _ = play([(0, FAR, 64, READ)] * 3, writes=still, judge=promotes(2))
    assert count(system, "promotions") == 1
    assert served(system)[0] == [0, 0]
    assert not any(count(system, name) for name in ("forgotten", "dropped_promotions"))


@pytest.mark.parametrize("port", [0, 4, 255])
def test_a_port_without_the_hosts_memory_is_refused(port):
    system, _ = play([(0, FAR, 64, READ)], writes=inline(pace=PACE), judge=promotes(port))
    assert count(system, "promotions") == count(system, "moved_pages") == 0


def test_both_hosts_move_pages_in_turn():
    flows = [(host, FAR + n, 64, READ) for host in range(2) for n in range(3)]
    system, _ = play(
        flows * 4, hosts=2, writes=inline(pace=PACE), judge=promotes(2, times=2), outstanding=2
    )
    assert system.state.moved[0, :2].tolist() == [3, 3]
    assert count(system, "moved_lines") == 6 * 64


def test_what_was_sent_before_a_hold_is_answered_before_it_is_copied():
    """Writes at full rate to a page that moves: held, and none is lost or comes twice."""
    system, taken = play(
        [(0, FAR, 64, WRITE)] * 30,
        writes=inline(pace=PACE),
        judge=promotes(2),
        far=DeviceTiming(latency=200, write=2),
    )
    assert count(system, "moved_pages") == 1
    assert count(system, "held_cycles") > 100
    near, far = served(system)
    assert near[1] + far[1] == len(taken) + 64
    assert near[0] == 0
    assert far[0] == 64
    # Behind the flip all go to the near memory.
    assert np.max(taken) > 400
    assert near[1] > len(taken) / 2


def test_all_counts_are_zero_without_a_promotion():
    system, _ = play([(0, FAR, 100, READ)], writes=inline(pace=PACE), judge=promotes(2, times=0))
    moved = COUNTS._fields[COUNTS.dropped_promotions :]
    assert not any(count(system, name) for name in moved)
