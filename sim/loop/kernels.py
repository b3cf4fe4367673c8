"""Products of a model on a Ventaglio unit: how many lanes are busy, by operator and phase."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Device
from fanweave.golden.loop.description import Loop
from fanweave.golden.origins import Origin
from fanweave.golden.ventaglio.config import VentaglioConfig, preset
from fanweave.golden.ventaglio.cycles import MemoryModel, count_cycles
from fanweave.sim.benches.ventaglio.cases import Case
from fanweave.sim.benches.ventaglio.design import harness_design
from fanweave.sim.benches.ventaglio.run import Stalls
from fanweave.sim.benches.ventaglio.verify import verify
from fanweave.sim.loop.products import SEED, Piece, pieces_of
from fanweave.sim.loop.table import MeasuredTable
from fanweave.sim.runner.converted import package_texts
from fanweave.sim.runner.progress import Progress
from fanweave.sim.runner.verilate import source_texts
from fanweave.sw.traces.trace import Trace

__all__ = ["KernelFigure", "measure_kernels"]

#: Sources of the cycle model.
_MODEL = ("golden/ventaglio/*.py",)


@dataclass(frozen=True, kw_only=True)
class KernelFigure:
    """What was measured of a product.

    Attributes
    ----------
    device, kind, phase : str
        What it is a piece of.
    rows, columns, tokens : int
        Of the piece that was measured.
    weight_density, activation_density : float
    products, cycles : int
    lanes_busy : float
    origin : str
    source : str
        Where weights and activations come from.
    """

    device: str
    kind: str
    phase: str
    rows: int
    columns: int
    tokens: int
    weight_density: float
    activation_density: float
    products: int
    cycles: int
    lanes_busy: float
    origin: Origin
    source: str


def measure_kernels(
    loop: Loop,
    card: ModelCard,
    device: Device,
    sharding: Sharding,
    trace: Trace | None,
    *,
    table: MeasuredTable,
    folder: Path,
) -> list[KernelFigure]:
    """Measure all products of a model on one unit of a cluster.

    Parameters
    ----------
    loop, card, device, sharding, trace
        As of `fanweave.sim.loop.products.pieces_of`.
    table : MeasuredTable
    folder : Path
        Where files of runs go.

    Raises
    ------
    FaultError
        If the RTL's product differs from golden's by a bit.
    """
    config = preset(loop.config)
    sources = _sources(loop, config)
    found = []
    for piece in pieces_of(loop, card, device, sharding, trace, config):
        name = f"{piece.kind}.{piece.case.phase}"

        def measure(case: Case = piece.case, name: str = name) -> dict[str, Any]:
            return _measure(case, config, loop.measure, folder=folder / name, name=name)

        parts = ["kernel", loop.measure, repr(config), *_contents(piece.case), *sources]
        found.append(_figure(piece, device, config, loop, table.obtain(parts, measure)))
    return found


def _figure(
    piece: Piece, device: Device, config: VentaglioConfig, loop: Loop, result: dict[str, Any]
) -> KernelFigure:
    operand = piece.case.operand
    lanes = config.lanes_of(operand.element_format)
    rows, columns = operand.shape
    return KernelFigure(
        device=device.name,
        kind=str(piece.kind),
        phase=piece.case.phase,
        rows=rows,
        columns=columns,
        tokens=operand.tokens,
        weight_density=1.0 - operand.weight_sparsity,
        activation_density=1.0 - operand.activation_sparsity,
        products=result["products"],
        cycles=result["cycles"],
        lanes_busy=round(result["products"] / (result["cycles"] * lanes), 4),
        origin=loop.origin,
        source=piece.source,
    )


def _sources(loop: Loop, config: VentaglioConfig) -> list[str]:
    """What counted: the Verilog, or the cycle model."""
    if loop.measure == "rtl":
        return list(source_texts(harness_design(config).sources))
    return package_texts(_MODEL)


def _contents(case: Case) -> list[str]:
    """Hashes of all that the unit is given."""
    work = case.workload
    arrays = [work.commands, work.activations]
    arrays += [value for value in vars(work.image).values() if isinstance(value, np.ndarray)]
    return [
        f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
        for array in arrays
    ]


def _measure(
    case: Case, config: VentaglioConfig, measure: str, *, folder: Path, name: str
) -> dict[str, Any]:
    memory = MemoryModel(ports="shared")
    with Progress(f"measuring {name}"):
        if measure == "model":
            counted = count_cycles(case.workload, config, memory)
        else:
            counted = verify(
                case.workload, config, folder=folder, memory=memory, stalls=Stalls(), seed=SEED
            ).counters
    return {"cycles": int(counted["cycles"]), "products": int(counted["products"])}
