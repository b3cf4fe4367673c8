"""Tensors of a safetensors file, any element type, read one at a time."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["TensorFile"]

#: safetensors dtype -> the format of ours that it is.
_OURS = {
    "F32": ElementFormat.FP32,
    "F16": ElementFormat.FP16,
    "BF16": ElementFormat.BF16,
    "F8_E4M3": ElementFormat.E4M3,
    "F8_E5M2": ElementFormat.E5M2,
    "I8": ElementFormat.INT8,
}
#: Others that can be read as numbers.
_NUMPY = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "U8": "<u1"}


@dataclass(frozen=True, kw_only=True)
class _Entry:
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


class TensorFile:
    """Names, shapes and numbers of a safetensors file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # The library checks the header against the file; the bytes are then read directly,
            # as its NumPy side does not know the 8-bit floating-point types.
            with safetensors.safe_open(path, framework="np"):
                pass
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(length))
        except (safetensors.SafetensorError, ValueError, OSError) as error:
            raise InputError(f"{path}: not a safetensors file, or damaged ({error})") from error
        base = 8 + length
        self._entries = {
            name: _Entry(
                dtype=entry["dtype"],
                shape=tuple(entry["shape"]),
                start=base + entry["data_offsets"][0],
                stop=base + entry["data_offsets"][1],
            )
            for name, entry in header.items()
            if name != "__metadata__"
        }

    @property
    def names(self) -> list[str]:
        """Names of all tensors, sorted."""
        return sorted(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor; InputError if it is missing."""
        if name not in self._entries:
            raise InputError(f"{self.path}: tensor {name!r} is missing")
        return self._entries[name].shape

    def source(self, name: str) -> ElementFormat | None:
        """The format of ours in which a tensor is stored, if it is one."""
        return _OURS.get(self._entries[name].dtype)

    def numbers(self, name: str) -> np.ndarray:
        """A tensor's numbers: int64 if it is of integers, else float64."""
        shape = self.shape(name)
        entry = self._entries[name]
        with self.path.open("rb") as file:
            file.seek(entry.start)
            content = file.read(entry.stop - entry.start)
        if entry.dtype in _OURS:
            element_format = _OURS[entry.dtype]
            bits = np.frombuffer(content, dtype=f"<u{element_format.bits // 8}")
            return decode(bits, element_format).reshape(shape)
        if entry.dtype in _NUMPY:
            numbers = np.frombuffer(content, dtype=_NUMPY[entry.dtype]).reshape(shape)
            return numbers.astype(np.float64 if entry.dtype == "F64" else np.int64)
        raise InputError(
            f"{self.path}: tensor {name!r} has type {entry.dtype}, which holds no weights; "
            f"expected one of {', '.join([*_OURS, 'F64'])}"
        )
