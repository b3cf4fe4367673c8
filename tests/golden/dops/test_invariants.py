"""Each rule of a schedule refuses a schedule that breaks it, and the unharmed one passes."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from fanweave.golden.dops.invariants import CHECKED, Invariants
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.place import imitate, memory_limits, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import FaultError

WEIGHTS = PURPOSES.index("weights")
#: Messages with an output for a consumer elsewhere.
CARRYING = [PURPOSES.index(each) for each in ("reload", "move")]


@dataclass(frozen=True, kw_only=True)
class Prefill:
    """The first pass of a run, and what checks it."""

    case: object
    log: PassLog
    costs: object
    devices: list

    def check(self, log, devices=None):
        flat, platform = self.case.flat, self.case.platform
        layouts = [0] * len(flat.graph.weights)
        found = Invariants(flat, platform, memory_limits(platform), layouts)
        found.check(log, self.costs, self.devices if devices is None else devices)


@pytest.fixture(scope="module")
def prefill():
    card = replace(load_model("qwen-1.8b"), layers=2)
    workload = Workload(batch=4, prefill=64, decode=1)
    case = problem(card, load_platform("hp32"), workload, load_record("log"))
    passes = []

    def observe(work, log, plan):
        passes.append((log.copy(), work.costs, work.devices))

    imitate(case, Static("PD+Attn"), observer=observe)
    log, costs, devices = passes[0]
    return Prefill(case=case, log=log, costs=costs, devices=devices)


def changed(log, name, index, value):
    """A log with one number of one array changed by a function."""
    array = getattr(log, name).copy()
    array[index] = value(array[index])
    return replace(log, **{name: array})


def last_of(log, purpose):
    return int(np.flatnonzero(log.messages[:, 0] == purpose)[-1])


def elsewhere(run):
    wrong = next(d for d in range(len(run.case.platform.devices)) if d not in run.devices[0])
    return changed(run.log, "place", 0, lambda place: wrong)


def short(run):
    return changed(run.log, "finish", int(run.log.finish.argmax()), lambda time: time - 1)


def impatient(run):
    """The last message of a link, with an output, arrives a second late: nobody waited for it."""
    messages = run.log.messages.copy()
    links = messages[:, 2] * len(run.case.platform.devices) + messages[:, 3]
    late = next(
        i
        for i in np.flatnonzero(np.isin(messages[:, 0], CARRYING))
        if messages[i, 4] == messages[links == links[i], 4].max()
    )
    messages[late, 4:] += 10**12
    return replace(run.log, messages=messages)


def overlapping(run):
    """The second operator of a device begins with its first."""
    log = run.log
    busy = [i for i in np.argsort(log.start) if log.place[i] == log.place[0]]
    first, second = next((a, b) for a, b in pairwise(busy) if log.finish[a] > log.start[a])
    start = log.start[first]
    return changed(log, "start", second, lambda time: start)


def crowded(run):
    """Two messages of one link, one of which begins before the other ends."""
    log = run.log
    links = log.messages[:, 2] * 1000 + log.messages[:, 3]
    order = np.lexsort((log.messages[:, 4], links))
    first, second = next((a, b) for a, b in pairwise(order) if links[a] == links[b])
    took = log.messages[second, 5] - log.messages[second, 4]
    messages = log.messages.copy()
    messages[second, 4] = messages[first, 5] - 1
    messages[second, 5] = messages[second, 4] + took
    return replace(log, messages=messages)


def lost(run):
    """A message of an output that a consumer elsewhere needs is not sent."""
    which = int(np.flatnonzero(np.isin(run.log.messages[:, 0], CARRYING))[0])
    return replace(run.log, messages=np.delete(run.log.messages, which, axis=0))


def unloaded(run):
    which = last_of(run.log, WEIGHTS)
    return replace(run.log, messages=np.delete(run.log.messages, which, axis=0))


def from_nowhere(run):
    """Weights come from a device that does not store them, over a link that is free."""
    log = run.log
    which = last_of(log, WEIGHTS)
    target = log.messages[which, 3]
    devices = range(len(run.case.platform.devices))
    other = next(d for d in devices if d not in (target, log.messages[which, 2]))
    return changed(log, "messages", (which, 2), lambda source: other)


def too_full(run):
    return changed(run.log, "used", 1, lambda used: 1 << 60)


BROKEN = {
    "operators run where they may": elsewhere,
    "operators take their time": short,
    "operators wait for what they need": impatient,
    "one thing at a time on a device": overlapping,
    "one message at a time on a link": crowded,
    "bytes are conserved": lost,
    "weights are loaded before they are used": unloaded,
    "weights are loaded from where they are stored": from_nowhere,
    "memory stays within its budget": too_full,
}


def test_each_rule_has_a_schedule_that_breaks_it():
    assert tuple(BROKEN) == CHECKED


def test_the_unharmed_schedule_passes(prefill):
    prefill.check(prefill.log)


@pytest.mark.parametrize("rule", CHECKED)
def test_a_schedule_that_breaks_a_rule_is_refused_by_its_name(prefill, rule):
    with pytest.raises(FaultError, match=f"pass 0: rule '{rule}' is broken"):
        prefill.check(BROKEN[rule](prefill))


def test_another_phase_has_its_own_devices(prefill):
    flat, platform = prefill.case.flat, prefill.case.platform
    layouts = [0] * len(flat.graph.weights)
    found = Invariants(flat, platform, memory_limits(platform), layouts)
    found.check(prefill.log, prefill.costs, prefill.devices)
    nowhere = [[] for _ in prefill.devices]
    with pytest.raises(FaultError, match="pass 1: rule 'operators run where they may'"):
        found.check(prefill.log, prefill.costs, nowhere)
