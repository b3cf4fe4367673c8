import os
import threading
import time

import pytest

from fanweave.sim.runner.cache import BuildCache, content_key


class Builder:
    """Builds one file and counts how often it was asked to."""

    def __init__(self, text="product", size=0, delay=0.0):
        self.calls = 0
        self.text = text
        self.size = size
        self.delay = delay

    def __call__(self, folder):
        self.calls += 1
        assert list(folder.iterdir()) == []
        product = folder / "product"
        product.write_text(self.text + "x" * self.size)
        time.sleep(self.delay)
        return [product]


def test_the_second_time_nothing_is_built(tmp_path):
    cache = BuildCache(tmp_path)
    builder = Builder()
    first = cache.obtain("key", builder, label="building")
    second = cache.obtain("key", builder, label="building")
    assert (first.cached, second.cached) == (False, True)
    assert builder.calls == 1
    assert (second.folder / "product").read_text() == "product"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "product").write_text("prod"),
        lambda folder: (folder / "product").unlink(),
        lambda folder: (folder / "complete.json").unlink(),
        lambda folder: (folder / "complete.json").write_text("{"),
        lambda folder: (folder / "complete.json").write_text("{}"),
        lambda folder: (folder / "complete.json").write_text("[1]"),
    ],
)
def test_a_damaged_entry_heals(tmp_path, damage):
    cache = BuildCache(tmp_path)
    builder = Builder()
    damage(cache.obtain("key", builder, label="building").folder)
    healed = cache.obtain("key", builder, label="building")
    assert not healed.cached
    assert (healed.folder / "product").read_text() == "product"
    assert cache.obtain("key", builder, label="building").cached


def test_a_build_that_was_killed_leaves_nothing_in_the_way(tmp_path):
    (tmp_path / "key.partial").mkdir()
    (tmp_path / "key.partial" / "half").write_text("half")
    cache = BuildCache(tmp_path)
    assert not cache.obtain("key", Builder(), label="building").cached
    assert not (tmp_path / "key.partial").exists()


def test_a_build_that_fails_is_not_kept(tmp_path):
    cache = BuildCache(tmp_path)

    def fail(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.obtain("key", fail, label="building")
    assert not (tmp_path / "key").exists()
    assert not (tmp_path / "key.partial").exists()
    assert not cache.obtain("key", Builder(), label="building").cached


def test_two_at_once_build_only_once(tmp_path):
    cache = BuildCache(tmp_path)
    builder = Builder(delay=0.3)
    workers = [
        threading.Thread(target=cache.obtain, args=("key", builder), kwargs={"label": "building"})
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert builder.calls == 1


def entries(folder):
    return sorted(path.parent.name for path in folder.glob("*/complete.json"))


def age(cache, key, seconds):
    marker = cache.root / key / "complete.json"
    os.utime(marker, (time.time() - seconds, time.time() - seconds))


def test_only_the_newest_entries_stay(tmp_path):
    cache = BuildCache(tmp_path, keep=2)
    for seconds, key in ((30, "a"), (20, "b")):
        cache.obtain(key, Builder(), label="building")
        age(cache, key, seconds)
    cache.obtain("a", Builder(), label="building")
    cache.obtain("c", Builder(), label="building")
    assert entries(tmp_path) == ["a", "c"]


def test_the_size_is_bounded_but_the_last_entry_stays(tmp_path):
    cache = BuildCache(tmp_path, max_bytes=5000)
    cache.obtain("a", Builder(size=3000), label="building")
    age(cache, "a", 30)
    cache.obtain("b", Builder(size=3000), label="building")
    assert entries(tmp_path) == ["b"]
    age(cache, "b", 30)
    cache.obtain("c", Builder(size=9000), label="building")
    assert entries(tmp_path) == ["c"]


def test_keys_tell_where_a_text_ends():
    assert content_key(["ab", "c"]) != content_key(["a", "bc"])
    assert content_key(["a"]) == content_key(["a"])
