"""Builds a Verilated design with a C++ program of its own around it."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.optimisation import optimisation
from fanweave.sim.runner.toolchain import Toolchain, find_toolchain
from fanweave.sim.runner.verilate import (
    build_cache,
    explain_failure,
    model_key,
    shared_runtime,
    verilator_arguments,
    waivers,
    write_sources,
)

__all__ = ["build_loop", "member_of"]

_EXECUTABLE = "loop"


def member_of(port: str) -> str:
    """Return the C++ name of a port; Verilator writes the second of two underscores as a code."""
    return port.replace("__", "___05F")


def build_loop(design: Design, main: str, *, label: str, waves: bool = False) -> Path:
    """Build a design and a program that drives it, through the cache.

    Parameters
    ----------
    design
        The design; its class is ``Vtop``.
    main
        C++ of the program.
    label
        What is shown while it builds.
    waves
        Build a model that can dump (``VM_TRACE``); it is slower.

    Returns
    -------
    Path
        The program.

    Raises
    ------
    InputError
        If a program is missing, or the design does not build; the message holds the reason.
    """
    toolchain = find_toolchain()
    arguments = verilator_arguments(design, waves=waves) + (["--trace"] if waves else [])
    sources = [*design.sources, waivers()]
    key = model_key(toolchain, design, sources, arguments, main)

    def build(folder: Path) -> Sequence[Path]:
        environment = toolchain.environment(optimise=optimisation())
        return [_compile(folder, toolchain, design, sources, arguments, main, waves, environment)]

    return build_cache().obtain(key, build, label=label).folder / _EXECUTABLE


def _compile(
    folder: Path,
    toolchain: Toolchain,
    design: Design,
    sources: Sequence[VerilogSource],
    arguments: Sequence[str],
    main: str,
    waves: bool,
    environment: Mapping[str, str],
) -> Path:
    objects = folder / "objects"
    objects.mkdir()
    (folder / "main.cpp").write_text(main)
    paths = [str(path) for path in write_sources(sources, folder / "rtl")]
    log = folder / "build.log"
    verilate = [str(toolchain.shim() / "verilator"), "--cc", "--exe", "--build", "-j", "2"]
    verilate += ["-Mdir", str(objects), "--top-module", design.toplevel, "--prefix", "Vtop"]
    verilate += ["-o", _EXECUTABLE, *arguments, *paths, str(folder / "main.cpp")]
    with shared_runtime(objects, toolchain, waves=waves), open(log, "w") as stream:
        outcome = subprocess.run(
            verilate,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if outcome.returncode != 0:
            raise InputError(explain_failure(design, log))
    executable = folder / _EXECUTABLE
    shutil.move(objects / _EXECUTABLE, executable)
    shutil.rmtree(objects)
    return executable
