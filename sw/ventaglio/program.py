"""Operations of the Ventaglio unit, and the register writes that start them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, Opcode, register

__all__ = ["Clear", "Drain", "Multiply", "MultiplyAccumulate", "Operation", "assemble"]

#: Bits of 1.0 in FP32.
ONE = 0x3F800000

#: Values of fields: register name to field name to value.
Settings = dict[str, dict[str, int]]


class Configured(Protocol):
    """What can be written to the unit: fields of registers, and a code for ``command``."""

    @property
    def opcode(self) -> int:
        """Code of the operation."""

    def settings(self) -> Settings:
        """Fields that the operation needs."""


@dataclass(frozen=True)
class Clear:
    """All accumulators become zero."""

    opcode = Opcode.CLEAR

    def settings(self) -> Settings:
        """No configuration."""
        return {}


@dataclass(frozen=True, kw_only=True)
class MultiplyAccumulate:
    """``acc[base + u * stride + j] += x[u, k] * W[first_row + k, j]`` for ``length`` rows.

    Attributes
    ----------
    element_format : ElementFormat
        Format of weights and activations.
    index_mode : IndexMode
        How the columns of the elements are named.
    n, m : int
        Pattern of N:M mode; without effect in the others.
    skip_zeros : bool
        Whether products with a zero activation are left out.
    length : int
        Rows of the matrix.
    width : int
        Columns.
    outputs : int
        Output rows that share each row of the matrix.
    base, stride : int
        First accumulator, and accumulators from one output row to the next.
    first_row : int
        Number of the matrix's first row in the memory image.
    """

    element_format: ElementFormat
    index_mode: IndexMode
    n: int = 0
    m: int = 0
    skip_zeros: bool = True
    length: int
    width: int
    outputs: int = 1
    base: int = 0
    stride: int = 0
    first_row: int = 0

    opcode = Opcode.MULTIPLY_ACCUMULATE

    def settings(self) -> Settings:
        """Fields that this operation needs."""
        needed = {
            "format": {
                "element": int(self.element_format),
                "index_mode": int(self.index_mode),
                "skip_zeros": int(self.skip_zeros),
            },
            "length": {"rows": self.length},
            "tile": {"width": self.width, "outputs": self.outputs},
            "accumulators": {"base": self.base, "stride": self.stride},
            "first_row": {"row": self.first_row},
        }
        if self.index_mode == IndexMode.N_OF_M:
            needed["sparsity"] = {"n": self.n, "m": self.m}
        return needed


@dataclass(frozen=True, kw_only=True)
class Multiply(MultiplyAccumulate):
    """``acc[...] = x[u, k] * W[first_row + k, j]``: as `MultiplyAccumulate`, without the sum."""

    opcode = Opcode.MULTIPLY


@dataclass(frozen=True, kw_only=True)
class Drain:
    """Accumulators ``base`` to ``base + count - 1`` leave on the results stream.

    Attributes
    ----------
    element_format : ElementFormat
        Format of the operands before: whether accumulators are FP32 or INT32.
    base, count : int
        First accumulator and how many.
    target : ElementFormat or None
        Format of the results; None for the raw 32 bits.
    scale : int
        FP32 bits of the factor before the conversion.
    clear : bool
        Whether accumulators become zero when they have been read.
    """

    element_format: ElementFormat
    base: int = 0
    count: int
    target: ElementFormat | None = None
    scale: int = ONE
    clear: bool = False

    opcode = Opcode.DRAIN

    def settings(self) -> Settings:
        """Fields that this operation needs."""
        raw = self.target is None
        needed = {
            "format": {"element": int(self.element_format)},
            "accumulators": {"base": self.base},
            "drain": {
                "count": self.count,
                "target": 0 if self.target is None else int(self.target),
                "raw": int(raw),
                "clear": int(self.clear),
            },
        }
        if not raw:
            needed["scale"] = {"bits": self.scale}
        return needed


Operation = Clear | MultiplyAccumulate | Drain


def assemble(operations: Iterable[Configured]) -> np.ndarray:
    """Register writes of a program.

    Nothing is assumed about what the registers held before; a register is written when an
    operation needs a field of it that has another value, or none yet.

    Parameters
    ----------
    operations : iterable of Configured
        In the order of their execution; `Clear`, `MultiplyAccumulate`, `Multiply`, `Drain`.

    Returns
    -------
    ndarray, uint32 [writes, 2]
        Address and data of each write.

    Raises
    ------
    InputError
        If a value does not fit in its field.
    """
    held: dict[str, dict[str, int]] = {}
    writes: list[tuple[int, int]] = []
    for position, operation in enumerate(operations):
        for name, fields in operation.settings().items():
            before = held.get(name)
            after = {**(before or {}), **fields}
            if after == before:
                continue
            held[name] = after
            entry = register(name)
            try:
                word = entry.pack(**after)
            except ValueError as error:
                raise InputError(
                    f"operation {position} ({type(operation).__name__}), register {name}: {error}"
                ) from None
            writes.append((entry.address, word))
        command = register("command")
        writes.append((command.address, command.pack(opcode=operation.opcode)))
    return np.array(writes, dtype=np.uint32).reshape(-1, 2)
