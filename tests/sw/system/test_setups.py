"""What settings of a scenario set up, and what compiled policies gain where a memory is slow."""

import numpy as np
import pytest

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import GoalKind
from fanweave.golden.fabric.scenario import load_scenario
from fanweave.sw.system.run import flow_class, run_golden
from fanweave.sw.system.setups import COMPILED, prepare

_SLOW = load_scenario("slow_device").with_layers(1)
_BY_NAME = {each.name: each for each in _SLOW.settings}


def ran(name):
    return run_golden(prepare(_SLOW, _BY_NAME.get(name)), IslandConfig()).result


def test_policies_choose_what_hosts_have_open():
    limits = [host.outstanding for host in prepare(_SLOW, None).around.hosts]
    assert limits == [56, 128, 32]
    assert prepare(_SLOW, _BY_NAME["off"]).around.hosts[0].outstanding == 64


def test_attention_always_finds_a_tag_of_the_link():
    """What it may have open and what reads of weights leave are all tags of the link's port."""
    (spread,) = (goal for goal in _SLOW.policies.goals if goal.kind is GoalKind.SPREAD_READS)
    slots = PRESETS[prepare(_SLOW, None).graph.places["island0"].switch].slots
    assert _SLOW.policies.outstanding["gpu0"] + setting(spread, "open") == slots


@pytest.mark.parametrize("name", ["kv_near_one_memory", "kv_near_attention_56"])
def test_compiled_policies_are_faster_with_a_tail_that_is_no_longer(name):
    compiled, static = ran(COMPILED), ran(name)
    assert compiled.cycles < 0.95 * static.cycles
    assert compiled.flows["attention"].p99 <= static.flows["attention"].p99


def test_the_tail_is_two_cycles_above_the_way_of_an_idle_fabric():
    """With nothing else on the fabric, nearly half of attention's messages take 115 cycles."""
    prepared = prepare(_SLOW, _BY_NAME["kv_near_attention_56"])
    for row, movement in zip(prepared.plan.flows, prepared.plan.movements, strict=True):
        if flow_class(prepared.graph, movement) != "attention":
            row[1] = 0
    run = run_golden(prepared, IslandConfig())
    assert list(run.result.flows) == ["attention"]
    assert run.result.flows["attention"].p99 == 115
    traffic = run.system.traffic
    over_link = np.array(["kv_a" in name for name in prepared.plan.movements])[traffic.flow]
    assert (traffic.done - traffic.sent)[over_link].min() == 115
    assert over_link.mean() > 0.4
    assert ran(COMPILED).flows["attention"].p99 == 117
