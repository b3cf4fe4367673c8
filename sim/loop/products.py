"""Products of a model as pieces for one Ventaglio unit: of a captured trace, or random ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.dops.devices import Device
from fanweave.golden.dops.graph import Kind, OperatorClass, Sharding, build_graph
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.loop.costs import PRODUCTS
from fanweave.golden.loop.description import Loop
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.sim.benches.ventaglio.cases import Case, cut
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.synthesize import synthesize
from fanweave.sw.traces.trace import Layout, Operand, Trace

__all__ = ["SEED", "Piece", "check_elements", "densities", "pieces_of"]

#: Kind of an operator -> the end of its projection's name in a trace.
_PROJECTIONS = {
    Kind.Q: "q_proj",
    Kind.K: "k_proj",
    Kind.V: "v_proj",
    Kind.O: "o_proj",
    Kind.W1: "gate_proj",
    Kind.W3: "up_proj",
    Kind.W2: "down_proj",
}
_FORMATS = {
    "fp32": ElementFormat.FP32,
    "fp16": ElementFormat.FP16,
    "bf16": ElementFormat.BF16,
    "fp8": ElementFormat.E4M3,
    "int8": ElementFormat.INT8,
}
#: Random products are no larger than this, which is enough for a share; nor are their tokens more.
_MOST_ROWS, _MOST_COLUMNS, _MOST_TOKENS = 512, 512, 8
#: Of random numbers.
SEED = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """A product to be measured: its kind, its case, and where its numbers come from."""

    kind: Kind
    case: Case
    source: str


def densities(trace: Trace) -> tuple[float, float]:
    """Shares of a trace's weights, and of their inputs, that are not zero, over all products."""
    sizes = [operand.shape[0] * operand.shape[1] for operand in trace.operands]
    inputs = [operand.activations.size for operand in trace.operands]
    weights = sum(operand.nnz for operand in trace.operands) / sum(sizes)
    zeros = sum(
        operand.activation_sparsity * size
        for operand, size in zip(trace.operands, inputs, strict=True)
    )
    return round(weights, 4), round(1.0 - zeros / sum(inputs), 4)


def check_elements(loop: Loop, card: ModelCard, trace: Trace | None) -> None:
    """Refuse elements that a unit does not take, and a trace of another model.

    Raises
    ------
    InputError
        The message names the product and what was expected.
    """
    if loop.elements not in _FORMATS:
        raise InputError(
            f"elements {loop.elements!r} are no format of a Ventaglio unit; use one of "
            f"{', '.join(_FORMATS)}"
        )
    wanted = _FORMATS[loop.elements]
    for kind, work in _classes(card, Sharding()).items():
        operand = _captured(trace, kind)
        if operand is None:
            continue
        shape = _shape(work)
        if operand.shape != shape or operand.element_format is not wanted:
            raise InputError(
                f"trace: {operand.name} is {operand.shape[0]} x {operand.shape[1]} in "
                f"{operand.element_format.name.lower()}; the model's {kind} is {shape[0]} x "
                f"{shape[1]} in {wanted.name.lower()}: take a trace of this model"
            )


def pieces_of(
    loop: Loop,
    card: ModelCard,
    device: Device,
    sharding: Sharding,
    trace: Trace | None,
    config: VentaglioConfig,
) -> Iterator[Piece]:
    """One unit's piece of each product, a phase at a time.

    A cluster's units share an operator's columns. With a trace the piece is of the captured
    product; language head and models without a trace have random ones of the same densities.

    Parameters
    ----------
    loop : Loop
    card : ModelCard
        With its densities.
    device : Device
        A Ventaglio cluster.
    sharding : Sharding
    trace : Trace or None
        Of this model, see `check_elements`.
    config : VentaglioConfig
    """
    pieces = _classes(card, sharding)
    for kind in PRODUCTS:
        if kind not in pieces:
            continue
        rows, columns = _shape(pieces[kind])
        columns = -(-columns // max(device.units, 1))
        captured = _captured(trace, kind)
        if captured is not None:
            operand, source = _part(captured, rows, columns), f"trace {loop.trace}"
        else:
            operand, source = _random(loop, pieces[kind], kind, rows, columns), "random numbers"
        one = Trace(operands=(operand,), metadata={"origin": "synthetic"})
        for case in cut(one, config):
            yield Piece(kind=kind, case=case, source=source)


def _classes(card: ModelCard, sharding: Sharding) -> dict[Kind, OperatorClass]:
    return {work.kind: work for work in build_graph(card, sharding, ends=True).classes}


def _shape(work: OperatorClass) -> tuple[int, int]:
    """(K, N) of a product."""
    depth = work.hidden
    if work.kind is Kind.O:
        depth = work.heads * work.head_size
    elif work.kind is Kind.W2:
        depth = work.intermediate
    return depth, work.weights // work.group // depth


def _captured(trace: Trace | None, kind: Kind) -> Operand | None:
    """The trace's product of a kind, if it has one."""
    operands = trace.operands if trace is not None and kind in _PROJECTIONS else ()
    return next((each for each in operands if each.name.endswith(_PROJECTIONS[kind])), None)


def _part(operand: Operand, rows: int, columns: int) -> Operand:
    """The first rows and columns; of blocks of m columns, whole ones."""
    columns = min(-(-columns // max(operand.m, 1)) * max(operand.m, 1), operand.shape[1])
    tile = operand.column_tile(0, columns)
    end = int(tile.indptr[rows])
    return replace(
        tile,
        shape=(rows, columns),
        indptr=tile.indptr[: rows + 1],
        indices=tile.indices[:end],
        data=tile.data[:end],
        activations=np.ascontiguousarray(tile.activations[:, :rows]),
    )


def _random(loop: Loop, work: OperatorClass, kind: Kind, rows: int, columns: int) -> Operand:
    """Random elements in the densities of an operator; the head sees the last tokens alone."""
    tokens = loop.batch if kind is Kind.HEAD else loop.batch * loop.prefill
    layout = Layout.DENSE if work.weight_density == 1.0 else Layout.BITMASK
    return synthesize(
        projections=("q_proj",),
        weight_sparsity=1.0 - work.weight_density,
        activation_sparsity=1.0 - work.activation_density,
        choice=LayoutChoice(layout=layout),
        element_format=_FORMATS[loop.elements],
        prefill=min(tokens, _MOST_TOKENS),
        decode=min(loop.batch, _MOST_TOKENS),
        rows=min(rows, _MOST_ROWS),
        columns=min(columns, _MOST_COLUMNS),
        seed=SEED,
    ).operands[0]
