"""The file form of a trace: safetensors with one JSON header (docs/traces.md)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.trace import Layout, Operand, Trace, storage_type

__all__ = ["HEADER_KEY", "VERSION", "read_trace", "write_atomically", "write_trace"]

#: The one entry of the safetensors metadata; one, so that the bytes do not depend on an order.
HEADER_KEY = "fanweave_trace"
#: Version of the layout of the file.
VERSION = 1


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all; InputError if that cannot be."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a file in a writable folder"
        ) from error


def _pattern_tensors(operand: Operand) -> dict[str, np.ndarray]:
    if operand.layout is Layout.DENSE:
        return {}
    if operand.layout is Layout.ABSOLUTE:
        narrow = np.uint16 if operand.shape[1] <= 1 << 16 else np.uint32
        return {"indptr": operand.indptr, "indices": operand.indices.astype(narrow)}
    present = np.zeros(operand.shape, dtype=bool)
    present[operand.rows, operand.indices] = True
    return {"mask": np.packbits(present, axis=1, bitorder="little")}


def write_trace(trace: Trace, path: Path) -> None:
    """Write `trace` to `path`, whole or not at all."""
    tensors: dict[str, np.ndarray] = {}
    operands: list[dict[str, Any]] = []
    for operand in trace.operands:
        parts = {"values": operand.data, "activations": operand.activations}
        for part, array in (parts | _pattern_tensors(operand)).items():
            tensors[f"{operand.name}/{part}"] = np.ascontiguousarray(array)
        operands.append(
            {
                "name": operand.name,
                "element_format": operand.element_format.name,
                "layout": operand.layout.value,
                "n": operand.n,
                "m": operand.m,
                "shape": list(operand.shape),
                "phases": list(operand.phases),
            }
        )
    header = {"version": VERSION, "metadata": dict(trace.metadata), "operands": operands}
    text = json.dumps(header, sort_keys=True)
    write_atomically(path, safetensors.numpy.save(tensors, metadata={HEADER_KEY: text}))


def _read_header(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.is_file():
        raise InputError(f"{path}: no such trace file")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if HEADER_KEY not in metadata:
                raise InputError(
                    f"{path}: safetensors, but not a trace (metadata {HEADER_KEY!r} is missing); "
                    "turn weights into a trace with 'fanweave trace import'"
                )
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        header = json.loads(metadata[HEADER_KEY])
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged trace file ({error}); make or fetch it anew") from error
    if not isinstance(header, dict) or header.get("version") != VERSION:
        found = header.get("version") if isinstance(header, dict) else header
        raise InputError(
            f"{path}: trace version {found!r} is unknown, expected {VERSION}; "
            "use the fanweave that wrote it"
        )
    return header, tensors


def _pattern(
    layout: Layout, shape: tuple[int, int], parts: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = shape
    if layout is Layout.DENSE:
        indptr = np.arange(rows + 1, dtype=np.int64) * columns
        return indptr, np.tile(np.arange(columns, dtype=np.int32), rows)
    if layout is Layout.ABSOLUTE:
        return parts["indptr"], parts["indices"].astype(np.int32)
    mask = parts["mask"]
    if mask.dtype != np.uint8 or mask.shape != (rows, -(-columns // 8)):
        raise ValueError(
            f"mask must be uint8 of shape [{rows}, {-(-columns // 8)}], "
            f"got {mask.dtype} of shape {list(mask.shape)}"
        )
    present = np.unpackbits(mask, axis=1, bitorder="little").astype(bool)
    if present[:, columns:].any():
        raise ValueError(f"mask has bits beyond the {columns} columns")
    row, column = np.nonzero(present[:, :columns])
    counts = np.bincount(row, minlength=rows)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), column.astype(np.int32)


def _read_operand(entry: dict[str, Any], tensors: dict[str, np.ndarray]) -> Operand:
    name, layout = entry["name"], Layout(entry["layout"])
    element_format = ElementFormat[entry["element_format"]]
    rows, columns = (int(size) for size in entry["shape"])
    prefix = f"{name}/"
    parts = {key[len(prefix) :]: tensors[key] for key in tensors if key.startswith(prefix)}
    values = parts["values"]
    if layout is Layout.DENSE and values.size != rows * columns:
        # Checked before the pattern is laid out, whose size a damaged header would dictate.
        raise ValueError(f"{rows} x {columns} dense weights expected, got {values.size}")
    indptr, indices = _pattern(layout, (rows, columns), parts)
    activations = parts["activations"]
    stored = storage_type(element_format)
    return Operand(
        name=name,
        element_format=element_format,
        layout=layout,
        n=entry["n"],
        m=entry["m"],
        shape=(rows, columns),
        indptr=indptr,
        indices=indices,
        data=values.astype(stored, casting="no"),
        activations=activations.astype(stored, casting="no"),
        phases=tuple(entry["phases"]),
    )


def read_trace(path: Path) -> Trace:
    """Read a trace; InputError if the file is missing, damaged, or something else."""
    header, tensors = _read_header(path)
    try:
        operands = tuple(_read_operand(entry, tensors) for entry in header["operands"])
        return Trace(operands=operands, metadata=header["metadata"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except KeyError as error:
        raise InputError(f"{path}: damaged trace file ({error} is missing)") from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{path}: damaged trace file ({error})") from error
