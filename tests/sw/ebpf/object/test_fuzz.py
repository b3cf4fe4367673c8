"""The fuzzer finds what it is there to find, and a short run of it finds nothing."""

import time

import pytest

from fanweave.golden.errors import FaultError, InputError
from fanweave.sw.ebpf.object import fuzz as fuzzer
from fanweave.sw.ebpf.object.fuzz import fuzz, load_changed, mutate, play, sample_objects


def test_a_short_run_finds_nothing():
    tally = fuzz(0, 200)
    assert sum(tally.outcomes.values()) == 200
    # Some changes do no harm; most do.
    assert 20 < tally.outcomes["accepted"] < 120
    assert 0 < tally.slowest < 5


def test_valid_files_are_accepted():
    assert len(sample_objects()) == 6
    assert all(load_changed(data) for data in sample_objects())
    assert not load_changed(b"")


def test_changes_follow_from_the_seed():
    data = sample_objects()[0]
    changed = [mutate(data, seed) for seed in range(50)]
    assert changed == [mutate(data, seed) for seed in range(50)]
    assert len(set(changed)) > 45
    assert data not in changed[:3]
    assert min(map(len, changed)) < len(data) < max(map(len, changed))


def test_every_change_happens(monkeypatch):
    seen = set()
    noted = []
    for change, weight in fuzzer._CHANGES:

        def note(mutator, change=change):
            seen.add(change.__name__)
            change(mutator)

        noted.append((note, weight))
    monkeypatch.setattr(fuzzer, "_CHANGES", tuple(noted))
    for seed in range(200):
        mutate(sample_objects()[1], seed)
    assert seen == {"field", "flip", "fill", "repeat", "cut", "remove", "insert"}


def test_another_exception_than_a_refusal_is_a_fault():
    def load(data):
        raise KeyError("symbol")

    with pytest.raises(FaultError, match="change 7 of object 1: KeyError: 'symbol'"):
        fuzz(7, 1, load=load)


def test_a_loader_that_hangs_is_a_fault(monkeypatch):
    monkeypatch.setattr(fuzzer, "_SECONDS", 0.05)
    monkeypatch.setattr(fuzzer, "load_object", lambda data, name: time.sleep(5))
    with pytest.raises(FaultError, match=r"change \d+ of object \d+: _HangError: more than 0.05"):
        fuzz(0, 20)


def test_a_loader_that_takes_all_memory_is_a_fault(monkeypatch):
    monkeypatch.setattr(fuzzer, "_KIBIBYTES", -1)
    with pytest.raises(FaultError, match=r"changes 5 to 6: .* KiB more memory"):
        fuzz(5, 2, load=lambda data: True)


def test_a_round_of_the_soak(monkeypatch):
    monkeypatch.setattr(fuzzer, "_ROUND", 10)
    line = play(3)
    assert line.startswith("10 changed objects: ")
    assert line.endswith(" ms at most")
    with pytest.raises(InputError, match="the loader has no preset 'tiny'; leave --config out"):
        play(3, "tiny")
