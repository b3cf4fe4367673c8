"""Cycles of the unit in RTL against its rooflines, its dense self and the cycle model."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import preset
from fanweave.golden.ventaglio.cycles import MemoryModel, count_cycles
from fanweave.sim.benches.ventaglio.cases import bound_cycles, case_of
from fanweave.sim.benches.ventaglio.run import Stalls
from fanweave.sim.benches.ventaglio.verify import verify
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.runner.progress import Progress
from fanweave.sim.runner.toolchain import build_root
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.synthesize import synthesize
from fanweave.sw.traces.trace import Layout, Operand

__all__ = ["Shape", "rows", "shapes"]

_FORMATS = (ElementFormat.FP32, ElementFormat.FP16, ElementFormat.E4M3)
#: What the cycle model may be off, and how much sooner it must have an answer.
_MODEL_GOAL = 0.02
_SPEED_GOAL = 50


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One case of the benchmark.

    Attributes
    ----------
    name : str
        Name of the sparsity.
    element_format : ElementFormat
        Format of weights and activations.
    choice : LayoutChoice
        Layout of the weights.
    weight_sparsity, activation_sparsity : float
        Shares of zeros; of the weights only for a bitmask or absolute indices.
    length, columns, outputs, width, tokens : int
        K, N, tokens that share a weight row, columns of a tile, tokens.
    ports : str
        Memory ports, as in `MemoryModel`.
    metric : str
        ``"roofline_share"`` or ``"lanes_busy"``.
    goal : float or None
        What the metric should reach.
    """

    name: str
    element_format: ElementFormat
    choice: LayoutChoice
    weight_sparsity: float = 0.0
    activation_sparsity: float = 0.0
    length: int
    columns: int = 512
    outputs: int
    width: int
    tokens: int
    ports: str
    metric: str
    goal: float | None

    @property
    def case(self) -> str:
        """Name in the table; U is the number of tokens that share a weight row."""
        return f"{self.element_format.name.lower()} {self.name} U{self.outputs}"

    def operand(self, seed: int) -> Operand:
        """Random operand of this shape."""
        trace = synthesize(
            projections=("q_proj",),
            weight_sparsity=self.weight_sparsity,
            activation_sparsity=self.activation_sparsity,
            choice=self.choice,
            element_format=self.element_format,
            prefill=self.tokens,
            decode=0,
            rows=self.length,
            columns=self.columns,
            seed=seed,
        )
        return trace.operands[0]


def shapes(*, quick: bool) -> Iterator[Shape]:
    """The cases.

    N:M has K = 256 and one memory port of a beat a cycle, the roofline of which is the measure:
    two tokens that share rows on tiles 128 wide, or one on tiles 256 wide. Unstructured
    sparsity, named by its share of zeros, has K = 512, tiles 256 wide and a port for weights
    and one for indices, so that the lanes are the measure; activations are dense, or have zeros
    too (``x``).
    """
    formats = _FORMATS[1:2] if quick else _FORMATS
    for element_format in formats:
        yield Shape(
            name="dense",
            element_format=element_format,
            choice=LayoutChoice(layout=Layout.DENSE),
            length=256,
            outputs=2,
            width=128,
            tokens=4,
            ports="shared",
            metric="roofline_share",
            goal=None,
        )
        patterns = ((2, 4),) if quick else ((2, 4), (1, 4), (4, 8), (3, 16))
        for n, m in patterns:
            for outputs, width, goal in ((2, 128, 0.95), (1, 256, 0.90)):
                yield Shape(
                    name=f"{n}:{m}",
                    element_format=element_format,
                    choice=LayoutChoice(layout=Layout.N_OF_M, n=n, m=m),
                    length=256,
                    outputs=outputs,
                    width=width,
                    tokens=2 * outputs,
                    ports="shared",
                    metric="roofline_share",
                    goal=goal,
                )
        for sparsity in (0.5,) if quick else (0.4, 0.5, 0.6):
            yield Shape(
                name=f"bitmask {sparsity:.0%}",
                element_format=element_format,
                choice=LayoutChoice(layout=Layout.BITMASK),
                weight_sparsity=sparsity,
                length=512,
                outputs=1,
                width=256,
                tokens=2,
                ports="split",
                metric="lanes_busy",
                goal=0.93,
            )
        for sparsity in () if quick else (0.4, 0.5, 0.6):
            yield Shape(
                name=f"bitmask {sparsity:.0%}, x {sparsity:.0%}",
                element_format=element_format,
                choice=LayoutChoice(layout=Layout.BITMASK),
                weight_sparsity=sparsity,
                activation_sparsity=sparsity,
                length=512,
                outputs=1,
                width=256,
                tokens=2,
                ports="split",
                metric="lanes_busy",
                goal=None,
            )


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Run every case on the RTL, bit-exact, and beside it on the cycle model.

    Parameters
    ----------
    quick : bool
        A few cases on the default preset; otherwise all on ``default`` and ``double``, and on
        ``quad`` those that need it.
    seed : int
        Seed of the operands.

    Raises
    ------
    FaultError
        If a result differs from golden by a bit.
    """
    result: list[BenchRow] = []
    seconds = _Seconds()
    for config_name in ("default",) if quick else ("default", "double", "quad"):
        dense_cycles: dict[ElementFormat, float] = {}
        for shape in shapes(quick=quick):
            if config_name == "quad" and not _needs_banks(shape):
                continue
            result += _measure(config_name, shape, seed, dense_cycles, seconds)
    result.append(seconds.row())
    return result


@dataclass
class _Seconds:
    """Wall time to the number of cycles of all cases, from RTL (already built) and from model."""

    rtl: float = 0.0
    model: float = 0.0

    def row(self) -> BenchRow:
        """How much sooner the model answers."""
        return BenchRow(
            case="all cases: wall time of RTL over that of the cycle model",
            metric="model_speed_ratio",
            value=self.rtl / self.model,
            unit="1",
            goal=_SPEED_GOAL,
            origin="measured",
        )


def _needs_banks(shape: Shape) -> bool:
    """Whether a shape meets the same accumulators so often that only more banks help.

    Two outputs of few elements a row, on most lanes; its dense self comes along to compare with.
    """
    return shape.element_format is ElementFormat.E4M3 and shape.outputs == 2


def _measure(
    config_name: str,
    shape: Shape,
    seed: int,
    dense_cycles: dict[ElementFormat, float],
    seconds: _Seconds,
) -> Iterator[BenchRow]:
    config = preset(config_name)
    case = case_of(
        shape.operand(seed), config, phase="prefill", outputs=shape.outputs, width=shape.width
    )
    memory = MemoryModel(ports="shared" if shape.ports == "shared" else "split")
    name = f"{config_name}: {shape.case}"
    with Progress(f"measuring {name}", stream=sys.stderr):
        outcome = verify(
            case.workload,
            config,
            folder=Path(build_root()) / "bench" / "ventaglio",
            memory=memory,
            stalls=Stalls(),
            seed=seed,
        )
    if not seconds.model:  # the first call loads compiled code
        count_cycles(case.workload, config, memory)
    start = time.perf_counter()
    modelled = count_cycles(case.workload, config, memory)["cycles"]
    seconds.model += time.perf_counter() - start
    seconds.rtl += outcome.result.run_seconds
    cycles = outcome.counters["cycles"]
    lanes = config.lanes_of(shape.element_format)
    value = (
        bound_cycles(case, config, shared=True) / cycles
        if shape.metric == "roofline_share"
        else outcome.counters["products"] / (cycles * lanes)
    )
    yield BenchRow(case=name, metric="cycles", value=cycles, unit="cycles", origin="rtl")
    yield BenchRow(
        case=name, metric=shape.metric, value=value, unit="1", goal=shape.goal, origin="rtl"
    )
    yield BenchRow(
        case=name,
        metric="cycle_model_error",
        value=abs(modelled - cycles) / cycles,
        unit="1",
        goal=_MODEL_GOAL,
        origin="rtl",
    )
    # Cycles of a dense product of the same shape: measured per dense product, then scaled.
    per_product = cycles / case.dense_products
    if shape.choice.layout is Layout.DENSE:
        dense_cycles[shape.element_format] = per_product
    else:
        yield BenchRow(
            case=name,
            metric="speedup_over_dense",
            value=dense_cycles[shape.element_format] / per_product,
            unit="1",
            origin="rtl",
        )
