"""Builds and runs Verilated models."""

from fanweave.sim.runner.bare import BareResult, run_bare
from fanweave.sim.runner.cocotb_run import RunResult, TestOutcome, WaveWindow, run, run_model
from fanweave.sim.runner.design import Design, VerilogSource, design_from_component
from fanweave.sim.runner.progress import Progress
from fanweave.sim.runner.toolchain import build_root, find_toolchain
from fanweave.sim.runner.verilate import Model, build_model

__all__ = [
    "BareResult",
    "Design",
    "Model",
    "Progress",
    "RunResult",
    "TestOutcome",
    "VerilogSource",
    "WaveWindow",
    "build_model",
    "build_root",
    "design_from_component",
    "find_toolchain",
    "run",
    "run_bare",
    "run_model",
]
