"""Compiled schedulers on the compiled machine equal the plain ones on the plain machine."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, make_machine, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.schedulers.base import Pass, allowed_devices
from fanweave.golden.dops.schedulers.bifocal import Bifocal, BifocalParameters
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import InputError

PARAMETERS = {
    "as recorded": {},
    "all terms": {"gamma": 100, "consistency": 2000, "hints": 5, "reuse": 50, "amortise": 500},
    "long chains": {"horizon": 5, "gamma": 900, "hints": 40},
    "memories of the run": {"memory": "run", "hints": 8, "least_reuse": 4},
    "no lookahead": {"horizon": 1},
}


def case(record, *, model="qwen-1.8b", platform="hp32", batch=4, prefill=256, pieces=2, layers=2):
    card = replace(load_model(model), layers=layers)
    work = Workload(batch=batch, prefill=prefill, decode=4)
    sharding = Sharding(attention=pieces, feed_forward=pieces)
    record = load_record(record) if isinstance(record, str) else record
    return problem(card, load_platform(platform), work, record, sharding=sharding)


def assert_equal(problem_, scheduler):
    plain, fast = imitate(problem_, scheduler, plain=True), imitate(problem_, scheduler)
    assert plain.token_ends == fast.token_ends
    assert plain.prefill == fast.prefill
    assert np.array_equal(plain.loads, fast.loads)
    for one, other in zip(plain.kept, fast.kept, strict=True):
        for name, value in vars(one.log).items():
            assert np.array_equal(value, getattr(other.log, name)), name


@pytest.mark.parametrize("record", record_names())
@pytest.mark.parametrize("name", PARAMETERS)
def test_bifocal(record, name):
    parameters = BifocalParameters(**PARAMETERS[name])
    for seed in range(2):
        assert_equal(case(record), Bifocal(parameters, seed=seed))


@pytest.mark.parametrize(
    "sizes",
    [
        {"model": "llama-7b", "platform": "hp64", "pieces": 4, "batch": 1},
        {"model": "mixtral-8x7b", "platform": "hp64", "pieces": 4, "layers": 1},
        {"model": "llama-7b", "platform": "hp0", "pieces": 1},
        {"model": "llama-7b", "platform": "hp32", "pieces": 2, "batch": 256, "prefill": 2048},
    ],
    ids=["four PIMs", "experts", "no PIM", "history at the host"],
)
def test_bifocal_elsewhere(sizes):
    assert_equal(case("log", **sizes), Bifocal())


@pytest.mark.parametrize("compiled", [False, True])
def test_bifocal_places_after_hours_as_at_the_begin(compiled):
    problem_ = case("log")
    costs = problem_.tables.step(Step("prefill", 4, 256))
    layouts = [0] * len(problem_.flat.graph.weights)
    scheduler = compiled_twin(Bifocal()) if compiled else Bifocal()
    types = functools.partial(scheduler.types, phase="prefill")
    devices = allowed_devices(problem_.flat, problem_.platform, types)
    plans = []
    for moment in (0, 1 << 50, 1 << 54):
        machine = make_machine(problem_, layouts, compiled=compiled)
        machine.wait(moment)
        machine.begin(costs)
        scheduler.start(problem_.flat, problem_.platform)
        work = Pass(
            timing=machine, costs=costs, phase="prefill", token=0, tokens=4, devices=devices
        )
        plans.append(scheduler.place(work))
        assert machine.makespan() > moment
    assert plans[0] == plans[1] == plans[2]


def test_a_run_that_is_longer_than_can_be_counted_is_refused():
    slow = replace(load_record("log"), link_gib=5e-7)
    for scheduler in (Bifocal(), Heft(), Static("PD")):
        for plain in (False, True):
            with pytest.raises(InputError, match=r"takes over 72,057 s.* give HP32 faster"):
                imitate(case(slow, batch=1, prefill=8), scheduler, plain=plain)


def test_an_operator_that_can_run_nowhere_is_named():
    problem_ = case("log", batch=1, prefill=8)
    machine = make_machine(problem_, [0] * len(problem_.flat.graph.weights), compiled=True)
    machine.begin(problem_.tables.step(Step("prefill", 1, 8)))
    with pytest.raises(InputError, match="operator L0_LN can run on none of its devices"):
        machine.check_placed(False, 0)


@pytest.mark.parametrize("name", STATIC)
def test_static_baselines(name):
    assert_equal(case("log"), Static(name))


def test_heft():
    assert_equal(case("trace"), Heft())
