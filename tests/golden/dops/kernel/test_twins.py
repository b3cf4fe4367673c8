"""Compiled schedulers on the compiled machine equal the plain ones on the plain machine."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.schedulers.bifocal import Bifocal, BifocalParameters
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload

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
    return problem(card, load_platform(platform), work, load_record(record), sharding=sharding)


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


@pytest.mark.parametrize("name", STATIC)
def test_static_baselines(name):
    assert_equal(case("log"), Static(name))


def test_heft():
    assert_equal(case("trace"), Heft())
