from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.platforms import GIB, load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.rolling import Effort, RollingHorizon
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import run_sound
from fanweave.golden.dops.sound_problem import SoundOptions, sound_problems
from fanweave.golden.dops.work import Step, flops, touched_weights
from fanweave.golden.errors import FaultError

RECORD = load_record("log")
NONE = MachineRules()
EFFORT = Effort(trials=40, sweeps=2, small=2, least=4)


def sound_case(*, layers=3, npu=None, model="qwen-1.8b", platform="hp32", home="host", **options):
    """A problem of mode sound with one home, on an NPU of so many GiB."""
    base = load_platform(platform)
    devices = [
        replace(d, capacity_bytes=int(npu * GIB)) if npu and d.type == "npu" else d
        for d in base.devices
    ]
    card = replace(load_model(model), layers=layers)
    found = sound_problems(
        card,
        replace(base, devices=tuple(devices)),
        Workload(batch=4, prefill=64, decode=6),
        RECORD,
        options=SoundOptions(**options),
    )
    return next(case for case in found if case.home.place == home)


@pytest.mark.parametrize("npu", [None, 0.55], ids=["roomy", "tight"])
@pytest.mark.parametrize(
    "make",
    [
        Heft,
        lambda: Static("AF"),
        lambda: Bifocal(RECORD.bifocal),
        lambda: RollingHorizon(EFFORT, offline=False),
    ],
    ids=["HEFT", "AF", "Bifocal", "RHLS"],
)
def test_compiled_equals_plain_under_all_rules(npu, make):
    case = sound_case(npu=npu, layers=2)
    assert case.rules == MachineRules(pinned=True, ring_links=True, prefetch=True)
    account = MemoryTrace()
    plain, fast = run_sound(case, make(), plain=True), run_sound(case, make(), observer=account)
    assert plain.token_ends == fast.token_ends
    assert np.array_equal(plain.loads, fast.loads)
    assert np.array_equal(account.loads, fast.loads)
    for one, other in zip(plain.kept, fast.kept, strict=True):
        for name, value in vars(one.log).items():
            if name != "messages":  # a ring's are logged in another order
                assert np.array_equal(value, getattr(other.log, name)), name
        rows = sorted(map(tuple, one.log.messages.tolist()))
        assert rows == sorted(map(tuple, other.log.messages.tolist()))
    assert fast.lower_bound <= fast.total


def test_the_newest_weight_but_one_goes_unless_the_oldest_was_not_used():
    memory = DeviceMemory(30, pinned=True)
    memory.forget_activations()
    for weight in range(4):
        memory.load(weight, 10)
    assert [weight in memory for weight in range(4)] == [True, False, True, True]
    memory.forget_activations()
    memory.touch(3)
    memory.forget_activations()
    memory.load(4, 10)  # nobody used weight 0 in the last pass
    assert [weight in memory for weight in range(5)] == [False, False, True, True, True]


def test_a_set_that_is_a_little_too_large_is_not_loaded_anew_in_every_pass():
    case = sound_case(npu=0.70, prefetch=False)
    loads = {
        pinned: run_sound(
            replace(case, rules=MachineRules(ring_links=True, pinned=pinned)), Static("all-NPU")
        ).loads.sum()
        for pinned in (False, True)
    }
    weights = len(case.flat.graph.weights)
    assert loads[False] > 5 * weights  # seven passes
    assert weights < loads[True] < loads[False] // 2


def test_a_load_begins_when_the_operator_before_it_does():
    case = sound_case()
    log = run_sound(case, Static("all-NPU")).kept[0].log
    rows = log.messages[log.messages[:, 0] == PURPOSES.index("weights")]
    assert (rows[:, 4] < log.start[rows[:, 1]]).any()
    for _, operator, _, target, begin, _ in rows.tolist():
        before = log.start[(log.place == target) & (log.start < log.start[operator])]
        assert begin >= before.max(initial=0)
    alone = replace(case, rules=replace(case.rules, prefetch=False))
    assert log.finish.max() < run_sound(alone, Static("all-NPU")).prefill


def test_a_ring_waits_for_its_links_and_keeps_them_busy():
    case = sound_case(home="pim")
    log = run_sound(case, Static("PD")).kept[1].log
    rings = log.messages[log.messages[:, 0] == PURPOSES.index("ring")]
    assert len(rings)
    for operator in set(rings[:, 1].tolist()):
        own = rings[rings[:, 1] == operator]
        assert sorted(own[:, 2].tolist()) == sorted(own[:, 3].tolist())
        assert (own[:, 4] == log.start[operator]).all()
        assert (own[:, 5] == log.finish[operator]).all()


def test_a_collective_that_uses_no_links_is_a_fault():
    case = replace(sound_case(home="pim"), rules=NONE)
    with pytest.raises(FaultError, match="rule 'collectives use links' is broken: L0_AllReduce_O"):
        run_sound(case, Static("PD"))


def test_experts_that_no_token_takes_are_held_and_not_read():
    case, small = (
        sound_case(model="mixtral-8x7b", platform="hp128", layers=1, experts=experts)
        for experts in (True, False)
    )

    def expert(of):
        return next(w for w in of.flat.graph.classes if w.kind is Kind.W1)

    held, one = expert(case), expert(small)
    assert (held.group, held.weights) == (4, 4 * one.weights)
    few, many = Step("decode", 1, 64), Step("decode", 64, 64)
    assert flops(held, many) == flops(one, many)
    assert touched_weights(held, few) == one.weights
    assert touched_weights(one, many) == one.weights
    assert 3.99 * one.weights < touched_weights(held, many) <= held.weights
