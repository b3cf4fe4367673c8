"""What a compilation is written as."""

import json
import shutil
import subprocess
import sys

import pytest

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.read import load_graph
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.maps_json import maps_from_json
from fanweave.sw.fabric.compile import compile_graph
from fanweave.sw.fabric.dialect import DIALECTS, load_dialect
from fanweave.sw.fabric.output import (
    files_of,
    manifest,
    report_document,
    report_text,
    unserved,
    write_folder,
)

_HASHES = """
import hashlib, json
from fanweave.golden.fabric.read import load_graph
from fanweave.sw.fabric.compile import compile_graph
from fanweave.sw.fabric.output import files_of
files = files_of(compile_graph(load_graph("prefill_decode")))
print(json.dumps({name: hashlib.sha256(data).hexdigest() for name, data in files.items()}))
"""


@pytest.fixture(scope="module")
def files(shipped):
    return files_of(shipped)


def test_it_is_the_same_to_the_byte_in_another_process(files, tmp_path):
    """With other temporary folders, another order of sets, and somewhere else."""
    environment = {"PYTHONHASHSEED": "7", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _HASHES],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    import hashlib

    here = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert json.loads(done.stdout) == here


def test_what_is_written_can_be_loaded(files):
    for name in ("island0", "island1", "dpu0"):
        loaded = load_object(files[f"{name}.o"], name)
        maps = maps_from_json(files[f"{name}.maps.json"].decode(), loaded, name)
        assert maps
    gpu = load_dialect(files["gpu0.o"], "gpu0.o", DIALECTS["bpftime"])
    assert maps_from_json(files["gpu0.maps.json"].decode(), gpu, "gpu0")


@pytest.mark.skipif(shutil.which("llvm-objdump") is None, reason="llvm-objdump is not installed")
@pytest.mark.parametrize("name", ["gpu0", "dpu0", "island0", "island1"])
def test_llvm_disassembles_it(files, tmp_path, shipped, name):
    file = tmp_path / f"{name}.o"
    file.write_bytes(files[file.name])
    done = subprocess.run(
        ["llvm-objdump", "-d", "--mcpu=v3", str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "file format elf64-bpf" in done.stdout
    assert "<unknown>" not in done.stdout
    for program in shipped.built[name].unit.programs:
        assert f"<{program.name}>:" in done.stdout


@pytest.mark.skipif(shutil.which("bpftool") is None, reason="bpftool is not installed")
def test_bpftool_reads_the_types(files, tmp_path):
    file = tmp_path / "island0.o"
    file.write_bytes(files[file.name])
    done = subprocess.run(
        ["bpftool", "btf", "dump", "file", str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "cxl_event" in done.stdout


def test_the_report_says_what_serves_what(shipped):
    rows = {(row["device"], row["program"]): row for row in report_document(shipped)["programs"]}
    kv = rows["island1", "kv_requests"]
    assert kv["steps"] == ["access_control", "steering", "hot_pages"]
    assert "decode_reads_kv_a" in kv["movements"]
    report = shipped.built["island1"].reports["kv_requests"]
    assert kv["worst_case_instructions"] == report.worst_case_instructions <= kv["budget"]
    # Longer than a request waits for a verdict, even at an instruction a cycle.
    assert kv["may_be_late"]
    assert not rows["island1", "answers"]["may_be_late"]
    assert unserved(shipped) == []
    text = report_text(shipped)
    assert "state prices of island1: dpu0 has a copy in island_prices" in text


def test_movements_that_no_program_sees_are_told(small_graph, goal):
    compilation = compile_graph(small_graph(goal("prefetch_streams", "weights")))
    assert unserved(compilation) == ["write_kv", "read_kv"]
    assert report_text(compilation).endswith("without a program: write_kv, read_kv\n")


def test_the_manifest_of_switches(shipped):
    found = manifest(shipped, "switch")["devices"]
    assert list(found) == ["island0", "island1"]
    config = SwitchConfig()
    for device in found.values():
        assert len(device["rules"]) <= config.rules
        taken = [(row["port"], row["ld_id"]) for row in device["bindings"]]
        assert len(taken) == len(set(taken))
        for row in device["ranges"]:
            assert row["number"] < config.decoders
    # Both tenants' keys and values are one range of the decoding GPU.
    first = found["island1"]["ranges"][0]
    assert (first["host"], first["first"], first["size"]) == (0, 0x10_0000_0000, 0x800_0000)
    rules = found["island1"]["rules"]
    kv = rules[0]
    assert (kv["program"], kv["first_page"], kv["last_page"]) == (
        "kv_requests",
        0x100_0000,
        0x100_7FFF,
    )
    assert [rule["number"] for rule in rules] == [0, 1, 2, 3]


def test_folders(tmp_path):
    graph = load_graph("prefill_decode")
    folder = tmp_path / "objects"
    write_folder(folder, {"report.json": b"{}", "old.o": b"1"}, graph)
    write_folder(folder, {"report.json": b"[]", "new.o": b"2"}, graph)
    assert sorted(path.name for path in folder.iterdir()) == ["new.o", "report.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["objects"]


def test_what_is_somebody_elses_stays(tmp_path):
    graph = load_graph("prefill_decode")
    folder = tmp_path / "objects"
    folder.mkdir()
    (folder / "mine").write_text("x")
    for output in (folder, folder / "mine"):
        with pytest.raises(InputError, match="exists and was not written by this command; name a"):
            write_folder(output, {"report.json": b""}, graph)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_folder(tmp_path / "no" / "where", {"report.json": b""}, graph)
    assert [path.name for path in folder.iterdir()] == ["mine"]
    assert (folder / "mine").read_text() == "x"
