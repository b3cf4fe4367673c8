from dataclasses import fields, replace

import pytest

from fanweave.golden.dops import waterfall as module
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import place_sound
from fanweave.golden.dops.sound_problem import SoundOptions, sound_problems
from fanweave.golden.dops.waterfall import STEPS, waterfall
from fanweave.golden.errors import InputError

CARD = replace(load_model("qwen-1.8b"), layers=2)
WORK = Workload(batch=4, prefill=64, decode=8)


def total(cases, make):
    return place_sound(cases, make)[1].total


@pytest.mark.parametrize("name", record_names())
def test_it_leads_from_imitation_to_sound_and_adds_up(name):
    platform, record = load_platform("hp32"), load_record(name)
    found = waterfall(2.23, CARD, platform, [WORK], record)
    assert found.published + sum(term for _, term in found.terms) == found.sound
    assert found.imitated == found.published + found.terms[0][1]
    case = problem(CARD, platform, WORK, record)
    makers = (lambda: Static("PD"), lambda: Bifocal(record.bifocal))
    pd, bifocal = (imitate(case, make()).total for make in makers)
    assert found.imitated == round(pd / bifocal * 1e6)
    sound = sound_problems(CARD, platform, WORK, record)
    pd, bifocal = (total(sound, make) for make in makers)
    assert found.sound == round(pd / bifocal * 1e6)
    # Each term but those of things that the record already has is there.
    assert len({term for _, term in found.terms}) >= 5


def test_a_workload_that_does_not_fit_is_left_out_of_all_steps(monkeypatch):
    platform, record = load_platform("hp32"), load_record("log")
    other = replace(WORK, batch=5)

    def short_of_memory(cases, make, *, sampled, options):
        if options.free_kv and cases[0].workload == other:
            raise InputError("nothing fits")
        return place_sound(cases, make, sampled=sampled, options=options)

    monkeypatch.setattr(module, "place_sound", short_of_memory)
    found = waterfall(2.23, CARD, platform, [WORK, other], record)
    alone = waterfall(2.23, CARD, platform, [WORK], record)
    assert (found.workloads, alone.workloads, alone.refused) == (1, 1, ())
    assert found.terms == alone.terms
    assert found.refused == ("5 x (64 + 8) at 'keys and values where it is cheapest'",)
    with pytest.raises(InputError, match="nothing fits"):
        waterfall(2.23, CARD, platform, [other], record)


def test_every_option_is_a_step():
    assert {name for name, _ in STEPS} == {field.name for field in fields(SoundOptions)}
