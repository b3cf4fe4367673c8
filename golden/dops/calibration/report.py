"""Calibrates from measurements, and says how good the result is on data that it never saw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.dops.calibration.attention_fit import fit_attention
from fanweave.golden.dops.calibration.attention_table import AttentionRow, AttentionTable
from fanweave.golden.dops.calibration.operator_table import OperatorTable
from fanweave.golden.dops.calibration.readers import Measurements
from fanweave.golden.dops.calibration.roofline_fit import fit_operators
from fanweave.golden.dops.calibration.samples import ErrorSummary, Sample, relative_errors
from fanweave.golden.dops.calibration.shapes import GEMM
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError

__all__ = ["FIT_GOAL", "TABLE_GOAL", "CalibrationRow", "calibrate"]

#: Largest mean error that is aimed at: with the fit on held-out rows, with the table on
#: held-out sizes.
FIT_GOAL, TABLE_GOAL = 0.07, 0.03
_LEAST_ROWS = 12
#: One row in this many is held out of a fit.
_HELD_OUT = 4


@dataclass(frozen=True, kw_only=True)
class CalibrationRow:
    """Errors of one curve or table on held-out measurements.

    Attributes
    ----------
    operators : str
        What was calibrated: one operator, or ``"all products"``.
    method : str
        ``"fit"`` or ``"table"``.
    held_out : str
        What was held out: ``"rows"``, ``"shapes"`` (all rows with an N and K, which the others
        do not have), ``"sizes"``, ``"chunks"``, ``"contexts"``.
    measurements : int
        Measurements altogether.
    error : ErrorSummary
        Errors on those that were held out.
    goal : float or None
        Largest mean error that is aimed at.
    parameters : dict of str to float
        Of the curve fitted to all measurements; empty for a table.
    """

    operators: str
    method: str
    held_out: str
    measurements: int
    error: ErrorSummary
    goal: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)


def calibrate(
    measurements: Measurements, card: ModelCard, *, processors: int
) -> list[CalibrationRow]:
    """Fit curves and make tables, each with its errors on held-out measurements.

    Parameters
    ----------
    measurements : Measurements
        What a file holds.
    card : ModelCard
        The measured model.
    processors : int
        Streaming multiprocessors of the device.

    Raises
    ------
    InputError
        If there are too few measurements of everything.
    """
    rows: list[CalibrationRow] = []
    by_curve: dict[str, list[Sample]] = {}
    by_operator: dict[str, list[Sample]] = {}
    for sample in measurements.samples:
        curve = "all products" if sample.kind == GEMM else sample.operator
        by_curve.setdefault(curve, []).append(sample)
        by_operator.setdefault(sample.operator, []).append(sample)
    for name, samples in by_curve.items():
        rows += _fit_rows(name, samples, processors)
    for name, samples in by_operator.items():
        rows += _table_rows(name, samples)
    if measurements.attention:
        rows += _attention_fits(measurements.attention, card, processors)
        rows += _attention_tables(measurements.attention)
    if not rows:
        raise InputError(
            f"{len(measurements.samples)} measurements are too few to hold some out; at least "
            f"{_LEAST_ROWS} of one operator are needed"
        )
    return rows


def _judge(
    train: Sequence[Sample], test: Sequence[Sample], processors: int
) -> tuple[np.ndarray, np.ndarray]:
    fit = fit_operators(train, processors=processors)
    predicted = fit.seconds([sample.sizes for sample in test])
    return predicted, np.array([sample.time_ps for sample in test]) * 1e-12


def _fit_rows(name: str, samples: Sequence[Sample], processors: int) -> list[CalibrationRow]:
    if len(samples) < _LEAST_ROWS:
        return []
    parameters = fit_operators(samples, processors=processors).parameters
    test = [sample for at, sample in enumerate(samples) if at % _HELD_OUT == 1]
    train = [sample for at, sample in enumerate(samples) if at % _HELD_OUT != 1]
    rows = [
        CalibrationRow(
            operators=name,
            method="fit",
            held_out="rows",
            measurements=len(samples),
            error=relative_errors(*_judge(train, test, processors)),
            goal=FIT_GOAL,
            parameters=parameters,
        )
    ]
    shapes = sorted({(sample.n, sample.k) for sample in samples})
    results = []
    for shape in shapes:
        test = [sample for sample in samples if (sample.n, sample.k) == shape]
        train = [sample for sample in samples if (sample.n, sample.k) != shape]
        if len(train) >= _LEAST_ROWS:
            results.append(_judge(train, test, processors))
    if results:
        predicted, measured = (np.concatenate(each) for each in zip(*results, strict=True))
        rows.append(
            CalibrationRow(
                operators=name,
                method="fit",
                held_out="shapes",
                measurements=len(samples),
                error=relative_errors(predicted, measured),
            )
        )
    return rows


def _table_rows(name: str, samples: Sequence[Sample]) -> list[CalibrationRow]:
    """Every other size is held out, then the others; the ends always stay."""
    if len(samples) < _LEAST_ROWS or len({(sample.n, sample.k) for sample in samples}) > 1:
        return []
    predicted, measured = [], []
    for parity in (0, 1):
        inner = range(1, len(samples) - 1)
        out = {at for at in inner if at % 2 == parity}
        kept = [sample for at, sample in enumerate(samples) if at not in out]
        table = OperatorTable(
            [sample.m for sample in kept],
            [sample.time_ps for sample in kept],
            tiled=kept[0].kind == GEMM,
        )
        predicted += [table.time_ps(samples[at].m) for at in sorted(out)]
        measured += [samples[at].time_ps for at in sorted(out)]
    return [
        CalibrationRow(
            operators=name,
            method="table",
            held_out="sizes",
            measurements=len(samples),
            error=relative_errors(predicted, measured),
            goal=TABLE_GOAL,
        )
    ]


def _attention_fits(
    rows: Sequence[AttentionRow], card: ModelCard, processors: int
) -> list[CalibrationRow]:
    result = []
    for prefill in (True, False):
        kind = [row for row in rows if (row[2] == 0 if prefill else row[0] == 0)]
        if len(kind) < _LEAST_ROWS:
            continue
        test = [row for at, row in enumerate(kind) if at % _HELD_OUT == 1]
        train = [row for at, row in enumerate(kind) if at % _HELD_OUT != 1]
        fit = fit_attention(train, card, prefill=prefill, processors=processors)
        sizes = [(row[0], row[1]) if prefill else (row[2], row[3]) for row in test]
        predicted = fit.seconds(sizes)
        whole = fit_attention(kind, card, prefill=prefill, processors=processors)
        result.append(
            CalibrationRow(
                operators=f"attention, {'prefill' if prefill else 'decode'} alone",
                method="fit",
                held_out="rows",
                measurements=len(kind),
                error=relative_errors(predicted, np.array([row[4] for row in test]) * 1e-12),
                goal=FIT_GOAL,
                parameters=whole.parameters,
            )
        )
    return result


def _attention_tables(rows: Sequence[AttentionRow]) -> list[CalibrationRow]:
    """Every other chunk, and every other decode context, is held out; the ends stay."""
    chunks, contexts = _inner({row[0] for row in rows}), _inner({row[3] for row in rows})
    cases: tuple[tuple[str, str, Callable[[AttentionRow], bool]], ...] = (
        ("attention with prefill", "chunks", lambda row: row[0] in chunks),
        ("attention, decode alone", "contexts", lambda row: row[0] == 0 and row[3] in contexts),
        ("attention, both at once", "contexts", lambda row: row[0] > 0 and row[3] in contexts),
    )
    result = []
    for operators, held_out, is_out in cases:
        test = [row for row in rows if is_out(row)]
        if not test:
            continue
        table = AttentionTable(row for row in rows if not is_out(row))
        result.append(
            CalibrationRow(
                operators=operators,
                method="table",
                held_out=held_out,
                measurements=len(rows),
                error=relative_errors(
                    [_look_up(table, row) for row in test], [row[4] for row in test]
                ),
            )
        )
    return result


def _inner(values: set[int]) -> set[int]:
    ordered = sorted(value for value in values if value)
    return set(ordered[1:-1:2])


def _look_up(table: AttentionTable, row: AttentionRow) -> float:
    chunk, context, sequences, decode_context, _ = row
    if chunk == 0:
        return table.decode_ps(sequences, decode_context)
    if sequences == 0:
        return table.prefill_ps(chunk, context)
    return table.mixed_ps(chunk, context, sequences, decode_context)
