"""Coverage points of the Ventaglio unit: operations of random programs, by what they are."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, IndexMode, Opcode, register
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.operation import Operation, RegisterFile
from fanweave.golden.ventaglio.rows import decode_rows
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.coverage.cross import Cell, Cross, Hits

__all__ = ["CROSSES", "hits_of", "length_class", "stall_class"]

_FORMATS = tuple(each.name for each in ElementFormat)
_LENGTHS = ("0 rows", "1 row", "2 to 7 rows", "8 rows and more")
_STALLS = ("no stalls", "some stalls", "many stalls")
#: What two products of an operation have in common, if anything.
_HAZARDS = ("accumulator, other rows", "accumulator, same row", "bank, same beat", "nothing")
_KINDS: dict[int, str] = {
    Opcode.MULTIPLY: "multiply",
    Opcode.MULTIPLY_ACCUMULATE: "multiply",
    Opcode.DRAIN: "drain",
}
_CAUSES = {
    "multiply": set(ErrorCause) - {ErrorCause.NONE, ErrorCause.ILLEGAL_OPERATION},
    "drain": {ErrorCause.OVER_CONFIGURATION, ErrorCause.ILLEGAL_FORMAT},
    "another code": {ErrorCause.ILLEGAL_OPERATION},
}

CROSSES = (
    Cross(
        name="operands",
        axes={
            "format": _FORMATS,
            "indices": tuple(mode.name for mode in IndexMode),
            "length": _LENGTHS,
        },
    ),
    Cross(name="hazards", axes={"format": _FORMATS, "stalls": _STALLS, "products share": _HAZARDS}),
    Cross(
        name="drains",
        axes={
            "accumulators": ("floats", "integers"),
            "results": ("raw", *_FORMATS),
            "afterwards": ("kept", "cleared"),
        },
    ),
    Cross(
        name="errors",
        axes={
            "operation": tuple(_CAUSES),
            "cause": tuple(each.name for each in ErrorCause if each is not ErrorCause.NONE),
        },
        possible=lambda cell: ErrorCause[cell[1]] in _CAUSES[cell[0]],
    ),
)


def hits_of(
    workload: Workload,
    config: VentaglioConfig,
    *,
    stall_probability: int,
    causes: Iterable[ErrorCause],
) -> Hits:
    """What a run has met.

    Parameters
    ----------
    workload
        What the unit was given.
    config
        The unit.
    stall_probability
        Chance in 1/256 that a stream is held back.
    causes
        What the error register held in the end, in all runs.
    """
    hits: dict[str, Counter[Cell]] = defaultdict(Counter)
    registers = RegisterFile()
    others = [register(name).address for name in ("error", "clear_counters")]
    for address, data in workload.commands.tolist():
        operation = None if address in others else registers.write(address, data)
        if operation is None:
            continue
        kind = _KINDS.get(operation.opcode)
        fault = operation.fault(config)
        if fault is not ErrorCause.NONE:
            hits["errors"][kind or "another code", fault.name] += 1
        elif kind == "drain":
            hits["drains"][_drain_cell(operation)] += 1
        elif kind == "multiply":
            name = operation.element_format.name
            mode = IndexMode(operation.index_mode).name
            hits["operands"][name, mode, length_class(operation.length)] += 1
            for hazard in _hazards(workload, config, operation):
                hits["hazards"][name, stall_class(stall_probability), hazard] += 1
    for cause in causes:
        if cause in (ErrorCause.INDEX_RANGE, ErrorCause.LENGTH, ErrorCause.TIMEOUT):
            hits["errors"]["multiply", cause.name] += 1
    return hits


def length_class(rows: int) -> str:
    """Rows of an operation, as an axis has them."""
    return _LENGTHS[rows if rows < 2 else 2 if rows < 8 else 3]


def stall_class(probability: int) -> str:
    """Chance in 1/256 of a stall, as an axis has it."""
    return _STALLS[0 if probability == 0 else 1 if probability < 64 else 2]


def _drain_cell(operation: Operation) -> Cell:
    return (
        "integers" if operation.element_format.is_integer else "floats",
        "raw" if operation.raw else ElementFormat(operation.target).name,
        "cleared" if operation.clear else "kept",
    )


def _hazards(workload: Workload, config: VentaglioConfig, operation: Operation) -> set[str]:
    rows = decode_rows(workload.image, operation)
    lanes = config.lanes_of(operation.element_format)
    bank = np.array([config.bank_of(n) for n in range(config.accumulators)])
    found, before = set(), np.zeros(config.accumulators, dtype=bool)
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        columns = rows.columns[start:stop]
        columns = columns[columns < operation.width]
        named = np.unique(columns)
        if len(named) < len(columns):
            found.add(_HAZARDS[1])
        if before[named].any():
            found.add(_HAZARDS[0])
        before[named] = True
        for at in range(0, len(columns), lanes):
            beat = np.unique(columns[at : at + lanes])
            if len(np.unique(bank[operation.base + beat])) < len(beat):
                found.add(_HAZARDS[2])
    return found or {_HAZARDS[3]}
