"""Functional model of the Ventaglio unit: what every drain gives, to the bit."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.fp import convert_accumulator
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, Opcode, register
from fanweave.golden.ventaglio.accumulate import add_rows
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.operation import Operation, RegisterFile
from fanweave.golden.ventaglio.rows import DecodedRows, decode_rows
from fanweave.golden.ventaglio.workload import MatrixImage, Workload

__all__ = ["ErrorState", "Ventaglio", "nonzero", "run"]

#: Counters whose value does not depend on time.
FUNCTIONAL_COUNTERS = (
    "products",
    "skipped_rows",
    "skipped_products",
    "weight_beats",
    "index_beats",
    "activation_beats",
    "result_beats",
)


@dataclass(frozen=True)
class ErrorState:
    """Contents of the error registers.

    Attributes
    ----------
    cause : ErrorCause
        The first error.
    row, element : int
        Where, counted from the operation's first row and the row's first nonzero.
    halted : bool
        Whether the unit aborted.
    """

    cause: ErrorCause = ErrorCause.NONE
    row: int = 0
    element: int = 0
    halted: bool = False


def nonzero(scalars: np.ndarray, element_format: ElementFormat) -> np.ndarray:
    """Which raw elements are neither +0 nor -0; bool, shape of `scalars`."""
    bits = element_format.bits if element_format.is_integer else element_format.bits - 1
    return (scalars & np.uint32((1 << bits) - 1)) != 0


def _beats(first: np.ndarray, final: np.ndarray) -> int:
    """Beats that the rows of an operation take, from beat `first` to `final` each.

    A row that begins in the beat that was sent last does not send it again.
    """
    joined = first[1:] == final[:-1]
    return int((final - first + 1).sum() - joined.sum())


@dataclass
class Ventaglio:
    """The unit, one register write after another; operations complete at once.

    Between the writes of a run the unit does not stand still in hardware: errors, and the
    writes that clear errors or counters, are exact here if the unit is idle at the write.
    After an abort the accumulators hold what was added before it; hardware may have added
    less, so a program clears them.

    Parameters
    ----------
    config : VentaglioConfig
        The unit.
    image : MatrixImage
        What rows come from.
    activations : ndarray, uint32 [beats, max_outputs]
        The activations stream.

    Attributes
    ----------
    results : list of ndarray
        Elements of each drain that has completed; uint32, low-aligned.
    error : ErrorState
        Error registers.
    counters : dict of str to int
        The counters that do not depend on time.
    """

    config: VentaglioConfig
    image: MatrixImage
    activations: np.ndarray
    results: list[np.ndarray] = field(default_factory=list)
    error: ErrorState = ErrorState()

    def __post_init__(self) -> None:
        self.accumulators = np.zeros(self.config.accumulators, dtype=np.uint32)
        self.counters = dict.fromkeys(FUNCTIONAL_COUNTERS, 0)
        self._registers = RegisterFile()
        self._taken = 0
        self._decoded: dict[tuple[int, ...], DecodedRows] = {}

    def write(self, address: int, data: int) -> None:
        """One register write, and all that follows from it."""
        if address == register("error").address:
            self.error = ErrorState()
            return
        if self.error.halted:
            return
        if address == register("clear_counters").address:
            self.counters = dict.fromkeys(FUNCTIONAL_COUNTERS, 0)
            return
        operation = self._registers.write(address, data)
        if operation is not None:
            self._start(operation)

    def write_all(self, commands: Iterable[Iterable[int]]) -> None:
        """Writes of (address, data), in order."""
        for address, data in commands:
            self.write(int(address), int(data))

    def _start(self, operation: Operation) -> None:
        fault = operation.fault(self.config)
        if fault is not ErrorCause.NONE:
            self._report(ErrorState(fault))
        elif operation.opcode == Opcode.CLEAR:
            self.accumulators[:] = 0
        elif operation.opcode == Opcode.DRAIN:
            self._drain(operation)
        else:
            self._multiply(operation)

    def _report(self, error: ErrorState) -> None:
        """Keep the first error; a halt always counts."""
        if self.error.cause is ErrorCause.NONE:
            self.error = error
        elif error.halted:
            self.error = ErrorState(
                self.error.cause, self.error.row, self.error.element, halted=True
            )

    def _drain(self, operation: Operation) -> None:
        if operation.count == 0:
            return
        part = slice(operation.base, operation.base + operation.count)
        self.results.append(
            convert_accumulator(
                self.accumulators[part],
                scale=operation.scale,
                source_is_integer=operation.element_format.is_integer,
                target=None if operation.raw else ElementFormat(operation.target),
            )
        )
        bits = 32 if operation.raw else ElementFormat(operation.target).bits
        self.counters["result_beats"] += -(-operation.count * bits // self.config.beat_bits)
        if operation.clear:
            self.accumulators[part] = 0

    def _multiply(self, operation: Operation) -> None:
        rows = self._rows(operation)
        scalars = self.activations[self._taken : self._taken + operation.length]
        scalars = scalars[:, : operation.outputs]
        wanted = np.ones(scalars.shape, dtype=bool)
        if operation.skip_zeros:
            wanted = nonzero(scalars, operation.element_format)
        length = scalars.shape[0]
        fetched = np.asarray(wanted.any(axis=1))

        halt = ErrorState()
        if length < operation.length:
            halt = ErrorState(ErrorCause.TIMEOUT, halted=True)
        if rows.ones is not None:
            nnz = np.diff(rows.indptr)
            wrong = np.flatnonzero(fetched & (rows.ones[:length] != nnz[:length]))
            if wrong.size:
                length = int(wrong[0])
                element = min(int(rows.ones[length]), int(nnz[length]))
                halt = ErrorState(ErrorCause.LENGTH, row=length, element=element, halted=True)

        indptr = rows.indptr[: length + 1]
        scalars, wanted, fetched = scalars[:length], wanted[:length], fetched[:length]
        inside = rows.columns[: indptr[-1]] < operation.width
        self._report_columns(inside, indptr, fetched)
        add_rows(
            self.accumulators,
            element_format=operation.element_format,
            indptr=indptr,
            columns=rows.columns,
            weights=rows.weights,
            scalars=scalars,
            wanted=wanted,
            base=operation.base,
            stride=operation.stride,
            width=operation.width,
            overwrite=operation.opcode == Opcode.MULTIPLY,
        )
        self._count(operation, indptr, inside, wanted, fetched)
        self._taken += length
        if halt.halted:
            self._report(halt)

    def _report_columns(self, inside: np.ndarray, indptr: np.ndarray, fetched: np.ndarray) -> None:
        """Index range error of the first column beyond the width in a fetched row."""
        if inside.all():
            return
        bad = np.flatnonzero(~inside)
        row = np.searchsorted(indptr, bad, side="right") - 1
        seen = np.flatnonzero(fetched[row])
        if seen.size:
            first = int(row[seen[0]])
            element = int(bad[seen[0]] - indptr[first])
            self._report(ErrorState(ErrorCause.INDEX_RANGE, row=first, element=element))

    def _count(
        self,
        operation: Operation,
        indptr: np.ndarray,
        inside: np.ndarray,
        wanted: np.ndarray,
        fetched: np.ndarray,
    ) -> None:
        kept = np.diff(np.concatenate(([0], np.cumsum(inside)))[indptr])
        products = wanted.sum(axis=1)
        self.counters["activation_beats"] += int(fetched.shape[0])
        self.counters["skipped_rows"] += int((~fetched).sum())
        self.counters["products"] += int((kept * products).sum())
        left_out = np.where(fetched, operation.outputs - products, 0)
        self.counters["skipped_products"] += int((kept * left_out).sum())

        image = self.image
        asked = operation.first_row + np.flatnonzero(fetched)
        asked = asked[image.nnz[asked] > 0]
        per_beat = image.beat_bits // operation.element_format.bits
        start = image.element_start[asked]
        self.counters["weight_beats"] += _beats(
            start // per_beat, (start + image.nnz[asked] - 1) // per_beat
        )
        asked = asked[image.index_words[asked] > 0]
        words = image.beat_bits // 32
        start = image.index_start[asked]
        self.counters["index_beats"] += _beats(
            start // words, (start + image.index_words[asked] - 1) // words
        )

    def _rows(self, operation: Operation) -> DecodedRows:
        """Decoded rows; tokens that share a tile share the work."""
        key = (
            operation.first_row,
            operation.length,
            operation.element,
            operation.index_mode,
            operation.n,
            operation.m,
            operation.width,
        )
        if key not in self._decoded:
            self._decoded[key] = decode_rows(self.image, operation)
        return self._decoded[key]


def run(workload: Workload, config: VentaglioConfig) -> np.ndarray:
    """Result of a workload that is free of errors.

    Parameters
    ----------
    workload : Workload
        Commands, activations and image.
    config : VentaglioConfig
        The unit.

    Returns
    -------
    ndarray, uint32 [tokens, columns]
        Raw elements of the product, low-aligned.

    Raises
    ------
    InputError
        If the unit would report an error.
    """
    unit = Ventaglio(config, workload.image, workload.activations)
    unit.write_all(workload.commands)
    if unit.error.cause is not ErrorCause.NONE:
        raise InputError(
            f"the workload ends in an error: {unit.error.cause.name} at row {unit.error.row}, "
            f"element {unit.error.element}"
        )
    return workload.gather(np.concatenate([np.zeros(0, np.uint32), *unit.results]))
