"""Reads files of measured operators, each in the form in which its source publishes it."""

import csv
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fanweave.golden.dops.calibration.attention_table import AttentionRow
from fanweave.golden.dops.calibration.samples import Sample, merge_duplicates
from fanweave.golden.dops.calibration.shapes import GEMM, ROWWISE, operator_shape
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError

__all__ = ["FORMS", "Measurements", "read_measurements"]

_US, _MS = 1_000_000, 1_000_000_000

#: Forms that are understood, for messages.
FORMS = (
    "operator,m,n,k,time_us | layer,tokens,time_us | layer,sequences,time_us | "
    "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us | num_tokens,NAME in ms,... | "
    "LLMCompass matmul (M, N, K, time ms, Tflops) and rate tables (sizes, 1e9 elements/s)"
)
_MATMUL = re.compile(r"\s*(\d+),\s*(\d+),\s*(\d+),\s*([0-9.]+)ms,\s*([0-9.]+)Tflops\s*")
_RATE_FILE = re.compile(r"gelu|softmax|layernorm", re.IGNORECASE)


@dataclass(kw_only=True)
class Measurements:
    """What a file holds.

    Attributes
    ----------
    samples : list of Sample
        Operators, duplicates merged.
    attention : list of AttentionRow
        Batches of attention.
    sized_by : str
        What M counts: ``"tokens"``, ``"sequences"`` or ``"rows"``.
    repeated : int
        Rows that stood at the size of another one and were merged with it.
    """

    samples: list[Sample] = field(default_factory=list)
    attention: list[AttentionRow] = field(default_factory=list)
    sized_by: str = "tokens"
    repeated: int = 0


def read_measurements(path: Path, card: ModelCard) -> Measurements:
    """Read a file of measured operators; its form is known by its first line.

    Parameters
    ----------
    path : Path
        The file.
    card : ModelCard
        The measured model, which gives N and K of its layers.

    Raises
    ------
    InputError
        If it cannot be read, has no known form, or a row does not fit.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty; expected measured operators: {FORMS}")
    read = _reader(lines[0], path)
    result = read(lines, path, card)
    merged = merge_duplicates(result.samples)
    result.repeated, result.samples = len(result.samples) - len(merged), merged
    if not result.samples and not result.attention:
        raise InputError(f"{path} has a header and no rows")
    return result


def _reader(first: str, path: Path) -> Callable[[list[str], Path, ModelCard], Measurements]:
    header = [name.strip() for name in first.split(",")]
    if header == ["operator", "m", "n", "k", "time_us"]:
        return _read_own
    if header == ["layer", "tokens", "time_us"] or header == ["layer", "sequences", "time_us"]:
        return _read_layers
    if header == ["prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"]:
        return _read_attention
    if header[0] == "num_tokens":
        return _read_wide
    if _MATMUL.fullmatch(first):
        return _read_matmul
    if _RATE_FILE.search(path.name) and len(header) in (2, 3) and _is_number(header[0]):
        return _read_rate
    raise InputError(f"{path}: first line {first!r} is no known form; expected one of: {FORMS}")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _rows(lines: Sequence[str], path: Path, fields: int) -> list[tuple[int, list[str]]]:
    rows = []
    for number, row in enumerate(csv.reader(lines), 1):
        if len(row) != fields:
            raise InputError(f"{path}, line {number}: {len(row)} fields; expected {fields}")
        rows.append((number, row))
    return rows


def _whole(text: str, path: Path, line: int, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{path}, line {line}: {name} {text!r} must be a whole number") from None


def _positive(text: str, path: Path, line: int, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise InputError(
            f"{path}, line {line}: {name} {text!r} must be a finite number over 0"
        ) from None
    return value


def _read_own(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    result = Measurements(sized_by="rows")
    for line, (name, m, n, k, time) in _rows(lines[1:], path, 5):
        sizes = [_whole(text, path, line + 1, "size") for text in (m, n, k)]
        duration = round(_positive(time, path, line + 1, "time_us") * _US)
        kind = GEMM if sizes[2] else ROWWISE
        result.samples.append(
            Sample(operator=name, kind=kind, m=sizes[0], n=sizes[1], k=sizes[2], time_ps=duration)
        )
    return result


def _read_layers(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    result = Measurements(sized_by=lines[0].split(",")[1].strip())
    for line, (name, size, time) in _rows(lines[1:], path, 3):
        shape = operator_shape(name, card)
        if shape is None:
            raise InputError(f"{path}, line {line + 1}: layer {name!r} is not known")
        kind, n, k = shape
        m = _whole(size, path, line + 1, result.sized_by)
        duration = round(_positive(time, path, line + 1, "time_us") * _US)
        result.samples.append(Sample(operator=name, kind=kind, m=m, n=n, k=k, time_ps=duration))
    return result


def _read_attention(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    result = Measurements()
    names = ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode")
    for line, row in _rows(lines[1:], path, 5):
        sizes = [
            _whole(text, path, line + 1, name) for text, name in zip(row[:4], names, strict=True)
        ]
        if min(sizes) < 0 or (sizes[0] == 0 and sizes[2] == 0):
            raise InputError(f"{path}, line {line + 1}: a batch without tokens")
        duration = _positive(row[4], path, line + 1, "time_us") * _US
        result.attention.append((sizes[0], sizes[1], sizes[2], sizes[3], duration))
    return result


def _read_wide(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    names = [name.strip() for name in lines[0].split(",")][1:]
    shapes = [operator_shape(name, card) for name in names]
    for name, shape in zip(names, shapes, strict=True):
        if shape is None:
            raise InputError(f"{path}: column {name!r} is not known")
    result = Measurements()
    for line, row in _rows(lines[1:], path, len(names) + 1):
        tokens = _whole(row[0], path, line + 1, "num_tokens")
        for name, shape, text in zip(names, shapes, row[1:], strict=True):
            assert shape is not None
            duration = round(_positive(text, path, line + 1, name) * _MS)
            result.samples.append(
                Sample(
                    operator=name,
                    kind=shape[0],
                    m=tokens,
                    n=shape[1],
                    k=shape[2],
                    time_ps=duration,
                )
            )
    return result


def _read_matmul(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    result = Measurements(sized_by="rows")
    for number, line in enumerate(lines, 1):
        found = _MATMUL.fullmatch(line)
        if not found:
            raise InputError(f"{path}, line {number}: {line!r} is not M, N, K, time ms, Tflops")
        m, n, k = (int(text) for text in found.groups()[:3])
        duration = round(_positive(found[4], path, number, "time") * _MS)
        result.samples.append(Sample(operator="matmul", kind=GEMM, m=m, n=n, k=k, time_ps=duration))
    return result


def _read_rate(lines: list[str], path: Path, card: ModelCard) -> Measurements:
    """Sizes and a rate in 1e9 elements/s: the time is what the elements need at that rate."""
    found = _RATE_FILE.search(path.name)
    assert found is not None
    result = Measurements(sized_by="rows")
    fields = len(lines[0].split(","))
    for line, row in _rows(lines, path, fields):
        sizes = [_whole(text, path, line, "size") for text in row[:-1]]
        m, n = (sizes[0], 1) if len(sizes) == 1 else (sizes[0], sizes[1])
        rate = _positive(row[-1], path, line, "rate")
        result.samples.append(
            Sample(
                operator=found[0].lower(),
                kind=ROWWISE,
                m=m,
                n=n,
                k=0,
                time_ps=round(m * n / rate * 1000),
            )
        )
    return result
