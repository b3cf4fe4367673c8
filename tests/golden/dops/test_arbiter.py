from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops import arbiter
from fanweave.golden.dops.arbiter import ArbiterParameters, arbitrate, blocks_of
from fanweave.golden.dops.layouts import Layout, host_bytes
from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, problem
from fanweave.golden.dops.platforms import GIB, load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import FaultError, InputError

TRACE = load_record("trace")


def case(*, layers=4, model="qwen-1.8b", record=TRACE, platform=None, decode=4):
    card = replace(load_model(model), layers=layers)
    work = Workload(batch=4, prefill=64, decode=decode)
    return problem(card, platform or load_platform("hp32"), work, record)


def bifocal():
    return Bifocal(TRACE.bifocal)


def test_blocks_are_weights_of_one_kind_in_a_run_of_layers():
    found = case(layers=5)
    blocks = blocks_of(found, 4)
    kinds = {"Q", "K", "V", "O", "FFN_W1", "FFN_W3", "FFN_W2"}
    assert {(b.kind, b.first_layer) for b in blocks} == {(k, at) for k in kinds for at in (0, 4)}
    names = found.flat.graph.weights
    (block,) = (b for b in blocks if b.kind == "FFN_W1" and b.first_layer == 4)
    assert [names[w] for w in block.weights] == ["L4_FFN_W1_s0", "L4_FFN_W1_s1"]
    assert sorted(w for b in blocks for w in b.weights) == list(range(len(names)))


@pytest.mark.parametrize("dominant", [False, True])
def test_a_search_never_ends_later_than_what_it_began_with(dominant):
    found = case()
    result = arbitrate(found, bifocal, ArbiterParameters(dominant=dominant))
    assert result.linear == imitate(found, bifocal()).total
    assert result.schedule.total < result.linear
    again = imitate(found, bifocal(), layouts=list(result.layouts))
    assert again.total == result.schedule.total
    for block, layout in zip(result.blocks, result.chosen, strict=True):
        assert {result.layouts[w] for w in block.weights} == {layout}
    if dominant:
        count = len(found.flat.graph.weights)
        single = [imitate(found, bifocal(), layouts=[each] * count).total for each in range(3)]
        assert result.schedule.total <= min(single)


def test_everything_on_the_npu_gets_its_tiles():
    result = arbitrate(case(), lambda: Static("all-NPU"), ArbiterParameters(passes=1, tries=0))
    assert set(result.chosen) == {Layout.NPU}
    assert result.tried == 2


def test_a_pass_proposes_a_part_of_the_blocks_with_the_largest_gains():
    search = arbiter._Search(case(), bifocal, ArbiterParameters(passes=5), False)
    linear = [Layout.LINEAR] * len(search.blocks)
    schedule = search.run(linear)
    proposals = sorted(search.proposals(schedule, linear), key=lambda p: (-p[0], p[1]))
    proposed = search.propose(schedule, linear)
    changed = [n for n, layout in enumerate(proposed) if layout != Layout.LINEAR]
    assert len(changed) == 2  # a fifth of seven, rounded up
    assert set(changed) == {number for _, number, _ in proposals[:2]}
    assert search.proposals(schedule, proposed)
    assert all(number not in changed for _, number, _ in search.proposals(schedule, proposed))


def test_a_block_for_the_type_that_loads_it_less_is_taken_back():
    found = case()
    wrong = [Layout.PIM] * len(blocks_of(found, 4))
    search = arbiter._Search(found, lambda: Static("all-NPU"), ArbiterParameters(tries=99), False)
    schedule = search.run(wrong)
    assert len(search.misplaced(schedule, wrong)) == len(wrong)
    better, chosen = search.take_back(schedule, wrong)
    assert better.total < schedule.total
    assert set(chosen) == {Layout.LINEAR}


def test_nothing_to_search_is_refused():
    with pytest.raises(InputError, match="conversions cost nothing under record log"):
        arbitrate(case(record=load_record("log")), bifocal)
    with pytest.raises(InputError, match="tries = -1 must be an integer of at least 0"):
        ArbiterParameters(tries=-1)


def test_two_copies_must_fit_at_the_host():
    assert host_bytes(1000, Layout.DUAL) == 1900
    base = load_platform("hp32")
    devices = [replace(d, capacity_bytes=GIB // 2) if d.type == "cpu" else d for d in base.devices]
    found = case(platform=replace(base, devices=tuple(devices)))
    count = len(found.flat.graph.weights)
    imitate(found, Static("PD"))
    with pytest.raises(InputError, match=r"at host CPU0, which has .*: 0\.\d+ GiB missing"):
        imitate(found, Static("PD"), layouts=[int(Layout.DUAL)] * count)


def small_npu():
    """An NPU that cannot hold all weights: they are dropped and loaded again."""
    base = load_platform("hp32")
    devices = [replace(d, capacity_bytes=GIB // 10) if d.type == "npu" else d for d in base.devices]
    return case(platform=replace(base, devices=tuple(devices)), decode=6)


def test_loads_and_evictions_balance_under_every_layout():
    found = small_npu()
    count = len(found.flat.graph.weights)
    for layout in Layout:
        account = MemoryTrace()
        schedule = imitate(
            found, Static("all-NPU"), layouts=[int(layout)] * count, observer=account
        )
        assert np.array_equal(account.loads, schedule.loads)
        assert schedule.loads.max() > 1


def test_a_weight_that_is_lost_without_a_trace_is_a_fault(monkeypatch):
    found = small_npu()
    search = arbiter._Search(found, lambda: Static("all-NPU"), ArbiterParameters(), False)
    original = DeviceMemory._free

    def forget(memory, excess):
        original(memory, excess)
        if excess > 0 and memory._sizes:
            weight, size = memory._sizes.popitem()
            memory.weights -= size
            assert weight >= 0

    monkeypatch.setattr(DeviceMemory, "_free", forget)
    with pytest.raises(FaultError, match="rule 'bytes are conserved' is broken"):
        search.run([Layout.LINEAR] * len(search.blocks))
