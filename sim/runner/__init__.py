"""Builds and runs Verilated models."""

from fanweave.sim.runner.cocotb_run import RunResult, TestOutcome, WaveWindow, run, run_model
from fanweave.sim.runner.design import Design, VerilogSource, design_from_component
from fanweave.sim.runner.progress import Progress
from fanweave.sim.runner.toolchain import build_root, find_toolchain
from fanweave.sim.runner.verilate import Model, build_model

__all__ = [
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
    "run_model",
]
