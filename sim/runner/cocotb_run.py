"""Runs a cocotb test module on a design, in Verilator or Icarus Verilog."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from cocotb_tools import runner as cocotb_runner

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.icarus import build_icarus_model
from fanweave.sim.runner.progress import Progress
from fanweave.sim.runner.toolchain import find_toolchain
from fanweave.sim.runner.verilate import Model, build_model, process_environment

__all__ = ["RunResult", "Simulator", "TestOutcome", "WaveWindow", "run", "run_model"]

Simulator = Literal["verilator", "icarus"]
_RUNNERS = {"verilator": cocotb_runner.Verilator, "icarus": cocotb_runner.Icarus}


@dataclass(frozen=True, kw_only=True)
class WaveWindow:
    """Which cycles go into a dump.

    Attributes
    ----------
    file
        The VCD to write.
    start, stop
        First and last cycle, counted in rising clock edges from the start of the simulation;
        to the end if `stop` is None.
    """

    file: Path
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop < self.start):
            raise InputError(
                f"window {self.start}:{'' if self.stop is None else self.stop} is empty: it must "
                "be FROM:TO in cycles with 0 <= FROM <= TO"
            )

    def plusargs(self) -> list[str]:
        """Return the arguments that the model reads."""
        arguments = [f"+dump_file={self.file}", f"+dump_from={self.start}"]
        if self.stop is not None:
            arguments.append(f"+dump_to={self.stop}")
        return arguments


@dataclass(frozen=True, kw_only=True)
class TestOutcome:
    """What became of one cocotb test; `seconds` is the wall time from its start to its end."""

    __test__ = False  # not for pytest

    name: str
    passed: bool
    message: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What became of a run.

    Attributes
    ----------
    tests
        One outcome a cocotb test; empty if the simulation ended early.
    log, results_xml
        Output of the simulation, and cocotb's JUnit XML.
    waves
        The VCD, if one was written.
    seed
        Seed of the run, which replays it.
    build_seconds, run_seconds
        Wall time of the build (or of looking it up) and of the simulation.
    cached
        Whether the model came from the cache.
    """

    tests: tuple[TestOutcome, ...]
    log: Path
    results_xml: Path
    waves: Path | None
    seed: int
    build_seconds: float
    run_seconds: float
    cached: bool
    ended: bool

    @property
    def passed(self) -> bool:
        """Whether the simulation came to its end and every test passed."""
        return self.ended and bool(self.tests) and all(test.passed for test in self.tests)

    def check(self) -> "RunResult":
        """Return this result, or raise a `FaultError` with the end of the log if it failed."""
        if self.passed:
            return self
        failed = [test for test in self.tests if not test.passed]
        reasons = [f"{test.name}: {test.message}" for test in failed]
        reasons = reasons or ["the simulation ended before its tests did"]
        lines = self.log.read_text(errors="replace").splitlines() if self.log.is_file() else []
        raise FaultError(
            "\n".join(
                [f"simulation failed (seed {self.seed}, log {self.log})", *reasons, *lines[-30:]]
            )
        )


def run(
    design: Design,
    *,
    test_module: str,
    results_dir: Path,
    plusargs: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    waves: WaveWindow | None = None,
    seed: int = 0,
    testcase: str | None = None,
    python_path: Sequence[Path] = (),
    timeout_s: float | None = None,
    simulator: Simulator = "verilator",
) -> RunResult:
    """Build a design (or take it from the cache) and run a cocotb test module on it.

    Parameters
    ----------
    design
        The design.
    test_module
        Importable name of the module with the cocotb tests.
    results_dir
        Working folder of the simulation; log and JUnit XML go there.
    plusargs
        ``name: value`` becomes ``+name=value``.
    env
        More environment variables, for the Python side.
    waves
        Dump these cycles.
    seed
        Seed of `random` in the tests, and ``COCOTB_RANDOM_SEED``.
    testcase
        Run only this test.
    python_path
        Folders to search for `test_module` first.
    timeout_s
        End the simulation after this time.
    simulator
        Icarus Verilog is a hundred times as slow, and dumps nothing.

    Raises
    ------
    InputError
        If a program is missing or the design does not build.
    """
    if simulator == "icarus":
        if waves is not None:
            raise InputError("Icarus Verilog dumps no waveforms here: run Verilator for them")
        model = build_icarus_model(design)
    else:
        model = build_model(design, waves=waves is not None)
    return run_model(
        model,
        test_module=test_module,
        results_dir=results_dir,
        plusargs=plusargs,
        env=env,
        waves=waves,
        seed=seed,
        testcase=testcase,
        python_path=python_path,
        timeout_s=timeout_s,
        simulator=simulator,
    )


def run_model(
    model: Model,
    *,
    test_module: str,
    results_dir: Path,
    plusargs: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    waves: WaveWindow | None = None,
    seed: int = 0,
    testcase: str | None = None,
    python_path: Sequence[Path] = (),
    timeout_s: float | None = None,
    simulator: Simulator = "verilator",
) -> RunResult:
    """Run a cocotb test module on a model; see `run`."""
    results_dir = results_dir.resolve()
    results_dir.mkdir(parents=True, exist_ok=True)
    log = results_dir / "simulation.log"
    results_xml = results_dir / "results.xml"
    arguments = [f"+{name}={value}" for name, value in (plusargs or {}).items()]
    if waves is not None:
        waves.file.parent.mkdir(parents=True, exist_ok=True)
        arguments += waves.plusargs()
    environment = find_toolchain().environment()
    environment |= {"COCOTB_ANSI_OUTPUT": "0", "NO_COLOR": "1", **(env or {})}
    limiter = shutil.which("timeout")
    if timeout_s is not None and limiter:
        environment["SIM_CMD_PREFIX"] = f"{limiter} {timeout_s}"

    start = time.monotonic()
    with (
        Progress(f"simulating {model.design.name}"),
        process_environment(environment, python_path=python_path),
    ):
        ended = _simulate(
            simulator,
            build_dir=model.executable.parent,
            test_module=test_module,
            hdl_toplevel=model.design.toplevel,
            hdl_toplevel_lang="verilog",
            testcase=testcase,
            seed=seed,
            plusargs=arguments,
            test_dir=results_dir,
            results_xml=str(results_xml),
            log_file=log,
        )
    return RunResult(
        tests=_read_outcomes(results_xml),
        log=log,
        results_xml=results_xml,
        waves=waves.file if waves is not None and waves.file.is_file() else None,
        seed=seed,
        build_seconds=model.entry.seconds,
        run_seconds=time.monotonic() - start,
        cached=model.entry.cached,
        ended=ended,
    )


def _simulate(simulator: Simulator, **arguments: object) -> bool:
    """Run the simulation; return whether the program came to its own end."""
    try:
        _RUNNERS[simulator]().test(**arguments)
    except (RuntimeError, SystemExit):
        # The program's status is not 0 as well when a test failed; the results say which.
        return Path(str(arguments["results_xml"])).is_file()
    return True


def _read_outcomes(results_xml: Path) -> tuple[TestOutcome, ...]:
    try:
        cases = ElementTree.parse(results_xml).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return ()
    outcomes = []
    for case in cases:
        if case.find("skipped") is not None:
            continue
        fault = case.find("failure")
        fault = case.find("error") if fault is None else fault
        message = ""
        if fault is not None:
            message = fault.get("message") or fault.get("error_msg") or (fault.text or "").strip()
        outcomes.append(
            TestOutcome(
                name=case.get("name", ""),
                passed=fault is None,
                message=message,
                seconds=float(case.get("time", "nan")),
            )
        )
    return tuple(outcomes)
