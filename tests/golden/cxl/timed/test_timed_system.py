"""Islands to the cycle: ways, queues, tags, tokens and verdicts, each where it can be counted."""

import numpy as np
import pytest

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.cxl.timed.config import (
    DeviceTiming,
    HostPort,
    IslandLink,
    MemoryPort,
    SystemConfig,
)
from fanweave.golden.cxl.timed.system import IslandSetup, TimedSystem
from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction
from fanweave.golden.isa.cxl_island import ISLAND_REGISTERS

SWITCH = SwitchConfig()
REGISTERS = {entry.name: entry for entry in (*SWITCH.registers, *ISLAND_REGISTERS)}
#: Pages of the host's memories at ports 2 and 3.
NEAR, FAR = 0x100, 0x200
PAGES, PAGE_LINES = 0x40, 64
READ, WRITE = 0, 1
#: Cycles of a request alone beside its memory's latency; `fanweave bench switch` has 4 and 3 of
#: them, and one goes to the link of each side.
WAY = 8
START = 4096


def register(name, **fields):
    return REGISTERS[name].address, REGISTERS[name].pack(**fields)


def tables(host=0):
    """A host's two memories, at ports 2 and 3."""
    writes = [
        register(f"binding_{host}_{number}", bound=1, port=2 + number, ld_id=host)
        for number in range(2)
    ]
    for number, page in enumerate((NEAR, FAR)):
        writes += range_writes(
            SWITCH,
            host=host,
            number=number,
            first=page * 4096,
            size=PAGES * 4096,
            targets=[number],
        )
    return writes


def inline(*, pace=50, known=True):
    """Program 0 sees all requests; its verdicts are kept."""
    return [
        register("rule_0_match", ports=3, channels=3),
        register("rule_0_opcodes", mask=0xFFFF),
        register("rule_0_last_high", page=0xFFFFF),
        register("rule_0_control", enable=1, inline=1),
        register("pace_0", cycles=pace),
        register("verdicts", enable=1, programs=int(known)),
    ]


def wide(writes):
    """The same with verdicts for 128 KiB."""
    return [*writes[:-1], register("verdicts", enable=1, programs=1, shift=5)]


def traffic(flows, *, hosts=1, outstanding=64):
    """A task a host; flows are rows of host, page, lines and kind."""
    total = sum(lines for _, _, lines, _ in flows)
    ordered = sorted(flows, key=lambda row: row[0])
    tasks, at = [], 0
    for host in range(hosts):
        own = [row for row in ordered if row[0] == host]
        tasks.append([-1, -1, 0, at, len(own), 0, -1])
        at += len(own)
    log = {
        name: np.zeros(total, dtype=np.int64)
        for name in ("line", "flow", "host", "tag", "sent", "done")
    }
    return Traffic(
        hosts=np.array([[0, h, 0, outstanding, -1, h, h + 1, 0, 0, 0] for h in range(hosts)]),
        tasks=np.array(tasks),
        flows=np.array(
            [[page * PAGE_LINES, lines, 1, kind, 0, 0] for _, page, lines, kind in ordered]
        ),
        told=np.zeros((0, 6), dtype=np.int64),
        **log,
    )


def play(flows, *, writes=(), judge=None, hosts=1, outstanding=64, near=None, far=None, **more):
    """Runs one island; gives the system and the latency of each message."""
    none = DeviceTiming(latency=20)
    around = SystemConfig(
        islands=1,
        hosts=tuple(HostPort(island=0, port=h, outstanding=outstanding) for h in range(hosts)),
        memories=(
            MemoryPort(island=0, port=2, timing=near or none),
            MemoryPort(island=0, port=3, timing=far or none),
        ),
    )
    sent = traffic(flows, hosts=hosts, outstanding=outstanding)
    own = [write for host in range(hosts) for write in tables(host)]
    system = TimedSystem(
        switch=SWITCH,
        verdict_entries=16,
        around=around,
        setups=[IslandSetup(writes=[*own, *writes], judge=judge)],
        traffic=sent,
        start=START,
        **more,
    )
    system.run(cycles=100_000)
    return system, sent.done - sent.sent


def says(action, **fields):
    return lambda *_: Verdict(action=action, **fields).encode()


def count(system, name):
    return int(system.state.counts[0, getattr(COUNTS, name)])


@pytest.mark.parametrize("kind", [READ, WRITE])
@pytest.mark.parametrize("latency", [1, 20, 300])
def test_a_request_alone(kind, latency):
    _, taken = play([(0, NEAR, 1, kind)], near=DeviceTiming(latency=latency))
    assert taken.tolist() == [WAY + latency]


def test_a_message_a_cycle():
    system, taken = play([(0, NEAR, 500, READ)])
    assert set(taken) == {WAY + 20}
    assert np.diff(system.traffic.sent).tolist() == [1] * 499


def test_a_slow_memory_makes_a_queue_and_says_so():
    system, taken = play(
        [(0, NEAR, 60, READ)], near=DeviceTiming(latency=20, read=3, loads=(1, 50, 100))
    )
    # Each waits two cycles longer than the one before.
    assert taken.tolist() == [WAY + 20 + 2 * number for number in range(60)]
    assert system.state.busy[0, 0, 4] == sum(2 * number for number in range(60))
    assert system.state.load[0, 0] == 3


def test_open_reads_are_bounded_by_tags_and_by_the_host():
    slow = DeviceTiming(latency=1000)
    for outstanding, most in ((200, SWITCH.slots), (10, 10)):
        system, taken = play([(0, NEAR, 150, READ)], outstanding=outstanding, near=slow)
        at = START + 1500
        sent, done = system.traffic.sent, system.traffic.done
        if outstanding == 10:
            assert set(taken) == {WAY + 1000}
        served = done - 1000 - WAY  # when each would have been sent, had it not waited for a tag
        assert ((served < at) & (done > at)).sum() <= most
        assert sent[most - 1] < START + 400 < done[0]


def test_a_change_of_direction_costs_its_turns():
    timing = DeviceTiming(latency=20, turn=5)
    system, _ = play([(0, NEAR, 20, READ), (0, NEAR + 1, 20, WRITE)], near=timing)
    assert system.state.busy[0, 0, 5] == 39
    system, _ = play([(0, NEAR, 20, READ), (0, FAR, 20, WRITE)], near=timing, far=timing)
    assert not system.state.busy[0, :, 5].any()


def test_a_host_waits_for_its_tokens():
    _, taken = play(
        [(0, NEAR, 3, READ)],
        writes=[*inline(pace=10), register("tokens_0", rate=64, limit=8)],
        judge=says(VerdictAction.DELAY, tokens=8),
    )
    # The first have no verdict yet; that is said to them two cycles after they came.
    assert set(taken) == {WAY + 20 + 2}
    system, taken = play(
        [(0, NEAR, 200, READ)],
        writes=[*inline(pace=10), register("tokens_0", rate=64, limit=8)],
        judge=says(VerdictAction.DELAY, tokens=8),
    )
    # A token in four cycles; what has no verdict in a new page passes at once behind it.
    gaps = np.diff(np.sort(system.traffic.done)[100:])
    assert set(gaps) == {1, 31, 32}
    assert (gaps == 32).sum() > 80
    assert count(system, "delayed") > 100


def test_a_verdict_holds_behind_its_pace():
    system, _ = play(
        [(0, NEAR, 300, READ)],
        writes=inline(pace=100),
        judge=says(VerdictAction.REDIRECT, island=3),
    )
    near, far = int(system.state.busy[0, 0, 2]), int(system.state.busy[0, 1, 2])
    assert near + far == 300
    assert count(system, "redirected") == far == count(system, "hits")
    assert count(system, "misses") == near
    # Pages of 64 lines, each of which waits for its program or for the one before.
    assert far == 0
    system, _ = play(
        [(0, NEAR, 300, READ)],
        writes=wide(inline(pace=100)),
        judge=says(VerdictAction.REDIRECT, island=3),
    )
    assert 300 - int(system.state.busy[0, 1, 2]) == count(system, "misses") < 120


@pytest.mark.parametrize("limit", [0, 8, 40, 52])
def test_a_spill_keeps_what_is_open_below_its_limit(limit):
    system, _ = play(
        [(0, NEAR, 2000, READ)],
        writes=wide(inline(pace=60)),
        judge=says(VerdictAction.SPILL, island=3, tokens=limit),
        near=DeviceTiming(latency=200),
        outstanding=128,
    )
    near = np.flatnonzero(_port_of(system) == 2)
    far = 2000 - len(near)
    assert count(system, "redirected") == far
    if limit == 0:
        # An event that comes while the engine's verdict is told has no place in the next cycle.
        assert len(near) == count(system, "misses") + count(system, "dropped")
    else:
        later = near[near > 500]
        open_at = [
            (system.traffic.sent[near] <= at) & (at < system.traffic.done[near])
            for at in system.traffic.sent[later]
        ]
        # Those on their way between verdict and table are not counted yet.
        assert limit - 2 <= max(map(sum, open_at)) <= limit + 12


def _port_of(system):
    """Where each read was served: far answers come 200 - 20 cycles earlier."""
    taken = system.traffic.done - system.traffic.sent
    return np.where(taken >= 200, 2, 3)


def test_writes_do_not_spill():
    system, _ = play(
        [(0, NEAR, 200, WRITE)],
        writes=inline(pace=60),
        judge=says(VerdictAction.SPILL, island=3, tokens=0),
    )
    assert count(system, "redirected") == 0
    assert int(system.state.busy[0, 0, 3]) == 200


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_a_denied_request_is_answered_by_the_switch(kind):
    system, taken = play(
        [(0, NEAR, 1000, kind)], writes=wide(inline(pace=60)), judge=says(VerdictAction.DENY)
    )
    denied = count(system, "denied")
    assert denied == count(system, "hits") > 800
    assert int(system.state.busy[0, 0, 2 + kind]) == 1000 - denied
    # None at a device; but the first ones waited in the ring, and a message a cycle comes behind.
    assert min(taken) == WAY
    assert WAY + 20 <= np.median(taken) <= WAY + 20 + 2


def test_denied_requests_of_two_hosts_leave_in_turn():
    """The port of errors answers one a cycle, reads and writes together."""
    system, _ = play(
        [(host, NEAR, 500, kind) for host in range(2) for kind in (READ, WRITE)],
        hosts=2,
        writes=wide(inline(pace=60)),
        judge=says(VerdictAction.DENY),
    )
    assert count(system, "denied") == count(system, "hits") > 800
    # Each of the four is denied about as often, and one a cycle in all at most.
    passed = system.state.busy[0, 0, 2:4]
    assert abs(int(passed[0]) - int(passed[1])) < 100
    ends = [int(system.traffic.done[system.traffic.host == host].max()) for host in range(2)]
    assert abs(ends[0] - ends[1]) < 200


def test_two_hosts_share_a_memory_in_turn():
    system, taken = play([(0, NEAR, 100, READ), (1, NEAR, 100, READ)], hosts=2)
    by_host = [taken[system.traffic.host == host] for host in range(2)]
    assert abs(int(by_host[0].sum()) - int(by_host[1].sum())) < 300
    assert int(system.traffic.done.max()) - START >= 200


def test_a_link_between_islands_costs_its_cycles_both_ways():
    around = SystemConfig(
        islands=2,
        hosts=(HostPort(island=0, port=0),),
        memories=(MemoryPort(island=1, port=2, timing=DeviceTiming(latency=20)),),
        links=(IslandLink(island=0, port=2, to_island=1, to_port=0, latency=15),),
    )
    sent = traffic([(0, NEAR, 5, READ)])
    setups = [IslandSetup(writes=tables()), IslandSetup(writes=tables())]
    TimedSystem(
        switch=SWITCH, verdict_entries=16, around=around, setups=setups, traffic=sent, start=START
    ).run(cycles=10_000)
    assert set(sent.done - sent.sent) == {2 * WAY + 20 + 2 * 15 - 1}


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_a_request_without_memory_is_answered_by_the_switch(kind):
    system, taken = play([(0, 0x300, 20, kind)])
    # Three cycles less than by a device: no link there, no link back, no queue of answers.
    assert set(taken) == {WAY - 3}
    assert count(system, "unmapped") == 20
    assert not system.state.busy[0, :, 2:4].any()


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_copies_go_to_both_memories_and_are_not_answered(kind):
    slow = DeviceTiming(latency=300)
    system, taken = play(
        [(0, NEAR, 1000, kind)],
        writes=wide(inline(pace=60)),
        judge=says(VerdictAction.MIRROR, island=3),
        far=slow,
    )
    copied = count(system, "mirrored")
    assert copied == count(system, "hits") > 800
    assert system.state.busy[0, :2, 2 + kind].tolist() == [1000, copied]
    # A copy leaves a cycle behind its request, so a host sends one in two cycles; and the answers
    # of the slow memory are waited for by nobody, but its tags bound what is copied.
    assert min(taken) == WAY + 20 + 2
    assert int(system.traffic.done.max()) - START > copied / SWITCH.slots * 300
    assert int(system.state.clock[0]) > int(system.traffic.done.max()) + 200


def test_a_copy_to_where_a_host_has_nothing_is_none():
    flows, writes = [(0, NEAR, 300, READ)], inline(pace=60)
    _, passed = play(flows, writes=writes, judge=says(VerdictAction.PASS))
    for port in (0, 4, 255):
        judge = says(VerdictAction.MIRROR, island=port)
        system, taken = play(flows, writes=writes, judge=judge)
        assert count(system, "mirrored") == 0
        assert taken.tolist() == passed.tolist()


def test_a_system_that_does_not_end_is_a_fault():
    with pytest.raises(FaultError, match="did not end within 100,000 cycles"):
        play([(0, NEAR, 300, READ)], near=DeviceTiming(latency=20, read=1000))


def test_buckets_must_be_full_when_traffic_begins():
    with pytest.raises(InputError, match="earns 65535 tokens only after cycle 16776960"):
        play([(0, NEAR, 1, READ)], writes=[register("tokens_0", rate=1, limit=65535)])
