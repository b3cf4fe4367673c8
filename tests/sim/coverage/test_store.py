import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from fanweave.sim.coverage.store import coverage_folder, read_hits, record
from fanweave.sim.runner.converted import MUTATION


@pytest.fixture(autouse=True)
def build_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))


def test_nothing_was_hit_before_the_first_run():
    assert read_hits("unit") == {}


def test_runs_add_up():
    record("unit", {"a": Counter({("x", "y"): 2}), "b": Counter({("z",): 1})})
    record("unit", {"a": Counter({("x", "y"): 3, ("x", "w"): 1})})
    assert read_hits("unit") == {"a": {("x", "y"): 5, ("x", "w"): 1}, "b": {("z",): 1}}
    assert read_hits("other") == {}


def test_runs_at_the_same_time_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: record("unit", {"a": Counter({("x",): 1})}), range(40)))
    assert read_hits("unit") == {"a": {("x",): 40}}


def test_a_broken_file_heals():
    record("unit", {"a": Counter({("x",): 1})})
    file = coverage_folder() / "unit.json"
    for broken in ("{", "[]", json.dumps({"a": {"x": "many"}})):
        file.write_text(broken)
        assert read_hits("unit") == {}
    record("unit", {"a": Counter({("y",): 1})})
    assert read_hits("unit") == {"a": {("y",): 1}}


def test_mutants_count_for_nothing(monkeypatch):
    monkeypatch.setenv(MUTATION, "{}")
    record("unit", {"a": Counter({("x",): 1})})
    assert read_hits("unit") == {}
