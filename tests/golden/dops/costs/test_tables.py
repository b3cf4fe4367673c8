from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.dops.work import Step


def tables():
    card = replace(load_model("qwen-1.8b"), layers=2)
    work = Workload(batch=8, prefill=64, decode=4)
    return sound_problems(card, load_platform("hp32"), work, load_record("log"))[0].tables


@pytest.mark.parametrize("step", [Step("decode", 8, 64), Step("decode", 1, 65)])
def test_a_step_costs_the_same_after_any_other(step):
    """Other numbers of sequences, longer contexts and prefill before it change nothing."""
    used = tables()
    for before in (Step("decode", 1, 64), Step("prefill", 2, 32), Step("decode", 4, 70)):
        used.step(before)
    for name, one, other in zip(
        used.step(step)._fields, used.step(step), tables().step(step), strict=True
    ):
        assert np.array_equal(one, other), name
