"""A wheel built from the tree works in an empty environment and adds one name.

To stay quick and off the network, the dependencies are lent by the environment of the tests
through PYTHONPATH; the package itself must come from the wheel.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
LAYERS = ("golden", "sw", "hw", "sim")
#: Used only before there is an environment, from a checkout.
NOT_SHIPPED = {"fanweave/sim/runner/machine.sh"}
COPIED = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "fanweave", *LAYERS)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build from a copy: the build leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    tree.mkdir()
    ignore = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        if (TREE / name).is_dir():
            shutil.copytree(TREE / name, tree / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(TREE / name, tree / name)
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--no-index", "--wheel-dir", str(folder), str(tree)),
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An empty environment with the wheel in it; returns its folder of programs."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install"),
        *("--no-deps", "--no-index", str(wheel)),
    )
    return folder / "bin"


def test_it_adds_exactly_one_name(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"fanweave"}
    assert len(names) == 2


def test_it_holds_every_file_of_the_layers(wheel):
    expected = {
        f"fanweave/{file.relative_to(TREE)}"
        for layer in LAYERS
        for file in (TREE / layer).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    missing = expected - set(zipfile.ZipFile(wheel).namelist()) - NOT_SHIPPED
    assert missing == set()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--version"], "fanweave, version"),
        (["--help"], "Commands:"),
        (["bench", "--help"], "Example:"),
    ],
)
def test_its_command_works(environment, arguments, told, tmp_path):
    env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    assert told in run(environment / "fanweave", *arguments, env=env, cwd=tmp_path).stdout
    where = run(
        *(environment / "python", "-c", "import fanweave; print(fanweave.__file__)"),
        env=env,
        cwd=tmp_path,
    ).stdout
    assert where.startswith(str(environment.parent))
