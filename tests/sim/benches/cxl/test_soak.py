"""Rounds of random traffic in Verilator, short ones."""

import pytest

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.sim.benches.cxl.bench import rows
from fanweave.sim.benches.cxl.checker import DifferenceError
from fanweave.sim.benches.cxl.records import Gave, Moved
from fanweave.sim.benches.cxl.soak import check, play
from fanweave.sim.benches.cxl.traffic import RandomTraffic
from fanweave.sim.benches.cxl.verilated import Devices, Traffic

pytestmark = pytest.mark.verilator

CONFIG = PRESETS["tiny"]
PORTS = frozenset({2, 3})


def run(devices, *, timeout=2000, requests=1500, **traffic):
    made = RandomTraffic(CONFIG, seed=1, requests=requests, **traffic)
    with Traffic(CONFIG) as simulation:
        plan = made.plan(timeout=timeout)
        return list(simulation.play(plan, limit=200_000, seed=2, devices=devices))


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_requests_and_snoops_are_answered_once_in_order(stall):
    devices = Devices(stall=stall)
    checker = check(CONFIG, iter(run(devices, snoops=200)), devices)
    assert checker.count["answered"] > 3000
    assert checker.count["snooped"] > 200
    assert checker.count["lost"] == 0


def test_ports_are_bound_and_unbound_under_way():
    devices = Devices(stall=0.1)
    records = run(devices, rebinds=30)
    checker = check(CONFIG, iter(records), devices)
    assert (
        checker.count["delivered"] < check(CONFIG, iter(run(devices)), devices).count["delivered"]
    )


def test_late_and_double_answers_go_nowhere():
    devices = Devices(delay=(1, 90), faulty=PORTS)
    checker = check(CONFIG, iter(run(devices, timeout=64, gap=4.0)), devices)
    assert 100 < checker.count["lost"] < checker.count["answered"] / 2


def test_a_device_that_says_nothing_costs_only_its_own_requests():
    devices = Devices(silent=frozenset({3}))
    checker = check(CONFIG, iter(run(devices, timeout=200)), devices)
    assert 100 < checker.count["lost"] < checker.count["answered"]


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_pages_move_while_hosts_read_and_write_them(stall):
    devices = Devices(stall=stall, promote=0.5, single=True)
    checker = check(CONFIG, run(devices, moves=5, requests=3000), devices)
    count = checker.count
    assert count["end"] + count["home"] > 4
    assert count["flip"] > 50
    assert count["give_up"] == count["lost"] == 0
    assert checker.contents.reads > 2000


def test_pages_stay_where_they_are_if_a_device_says_nothing():
    devices = Devices(silent=frozenset({3}), promote=0.5, single=True)
    checker = check(CONFIG, run(devices, timeout=200, moves=5), devices)
    assert checker.count["give_up"] > 4
    assert checker.count["flip"] < checker.count["hold"]
    assert checker.contents.reads > 100


def test_ports_are_bound_and_unbound_while_pages_move():
    devices = Devices(promote=0.5, single=True)
    checker = check(CONFIG, run(devices, moves=5, rebinds=30), devices)
    assert checker.count["flip"] > 10
    assert checker.contents.reads > 500


@pytest.mark.parametrize("stall", [0.0, 0.2])
def test_ports_die_and_come_back_while_pages_move(stall):
    devices = Devices(stall=stall, promote=0.5, single=True)
    records = run(devices, timeout=300, moves=5, deaths=5, requests=5000)
    checker = check(CONFIG, records, devices)
    assert checker.died == PORTS
    assert not checker.dead
    assert checker.count["lost"] > 20
    assert checker.count["flip"] > 20
    assert checker.contents.reads > 3000


def test_a_log_of_a_page_that_did_not_move_is_refused():
    """Requests go where the model does not know that their page is."""
    devices = Devices(promote=0.5, single=True)
    records = run(devices, moves=5, requests=3000)
    steps = [record for record in records if isinstance(record.what, Moved)]
    first = next(record for record in steps if record.what.step is MoveStep.FLIP)
    rest = [record for record in records if record is not first]
    with pytest.raises(DifferenceError):
        check(CONFIG, rest, devices)


def test_a_log_with_an_answer_too_few_is_refused():
    devices = Devices()
    records = run(devices)
    last = max(
        place
        for place, record in enumerate(records)
        if isinstance(record.what, Gave) and record.what.port < CONFIG.upstream
    )
    with pytest.raises(DifferenceError, match="not everything is answered"):
        check(CONFIG, iter([*records[:last], *records[last + 1 :]]), devices)


def test_a_run_that_does_not_end_is_reported():
    traffic = RandomTraffic(CONFIG, seed=1, requests=100)
    with Traffic(CONFIG) as simulation:
        played = simulation.play(traffic.plan(timeout=1000), limit=250)
        with pytest.raises(FaultError, match="not all was answered, in cycle 250"):
            list(played)


def test_a_round_says_what_it_did(monkeypatch):
    line = play(seed=3, config="tiny")
    assert line.startswith("tiny: ")
    with pytest.raises(InputError, match="unknown preset 'huge' of unit switch; choose one of"):
        play(seed=3, config="huge")


def test_rows_of_the_bench():
    found = {row.case: row.value for row in rows(quick=True, seed=1)}
    assert found["tiny, idle, request to the device"] == 4
    assert found["tiny, idle, answer to the host"] == 3
    assert 0.9 < found["tiny, reads to all devices"] <= 1
    assert 0.9 < found["tiny, writes to all devices"] <= 1
    held, whole = found["tiny, idle, its lines held"], found["tiny, idle, a page moves"]
    assert 64 < held < whole < 1000
    assert found["tiny, reads to all devices, a page moves"] > whole
    assert found["tiny, reads of others meanwhile"] > 0.5


def test_more_snoops_than_tags_are_refused():
    with pytest.raises(InputError, match="snoops = 5000 must be 4096 at most"):
        RandomTraffic(CONFIG, seed=1, requests=1, snoops=5000)
