"""Builds a design with Verilator, through the cache."""

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cocotb
from cocotb_tools import runner as cocotb_runner

from fanweave.golden.errors import InputError
from fanweave.sim.runner.cache import BuildCache, CacheEntry, content_key
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.optimisation import optimisation
from fanweave.sim.runner.toolchain import Toolchain, build_root, find_toolchain

__all__ = [
    "Model",
    "build_cache",
    "build_model",
    "explain_failure",
    "model_key",
    "process_environment",
    "shared_runtime",
    "source_texts",
    "verilator_arguments",
    "waivers",
    "write_sources",
]

_HERE = Path(__file__).resolve().parent
_VERILATOR_ARGS = (
    # Two-state anyway: let unknowns be whatever is fastest.
    *("--x-assign", "fast", "--x-initial", "fast"),
    *("-O3", "--no-assert"),
    # This pass of Verilator 5.048 changes what a design does: a Ventaglio with 8-bit lanes and
    # a window of 4 lost index beats, which every other build of it, and golden, did not.
    "-fno-dfg-push-down-sels",
)
_LOG = "build.log"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A Verilated model on disk.

    Attributes
    ----------
    design
        What it was built from.
    executable
        The program.
    waves
        Whether it can write waveforms.
    entry
        Where it came from.
    """

    design: Design
    executable: Path
    waves: bool
    entry: CacheEntry


def build_cache() -> BuildCache:
    """Return the cache of Verilated models in the build folder."""
    return BuildCache(build_root() / "verilated")


def build_model(design: Design, *, waves: bool = False) -> Model:
    """Build a design for cocotb, with only the ports of its top public.

    Parameters
    ----------
    design
        The design.
    waves
        Build the variant that can dump; it is slower and cached beside the other one.

    Raises
    ------
    InputError
        If a program is missing, or the design does not build; the message holds the reason.
    """
    toolchain = find_toolchain()
    arguments = verilator_arguments(design, waves=waves)
    sources = [*design.sources, *_harness(design, waves=waves)]
    key = model_key(toolchain, design, sources, arguments)

    def build(folder: Path) -> Sequence[Path]:
        return [_run_cocotb_build(folder, toolchain, design, sources, arguments, waves=waves)]

    variant = " with waveforms" if waves else ""
    entry = build_cache().obtain(key, build, label=f"building {design.name}{variant}")
    return Model(design=design, executable=entry.folder / design.toplevel, waves=waves, entry=entry)


def model_key(
    toolchain: Toolchain,
    design: Design,
    sources: Sequence[VerilogSource],
    arguments: Sequence[str],
    *more: str,
) -> str:
    """Return the cache's key of a model: all that decides on what its build gives."""
    return content_key(
        [
            *(*_toolchain_identity(toolchain), optimisation(), *arguments),
            *(*source_texts(sources), design.toplevel, *more),
        ]
    )


def verilator_arguments(design: Design, *, waves: bool) -> list[str]:
    """Return the arguments of Verilator beyond those that every build has."""
    arguments = [*_VERILATOR_ARGS, *design.build_args]
    if waves:
        arguments += ["--trace-max-array", str(design.trace_max_array)]
        arguments += ["--trace-max-width", "4096", "--trace-structs"]
        # The ports would appear a second time, in a scope that some readers refuse.
        arguments += ["--no-trace-top"]
    arguments += [f"-G{name}={value}" for name, value in sorted(design.parameters.items())]
    return arguments


def write_sources(sources: Sequence[VerilogSource], folder: Path) -> list[Path]:
    """Write sources into a folder; waivers come first, as Verilator wants them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for source in sorted(sources, key=lambda source: not source.name.endswith(".vlt")):
        path = folder / source.name
        path.write_text(source.text)
        paths.append(path)
    return paths


@contextmanager
def process_environment(
    env: Mapping[str, str], *, python_path: Sequence[Path] = ()
) -> Iterator[None]:
    """Let this process have another environment for a while (not for use in threads).

    The cocotb runner takes both the environment and the module search path from the process.
    """
    old_environment, old_path = dict(os.environ), list(sys.path)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = [str(folder) for folder in python_path]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(old_environment)
        sys.path[:] = old_path


def waivers() -> VerilogSource:
    """Return the waiver file of simulation builds; each rule in it has its reason."""
    return VerilogSource.from_file(_HERE / "simulation.vlt")


def _harness(design: Design, *, waves: bool) -> list[VerilogSource]:
    """Return the sources that every build adds to the design's own."""
    public = ["`verilator_config", "// The testbench touches ports only."]
    public += [f'public_flat_rw -module "{design.toplevel}" -var "{port}"' for port in design.ports]
    sources = [
        waivers(),
        VerilogSource(name="fanweave_public.vlt", text="\n".join(public) + "\n"),
    ]
    if waves:
        window = (_HERE / "dump_window.sv").read_text()
        window += (
            f"bind {design.toplevel} fanweave_dump_window "
            f"fanweave_dump_window(.clk({design.clock}));\n"
        )
        sources.append(VerilogSource(name="fanweave_dump_window.sv", text=window))
    return sources


def _run_cocotb_build(
    folder: Path,
    toolchain: Toolchain,
    design: Design,
    sources: Sequence[VerilogSource],
    arguments: Sequence[str],
    *,
    waves: bool,
) -> Path:
    objects = folder / "objects"
    objects.mkdir()
    with shared_runtime(objects, toolchain, waves=waves):
        try:
            with process_environment(toolchain.environment(optimise=optimisation())):
                cocotb_runner.Verilator().build(
                    sources=write_sources(sources, folder / "rtl"),
                    hdl_toplevel=design.toplevel,
                    build_dir=objects,
                    build_args=["--no-public-flat-rw", *arguments],
                    timescale=("1ns", "1ns"),
                    waves=waves,
                    log_file=folder / _LOG,
                )
        except RuntimeError as error:
            raise InputError(explain_failure(design, folder / _LOG)) from error
    executable = folder / design.toplevel
    shutil.move(objects / design.toplevel, executable)
    # Objects and precompiled headers are large and of no use any more.
    shutil.rmtree(objects)
    return executable


def explain_failure(design: Design, log: Path) -> str:
    """Return a message with the first errors of a build log, which is kept."""
    kept = build_root() / f"failed-{design.name}.log"
    shutil.copyfile(log, kept)
    lines = log.read_text(errors="replace").splitlines()
    marks = ("%Error", "%Warning", "error:", "undefined reference")
    first = [line for line in lines if any(mark in line for mark in marks)] or lines[-5:]
    return "\n  ".join([f"design {design.name!r} does not build (log: {kept}):", *first[:6]])


@contextmanager
def shared_runtime(objects: Path, toolchain: Toolchain, *, waves: bool) -> Iterator[None]:
    """Lend the compiled runtime library of Verilator to a build, and keep it after the first.

    It is the same for all designs and takes longer to compile than a small one.
    """
    key = content_key([*_toolchain_identity(toolchain), str(waves)])
    shelf = build_root() / "verilated-runtime" / key
    # They must look newer than the Makefile that Verilator is about to write.
    later = time.time() + 3600
    for item in shelf.glob("*.o"):
        shutil.copyfile(item, objects / item.name)
        os.utime(objects / item.name, (later, later))
    yield
    shelf.mkdir(parents=True, exist_ok=True)
    for item in objects.glob("verilated*.o"):
        if not (shelf / item.name).exists():
            # Through a name of its own, so that nobody ever reads half a file.
            staged = shelf / f"{item.name}.{os.getpid()}"
            shutil.copyfile(item, staged)
            os.replace(staged, shelf / item.name)


def source_texts(sources: Sequence[VerilogSource]) -> Iterator[str]:
    """Return names and texts, for a cache's key."""
    for source in sources:
        yield source.name
        yield source.text


@functools.lru_cache(maxsize=4)
def _toolchain_identity(toolchain: Toolchain) -> tuple[str, ...]:
    """Return what, beside the design, decides on a build's outcome."""
    compiler = subprocess.run(
        [toolchain.compiler, "--version"], capture_output=True, text=True, check=False
    )
    return (
        toolchain.verilator_version,
        str(toolchain.verilator_root),
        cocotb.__version__,
        # The model's run path leads to cocotb's libraries.
        str(Path(cocotb.__file__).parent),
        toolchain.compiler,
        compiler.stdout,
    )
