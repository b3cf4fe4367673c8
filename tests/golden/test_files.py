"""Files replaced whole, and what is not a file."""

import os
import stat
import threading

import pytest

from fanweave.golden.files import replace_file


def test_replaces(tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result"]


def test_a_failure_leaves_the_file(tmp_path, monkeypatch):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def full(source, target):
        raise OSError("full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result"]


def test_a_link_stays(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    replace_file(pipe, b"new")
    reader.join(timeout=10)
    assert found == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
