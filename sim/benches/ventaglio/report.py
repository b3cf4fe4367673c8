"""Runs every case of a trace and reports: a table, JSON, JUnit XML, waveforms."""

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from fanweave.golden.errors import FaultError
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.cycles import MemoryModel
from fanweave.sim.benches.ventaglio.cases import Case, bound_cycles, cut
from fanweave.sim.benches.ventaglio.run import Outcome, Stalls, simulate
from fanweave.sim.benches.ventaglio.settings import DUMP_OFFSET
from fanweave.sim.benches.ventaglio.signals import write_save_file
from fanweave.sim.benches.ventaglio.verify import verify
from fanweave.sim.report.files import write_json
from fanweave.sim.report.junit import CaseResult, write_junit
from fanweave.sim.report.table import Column, format_number, print_table
from fanweave.sim.runner.cocotb_run import WaveWindow
from fanweave.sim.runner.progress import Progress
from fanweave.sw.traces.trace import Trace

__all__ = ["CaseReport", "run_trace"]


@dataclass(frozen=True, kw_only=True)
class CaseReport:
    """The numbers of one case; the JSON has the same names.

    Attributes
    ----------
    projection, phase, format, layout : str
        What was multiplied.
    shape : tuple of int
        (K, N) of the matrix.
    tokens, outputs, width : int
        Tokens, tokens that share a weight row, columns of a tile.
    weight_sparsity, activation_sparsity : float
        Shares of zeros.
    products, cycles : int
        Products accumulated, and cycles from the first command to the last result.
    bound_cycles : float
        Cycles that no schedule can beat, see `cases.bound_cycles`.
    roofline_share : float
        ``bound_cycles / cycles``.
    lanes_busy : float
        Products over cycles times lanes.
    speedup_over_dense : float
        Against the products of the dense matrix at full use of the same lanes.
    counters : dict of str to int
        The unit's counters.
    bit_exact : bool
        Whether every bit of the product is golden's.
    """

    projection: str
    phase: str
    format: str
    layout: str
    shape: tuple[int, int]
    tokens: int
    outputs: int
    width: int
    weight_sparsity: float
    activation_sparsity: float
    products: int
    cycles: int
    bound_cycles: float
    roofline_share: float
    lanes_busy: float
    speedup_over_dense: float
    counters: dict[str, int]
    bit_exact: bool


def run_trace(
    trace: Trace,
    config: VentaglioConfig,
    *,
    config_name: str,
    only: str,
    memory: MemoryModel,
    stalls: Stalls,
    folder: Path,
    waves: tuple[int, int | None] | None,
    json_file: str | None,
) -> list[CaseReport]:
    """Run every case, print the table and write the files.

    Parameters
    ----------
    trace : Trace
        What is run.
    config : VentaglioConfig
        The unit, with its name ``config_name``.
    only : str
        Part of the names of the wanted projections.
    memory, stalls
        Surroundings of the unit.
    folder : Path
        Where the files go.
    waves : tuple of int, optional
        First and last cycle of the first case to dump.
    json_file : str, optional
        Further place for the JSON.

    Raises
    ------
    FaultError
        If a case is not bit-exact; the other cases are run and reported all the same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reports: list[CaseReport] = []
    results: list[CaseResult] = []
    faults: list[str] = []
    for case in cut(trace, config, only=only):
        name = f"{case.name}.{case.phase}"
        started = time.monotonic()
        failure = ""
        try:
            with Progress(f"simulating {name}"):
                outcome = verify(
                    case.workload,
                    config,
                    folder=folder / name,
                    memory=memory,
                    stalls=stalls,
                    seed=stalls.seed,
                )
            reports.append(_report(case, config, outcome, shared=memory.ports == "shared"))
        except FaultError as fault:
            failure = f"{name}: {fault}"
            faults.append(failure)
        results.append(CaseResult(name=name, seconds=time.monotonic() - started, failure=failure))
        if waves is not None and len(results) == 1:
            _dump(case, config, folder / name, memory, stalls, waves)
    _print(
        trace,
        reports,
        config_name=config_name,
        memory=memory,
        # Standard output is the document's then.
        to_stderr=json_file == "-",
    )
    document = {
        "unit": "ventaglio",
        "config": config_name,
        "ports": memory.ports,
        "latency": memory.latency,
        "stall_probability": stalls.probability,
        "seed": stalls.seed,
        "trace": dict(trace.metadata),
        "bit_exact": not faults,
        "rows": [asdict(report) for report in reports],
        "faults": faults,
    }
    write_json(folder / "result.json", document)
    write_junit(folder / "junit.xml", suite="ventaglio", cases=results)
    if json_file:
        write_json(json_file, document)
    if faults:
        raise FaultError("\n".join([f"{len(faults)} of {len(results)} cases failed", *faults]))
    click.echo(f"all {len(results)} cases bit-exact; details in {folder}", err=json_file == "-")
    return reports


def _report(case: Case, config: VentaglioConfig, outcome: Outcome, *, shared: bool) -> CaseReport:
    operand = case.operand
    bound = bound_cycles(case, config, shared=shared)
    lanes = config.lanes_of(operand.element_format)
    products = outcome.counters["products"]
    return CaseReport(
        projection=case.name,
        phase=case.phase,
        format=operand.element_format.name.lower(),
        layout=operand.layout.value,
        shape=operand.shape,
        tokens=operand.tokens,
        outputs=case.outputs,
        width=case.width,
        weight_sparsity=operand.weight_sparsity,
        activation_sparsity=operand.activation_sparsity,
        products=products,
        cycles=outcome.cycles,
        bound_cycles=bound,
        roofline_share=bound / outcome.cycles,
        lanes_busy=products / (outcome.cycles * lanes),
        speedup_over_dense=case.dense_products / lanes / outcome.cycles,
        counters=outcome.counters,
        bit_exact=True,
    )


def _dump(
    case: Case,
    config: VentaglioConfig,
    folder: Path,
    memory: MemoryModel,
    stalls: Stalls,
    waves: tuple[int, int | None],
) -> None:
    """Run a case again with a dump of a window."""
    start, stop = waves
    window = WaveWindow(
        file=folder / "waves" / "window.vcd",
        start=start + DUMP_OFFSET,
        stop=None if stop is None else stop + DUMP_OFFSET,
    )
    simulate(
        case.workload,
        config,
        folder=folder / "waves",
        memory=memory,
        stalls=stalls,
        waves=window,
        seed=stalls.seed,
    )
    save = write_save_file(window.file, config, window=(window.start, window.stop))
    click.echo(f"waves of {case.name}.{case.phase}: gtkwave {save}", err=True)


def _print(
    trace: Trace,
    reports: list[CaseReport],
    *,
    config_name: str,
    memory: MemoryModel,
    to_stderr: bool,
) -> None:
    columns = [
        Column(heading="projection", numeric=False),
        Column(heading="KxN"),
        Column(heading="zero w/x"),
        Column(heading="products"),
        Column(heading="cycles"),
        Column(heading="roofline"),
        Column(heading="gain"),
        Column(heading="skipped"),
        Column(heading="conflicts"),
        Column(heading="result", numeric=False),
    ]
    rows = [
        [
            f"{_short(report.projection)} {report.phase}",
            f"{report.shape[0]}x{report.shape[1]}",
            f"{report.weight_sparsity:.0%}/{report.activation_sparsity:.0%}",
            str(report.products),
            str(report.cycles),
            f"{report.roofline_share:.1%}",
            f"{format_number(report.speedup_over_dense, digits=3)}x",
            str(report.counters["skipped_rows"]),
            str(report.counters["conflicts"]),
            "bit-exact",
        ]
        for report in reports
    ]
    origin = trace.metadata.get("origin", "unknown origin")
    phases = dict.fromkeys((report.phase, report.tokens) for report in reports)
    tokens = ", ".join(f"{count} {phase} tokens" for phase, count in phases)
    print_table(
        columns,
        rows,
        title=f"Ventaglio {config_name}, {memory.ports} memory ports; {origin} trace, {tokens}",
        stream=sys.stderr if to_stderr else sys.stdout,
    )
    click.echo(
        "zero w/x: zeros of weights and activations; roofline: share of the bound by lanes and "
        "memory;\ngain: over the dense product at full use of the same lanes. Cycles from RTL.",
        err=to_stderr,
    )


def _short(projection: str) -> str:
    """``layers.15.mlp.up_proj`` as ``up``."""
    return projection.rsplit(".", 1)[-1].removesuffix("_proj")
