from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.bounds import LowerBound
from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Step


def without_npu(*, pims=1, host_tflops=16.0):
    """Processing in memory beside a host that computes as fast."""
    base = load_platform("hp32")
    devices = [
        replace(d, peak_tflops=host_tflops) if d.type == "cpu" else d
        for d in base.devices
        if d.type != "npu"
    ]
    return replace(base, devices=tuple(devices[: 1 + pims]))


def case(platform):
    card = replace(load_model("qwen-1.8b"), layers=2)
    return problem(card, platform, Workload(batch=4, prefill=64, decode=3), load_record("log"))


def test_the_host_shares_the_work_where_there_is_no_npu():
    found = case(without_npu())
    assert found.platform.indices("npu") == []
    costs = found.tables.step(Step("prefill", 4, 64))
    layouts = [0] * len(found.flat.graph.weights)
    bound = LowerBound(found.flat, found.platform, layouts)
    bound.add(costs, cold=True)
    kinds = found.flat.class_of
    table = np.where(
        (found.flat.weight_of >= 0)[:, None], costs.cold[0, kinds], costs.compute[0, kinds]
    )
    least = np.where(found.flat.legal, table, 1 << 60).min(axis=1)
    assert bound.prefill >= -(-int(least.sum()) // 2)
    # One device alone could not do it in that time: the work is that of two.
    assert bound.prefill < int(least.sum())


@pytest.mark.parametrize("host_tflops", [0.001, 16.0, 1000.0])
def test_no_schedule_is_quicker_than_the_bound_without_an_npu(host_tflops):
    found = case(without_npu(host_tflops=host_tflops))
    for scheduler in (Heft(), Static("AF")):
        account = MemoryTrace()
        result = imitate(found, scheduler, observer=account)
        assert np.array_equal(account.loads, result.loads)
        assert 0 < result.lower_bound <= result.total
