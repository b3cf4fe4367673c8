"""Finds Icarus Verilog and compiles a design with it, as a second opinion on Verilator."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.cache import content_key
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.toolchain import install_hint
from fanweave.sim.runner.verilate import Model, build_cache, source_texts, write_sources

__all__ = ["Icarus", "build_icarus_model", "compile_design", "find_icarus"]


#: Not SystemVerilog for all, which sets initial values before processes begin: then a process that
#: waits for a change of what it reads, as converted Verilog has them, never runs the first time.
_LANGUAGE = "-g2005"
#: The name that cocotb expects.
_PROGRAM = "sim.vvp"


@dataclass(frozen=True, kw_only=True)
class Icarus:
    """The compiler and the simulator, as absolute paths."""

    compiler: str
    simulator: str


def find_icarus() -> Icarus:
    """Return Icarus Verilog of this machine.

    Raises
    ------
    InputError
        If it is not installed; the message says what to type.
    """
    compiler, simulator = shutil.which("iverilog"), shutil.which("vvp")
    if compiler is None or simulator is None:
        raise InputError(f"missing Icarus Verilog (iverilog, vvp): {install_hint('iverilog')}")
    return Icarus(compiler=compiler, simulator=simulator)


def compile_design(
    design: Design,
    program: Path,
    *,
    bench: Sequence[VerilogSource] = (),
    toplevel: str | None = None,
) -> None:
    """Compile a design, and a bench in Verilog around it.

    Parameters
    ----------
    design
        The design; waivers of Verilator among its sources are left out.
    program
        What ``vvp`` will run; the sources go beside it.
    bench
        More sources.
    toplevel
        Module that nothing holds, if it is not the design's own.

    Raises
    ------
    InputError
        If Icarus Verilog is not installed.
    FaultError
        If it does not take the Verilog; the message holds the reason.
    """
    icarus = find_icarus()
    sources = [source for source in design.sources if not source.name.endswith(".vlt")]
    paths = write_sources([*sources, *bench], program.parent / "rtl")
    top = toplevel or design.toplevel
    command = [icarus.compiler, _LANGUAGE, "-s", top]
    command += [f"-P{top}.{name}={value}" for name, value in design.parameters.items()]
    command += ["-o", str(program), *map(str, paths)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        lines = outcome.stderr.splitlines()
        first = [line for line in lines if "error" in line] or lines[-5:]
        raise FaultError("\n  ".join([f"Icarus Verilog refuses {design.name!r}:", *first[:6]]))


def build_icarus_model(design: Design) -> Model:
    """Compile a design for cocotb, or take it from the cache.

    Raises
    ------
    InputError, FaultError
        As `compile_design`.
    """
    identity = subprocess.run(
        [find_icarus().simulator, "-V"], capture_output=True, text=True, check=False
    ).stdout
    key = content_key([identity, _LANGUAGE, *source_texts(design.sources), design.toplevel])

    def build(folder: Path) -> Sequence[Path]:
        program = folder / _PROGRAM
        compile_design(design, program)
        return [program]

    label = f"building {design.name} in Icarus Verilog"
    entry = build_cache().obtain(key, build, label=label)
    return Model(design=design, executable=entry.folder / _PROGRAM, waves=False, entry=entry)
