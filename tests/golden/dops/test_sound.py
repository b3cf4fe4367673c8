from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.costs.physical import Physical
from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.kernel.timing import CompiledTiming
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import GIB, load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Cpop, Heft
from fanweave.golden.dops.schedulers.rolling import Effort, RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import place_sound, run_sound
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.errors import FaultError, InputError

RECORD = load_record("log")


def cases(*, layers=2, platform="hp32", batch=4, prefill=64, decode=4):
    card = replace(load_model("qwen-1.8b"), layers=layers)
    if isinstance(platform, str):
        platform = load_platform(platform)
    work = Workload(batch=batch, prefill=prefill, decode=decode)
    return sound_problems(card, platform, work, RECORD)


@pytest.mark.parametrize("name", [*STATIC, "HEFT", "Bifocal"])
def test_compiled_equals_plain(name):
    makers = {"HEFT": Heft, "Bifocal": lambda: Bifocal(RECORD.bifocal)}
    for case in cases():
        make = makers.get(name, lambda: Static(name))
        plain, fast = run_sound(case, make(), plain=True), run_sound(case, make())
        assert plain.token_ends == fast.token_ends
        assert np.array_equal(plain.loads, fast.loads)
        assert fast.lower_bound <= fast.total


def test_passes_run_one_after_the_other():
    for case in cases():
        result = run_sound(case, Heft())
        first, token, _ = result.kept
        assert token.log.start.min() >= first.log.finish.max() == result.prefill
        assert result.token_ends == sorted(result.token_ends)


def test_keys_and_values_live_where_the_scheduler_ends_first():
    found = cases()
    assert [case.home.place for case in found] == ["pim", "npu", "host"]
    for scheduler in (Heft, lambda: Static("PD"), lambda: Static("all-NPU")):
        totals = {case.home.place: run_sound(case, scheduler()).total for case in found}
        case, result = place_sound(found, scheduler)
        assert result.total == min(totals.values()) == totals[case.home.place]
        assert len(set(totals.values())) > 1
    assert case.home.place == "npu"


def test_a_home_too_small_is_left_out():
    platform = load_platform("hp32")
    devices = [
        replace(d, capacity_bytes=GIB // 2 if d.type == "pim" else d.capacity_bytes)
        for d in platform.devices
    ]
    small = replace(platform, devices=tuple(devices))
    places = [case.home.place for case in cases(platform=small, batch=64, prefill=2048)]
    assert places == ["npu", "host"]


def test_embedding_and_head_are_there():
    case = cases()[0]
    graph = case.flat.graph
    kinds = [operator.kind for operator in graph.operators]
    assert kinds.count(Kind.EMBEDDING) == kinds.count(Kind.HEAD) == 1
    assert graph.operators[graph.order[0]].kind is Kind.EMBEDDING
    assert graph.operators[graph.order[-1]].kind is Kind.HEAD
    log = run_sound(case, Heft()).kept[0].log
    embedding, head = kinds.index(Kind.EMBEDDING), kinds.index(Kind.HEAD)
    assert log.place[embedding] == case.platform.host
    # Only what stores keys and values may end later.
    assert log.finish[head] == log.finish[~case.flat.writer].max()


def test_baselines_keep_to_where_the_weights_are():
    for case in cases(layers=4, decode=32):
        result = run_sound(case, Static("PD"))
        pims = case.platform.indices("pim")
        # Nothing is loaded twice onto a device. A second copy comes only where loading it costs
        # nothing, because it began ahead.
        assert result.loads.max() == 1
        alone = run_sound(replace(case, rules=MachineRules(ring_links=True)), Static("PD"))
        assert (alone.loads[:, pims].sum(axis=1) == 1).all()


def test_ours_is_not_worse_than_a_baseline():
    effort = Effort(trials=40, sweeps=1, small=1, least=4)
    for case in cases():
        best = min(run_sound(case, Static(name)).total for name in STATIC)
        ours = run_sound(case, RollingHorizon(effort))
        assert ours.scheduler == "RHLS"
        assert ours.total <= best


def test_what_beats_a_peak_is_a_fault(monkeypatch):
    honest = Physical.compute
    monkeypatch.setattr(Physical, "compute", lambda self, *args: honest(self, *args) * 9 // 10)
    with pytest.raises(FaultError, match="rule 'nothing is above a peak' is broken"):
        run_sound(cases()[0], Static("all-NPU"))


def test_a_token_that_does_not_wait_is_a_fault(monkeypatch):
    monkeypatch.setattr(CompiledTiming, "wait", lambda self, time: None)
    with pytest.raises(FaultError, match="rule 'decode follows prefill' is broken"):
        run_sound(cases()[0], Heft())


def test_what_may_run_nowhere_is_refused():
    with pytest.raises(InputError, match="may only run on pim here"):
        place_sound(cases(platform="hp0"), lambda: Static("PD"))
    _, result = place_sound(cases(platform="hp0"), Cpop)
    assert result.total > 0
