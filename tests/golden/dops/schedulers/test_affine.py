from dataclasses import replace

import numpy as np

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.affine import Affine, amortised
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import run_sound
from fanweave.golden.dops.sound_problem import sound_problems


def test_a_load_counts_with_its_share_and_is_paid_whole():
    card = replace(load_model("qwen-1.8b"), layers=1)
    work = Workload(batch=1, prefill=16, decode=8)
    (case, *_) = sound_problems(card, load_platform("hp32"), work, load_record("log"))
    seen = []

    def look(asked, log, plan):
        seen.append((asked, amortised(asked), asked.costs.link.copy()))

    result = run_sound(case, Static("PD"), plain=True, observer=look)
    assert result.scheduler == "PD"
    for asked, shared, link in seen:
        uses = 8 - asked.token if asked.phase == "decode" else 1
        assert np.array_equal(shared.link, link // uses)
        assert np.array_equal(asked.costs.link, link)
    weights = result.kept[1].log.messages
    loads = weights[weights[:, 0] == 4]
    kinds, layout = case.flat.class_of[loads[:, 1]], 0
    took = loads[:, 5] - loads[:, 4]
    assert len(loads)
    # The last pass has overwritten nothing of the weights' tables.
    assert np.array_equal(took, seen[0][0].costs.link[layout, kinds, loads[:, 3]])


def test_the_rule_says_where():
    rule = Static("PD")
    scheduler = Affine(Heft(), rule)
    assert scheduler.name == "PD"
    for kind in ("Q", "LN"):
        assert scheduler.types(kind, "decode") == rule.types(kind, "decode") == ("pim",)
