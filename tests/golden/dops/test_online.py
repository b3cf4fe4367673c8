import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.drawn_steps import draw_steps
from fanweave.golden.dops.kernel.timing import CompiledTiming
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.online import (
    best_in_hindsight,
    regret,
    repeat_plans,
    serve_steps,
    step_costs,
)
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.rolling import Effort, RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import FaultError

STEPS = draw_steps(20, 3, sequences=8, longest=128)


def ours():
    return RollingHorizon(Effort(trials=40, sweeps=1, small=1, least=4), offline=False)


@pytest.fixture(scope="module")
def case():
    card = replace(load_model("qwen-1.8b"), layers=2)
    work = Workload(batch=8, prefill=128, decode=0)
    return sound_problems(card, load_platform("hp32"), work, load_record("log"))[0]


@pytest.fixture(scope="module")
def costs(case):
    return step_costs(case, STEPS)


@pytest.mark.parametrize("seed", range(5))
def test_drawn_steps_keep_their_limits(seed):
    steps = draw_steps(200, seed, sequences=8, longest=128)
    assert steps == draw_steps(200, seed, sequences=8, longest=128)
    assert steps != draw_steps(200, seed + 1, sequences=8, longest=128)
    assert len(steps) == 200
    assert steps[0].phase == "prefill"
    assert Counter(step.phase for step in steps)["decode"] > 50
    assert all(1 <= step.batch <= 8 and 1 <= step.context < 128 for step in steps)
    for one, other in itertools.pairwise(steps):
        if (one.phase, other.phase, one.batch) == ("decode", "decode", other.batch):
            assert other.context == one.context + 1


@pytest.mark.parametrize("make", [ours, Heft, lambda: Static("PD+Attn")])
def test_no_step_hangs_on_those_behind_it(case, costs, make):
    whole = serve_steps(case, STEPS, costs, make())
    part = serve_steps(case, STEPS[:11], costs, make())
    assert whole.ends[:11] == part.ends
    assert whole.plans[:11] == part.plans
    assert list(whole.ends) == sorted(whole.ends)


def test_weights_stay_where_a_step_has_left_them(case):
    step = Step("decode", 4, 64)
    costs = step_costs(case, [step])
    ends = serve_steps(case, [step] * 3, costs, Static("PD")).ends
    first, second, third = np.diff([0, *ends])
    assert first > 2 * second
    assert second == third


def test_in_hindsight_a_scheduler_knows_how_many_steps_are_left(case, costs):
    """A load is worth more where it is used more often."""
    known = serve_steps(case, STEPS, costs, Heft(), hindsight=True)
    online = serve_steps(case, STEPS, costs, Heft())
    assert known.plans != online.plans


def test_a_step_is_planned_anew_when_it_must(case):
    """The first two, where a load has twice as many uses, and where the work is another."""
    steps = [Step("decode", 8, 64)] * 17 + [Step("decode", 1, 64)] * 2
    plans = serve_steps(case, steps, step_costs(case, steps), ours()).plans
    anew = [0, *(i for i in range(1, len(plans)) if plans[i] is not plans[i - 1])]
    assert anew == [0, 1, 3, 7, 15, 17]


def test_repeated_plans_take_what_the_step_took_that_had_them(case):
    step = Step("decode", 4, 64)
    costs = step_costs(case, [step])
    run = serve_steps(case, [step], costs, Static("PD"), hindsight=True)
    again = repeat_plans(case, [step] * 3, costs, {"decode": run.plans[0]})
    assert again.ends[:1] == run.ends
    first, second, third = np.diff([0, *again.ends])
    assert first > second == third


def test_regret_is_over_the_best_of_all_that_is_static(case, costs):
    served = serve_steps(case, STEPS, costs, ours())
    known = best_in_hindsight(case, STEPS, costs, {"RHLS": served})
    for name, total in known.schedulers.items():
        run = serve_steps(case, STEPS, costs, Static(name), hindsight=True)
        assert run.total == total
    assert set(known.schedulers) <= set(STATIC)
    assert len(known.plans) == (len(known.schedulers) + 1) ** 2
    found = regret(case, STEPS, ours())
    best = min(known.schedulers.values())
    least = min(best, *known.plans.values())
    assert found.over_schedulers == served.total / best - 1
    assert found.over_plans == served.total / least - 1 >= found.over_schedulers
    assert known.schedulers[found.scheduler] == best
    # Whatever keeps to the worst list has more of it.
    worst = max(known.schedulers, key=known.schedulers.__getitem__)
    assert regret(case, STEPS, Static(worst)).over_schedulers > max(0, found.over_schedulers)


def test_steps_that_overlap_are_a_fault(case, costs, monkeypatch):
    monkeypatch.setattr(CompiledTiming, "wait", lambda self, time: None)
    with pytest.raises(FaultError, match="begins before the pass before it ends"):
        serve_steps(case, STEPS, costs, Heft())
