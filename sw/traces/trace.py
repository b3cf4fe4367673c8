"""What a sparse layer trace is: the operands of y = x W, and the activations that meet them."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["LARGEST_BLOCK", "Layout", "Operand", "Trace", "is_nan", "is_zero", "storage_type"]

#: Largest m of an N:M block.
LARGEST_BLOCK = 32
#: The two values an entry of :attr:`Operand.phases` can have.
PHASES = ("prefill", "decode")


class Layout(enum.Enum):
    """How the positions of the stored weights of a row are described to the unit.

    DENSE: none needed. N_OF_M: ``n`` positions in each block of ``m`` columns. BITMASK: one
    bit a column. ABSOLUTE: one column number a weight.
    """

    DENSE = "dense"
    N_OF_M = "n_of_m"
    BITMASK = "bitmask"
    ABSOLUTE = "absolute"


def storage_type(element_format: ElementFormat) -> np.dtype:
    """NumPy type that holds raw bit patterns of a format: uint8, uint16 or uint32."""
    return np.dtype(f"uint{element_format.bits}")


def is_nan(bits: np.ndarray, element_format: ElementFormat) -> np.ndarray:
    """Which raw bit patterns are NaN; bool, shape of `bits`. Integers never are."""
    layout = element_format.layout
    if element_format.is_integer:
        return np.zeros(bits.shape, dtype=bool)
    magnitude = bits & bits.dtype.type((1 << (layout.bits - 1)) - 1)
    exponent = ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
    if layout.has_infinity:
        return magnitude > bits.dtype.type(exponent)
    return magnitude == bits.dtype.type(exponent | ((1 << layout.fraction_bits) - 1))


def is_zero(bits: np.ndarray, element_format: ElementFormat) -> np.ndarray:
    """Which raw bit patterns are zero, of either sign; bool, shape of `bits`."""
    if element_format.is_integer:
        return bits == 0
    return (bits & bits.dtype.type((1 << (element_format.bits - 1)) - 1)) == 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Operand:
    """One matrix product y = x W of a layer, W in CSR by input feature (Gustavson's order).

    Row k of the CSR is what activation x[k] multiplies, so a zero x[k] skips the row.

    Parameters
    ----------
    name : str
        Name of the projection, such as ``layers.0.self_attn.q_proj``.
    element_format : ElementFormat
        Format of weights and activations.
    layout : Layout
        The layout in which the sparsity pattern is naturally described.
    n, m : int
        At most n stored weights in each block of m columns, ``1 <= n <= m <= 32``; both 0 for
        the other layouts. Every block holds exactly n entries (a shorter block at the end of a
        row min(n, width)); stored zeros fill up.
    shape : tuple of int
        (K, N): input features, output features.
    indptr : ndarray, int64 [K+1]
        Row k holds entries ``indptr[k]`` to ``indptr[k+1]``.
    indices : ndarray, int32 [nnz]
        Column of each entry, ascending within a row.
    data : ndarray, uint8, uint16 or uint32 [nnz]
        Raw bit patterns of the weights.
    activations : ndarray, uint8, uint16 or uint32 [tokens, K]
        Raw bit patterns of x, one row a token.
    phases : tuple of str
        ``prefill`` or ``decode`` for each token.

    Raises
    ------
    InputError
        If a field does not fit the others, an index is out of range, or a value is NaN.
    """

    name: str
    element_format: ElementFormat
    layout: Layout
    n: int = 0
    m: int = 0
    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    activations: np.ndarray
    phases: tuple[str, ...]

    def __post_init__(self) -> None:
        self._check_types()
        self._check_pattern()
        if self.layout is Layout.N_OF_M:
            self._check_blocks()
        elif (self.n, self.m) != (0, 0):
            raise self._refusal(
                f"n and m are {self.n}:{self.m} but belong to layout n_of_m only; "
                f"leave them 0 for layout {self.layout.value}"
            )
        if self.layout is Layout.DENSE and self.nnz != self.shape[0] * self.shape[1]:
            raise self._refusal(
                f"layout dense stores {self.shape[0] * self.shape[1]} weights, got {self.nnz}; "
                "store the zeros, or choose layout bitmask"
            )
        for field_name in ("data", "activations"):
            nan = is_nan(getattr(self, field_name), self.element_format)
            if nan.any():
                position = tuple(int(axis[0]) for axis in np.nonzero(nan))
                raise self._refusal(
                    f"{field_name}{list(position)} is NaN; "
                    "a trace holds numbers only, replace it before saving"
                )

    def _refusal(self, text: str) -> InputError:
        return InputError(f"operand {self.name!r}: {text}")

    def _check_types(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise InputError(f"operand name must be a non-empty string, got {self.name!r}")
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise self._refusal(f"shape must be two positive integers (K, N), got {self.shape}")
        stored = storage_type(self.element_format)
        wanted = {
            "indptr": (np.dtype(np.int64), (self.shape[0] + 1,)),
            "indices": (np.dtype(np.int32), (self.nnz,)),
            "data": (stored, (self.nnz,)),
            "activations": (stored, (len(self.phases), self.shape[0])),
        }
        for field_name, (dtype, shape) in wanted.items():
            array = getattr(self, field_name)
            if array.dtype != dtype or array.shape != shape:
                raise self._refusal(
                    f"{field_name} must be {dtype} of shape {list(shape)}, "
                    f"got {array.dtype} of shape {list(array.shape)}"
                )
        for position, phase in enumerate(self.phases):
            if phase not in PHASES:
                raise self._refusal(
                    f"phases[{position}] must be 'prefill' or 'decode', got {phase!r}"
                )

    def _check_pattern(self) -> None:
        lengths = np.diff(self.indptr)
        if self.indptr[0] != 0 or (lengths < 0).any() or self.indptr[-1] != self.nnz:
            raise self._refusal(
                f"indptr must rise from 0 to the number of weights {self.nnz}, "
                f"got {self.indptr[0]} to {self.indptr[-1]}"
                + (" with a fall between" if (lengths < 0).any() else "")
            )
        outside = np.nonzero((self.indices < 0) | (self.indices >= self.shape[1]))[0]
        if outside.size:
            raise self._refusal(
                f"indices[{outside[0]}] is {self.indices[outside[0]]}, out of range for "
                f"{self.shape[1]} columns (0 to {self.shape[1] - 1})"
            )
        rows = self.rows
        falls = np.nonzero((np.diff(self.indices) <= 0) & (rows[1:] == rows[:-1]))[0]
        if falls.size:
            at = int(falls[0])
            raise self._refusal(
                f"indices of row {rows[at]} must ascend without repeats, got "
                f"{self.indices[at]} before {self.indices[at + 1]}; sort the row"
            )

    def _check_blocks(self) -> None:
        if not 1 <= self.n <= self.m <= LARGEST_BLOCK:
            raise self._refusal(
                f"layout n_of_m needs 1 <= n <= m <= {LARGEST_BLOCK}, got {self.n}:{self.m}"
            )
        rows, columns = self.shape
        blocks = -(-columns // self.m)
        found = np.bincount(self.rows * blocks + self.indices // self.m, minlength=rows * blocks)
        widths = np.minimum(self.m, columns - self.m * np.arange(blocks))
        expected = np.tile(np.minimum(self.n, widths), rows)
        wrong = np.nonzero(found != expected)[0]
        if wrong.size:
            row, block = divmod(int(wrong[0]), blocks)
            raise self._refusal(
                f"row {row}, block {block} holds {found[wrong[0]]} weights but {self.n}:{self.m} "
                f"needs {expected[wrong[0]]}; store zeros to fill up, or choose layout bitmask"
            )

    @property
    def nnz(self) -> int:
        """Stored weights, stored zeros included."""
        return int(self.data.shape[0])

    @property
    def tokens(self) -> int:
        """Rows of `activations`."""
        return len(self.phases)

    @property
    def rows(self) -> np.ndarray:
        """Row k of each stored weight; int64 [nnz]."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int64), np.diff(self.indptr))

    @property
    def weight_sparsity(self) -> float:
        """Share of the K x N weights that are not stored, 0 to 1."""
        return 1.0 - self.nnz / (self.shape[0] * self.shape[1])

    @property
    def activation_sparsity(self) -> float:
        """Share of the activations that are zero, 0 to 1; 0 without tokens."""
        if not self.activations.size:
            return 0.0
        return float(is_zero(self.activations, self.element_format).mean())

    def column_tile(self, start: int, stop: int) -> "Operand":
        """The operand restricted to output columns `start` to `stop` (exclusive).

        Parameters
        ----------
        start, stop : int
            ``0 <= start < stop <= N``. In layout n_of_m the cut must fall on a block's edge.

        Returns
        -------
        Operand
            Of shape (K, stop - start); activations are shared, not copied.
        """
        if not 0 <= start < stop <= self.shape[1]:
            raise self._refusal(
                f"columns {start}:{stop} must lie in 0:{self.shape[1]} and not be empty"
            )
        if self.layout is Layout.N_OF_M and (
            start % self.m or (stop % self.m and stop != self.shape[1])
        ):
            raise self._refusal(
                f"columns {start}:{stop} cut a block of {self.m}; use multiples of {self.m}"
            )
        inside = (self.indices >= start) & (self.indices < stop)
        before = np.concatenate(([0], np.cumsum(inside, dtype=np.int64)))
        return Operand(
            name=self.name,
            element_format=self.element_format,
            layout=self.layout,
            n=self.n,
            m=self.m,
            shape=(self.shape[0], stop - start),
            indptr=before[self.indptr],
            indices=(self.indices[inside] - start).astype(np.int32),
            data=self.data[inside],
            activations=self.activations,
            phases=self.phases,
        )

    def dense(self) -> np.ndarray:
        """Raw bit patterns of W with zeros filled in; storage type of the format, [K, N]."""
        matrix = np.zeros(self.shape, dtype=storage_type(self.element_format))
        matrix[self.rows, self.indices] = self.data
        return matrix


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """Operands of one or more layers, and where they come from.

    Parameters
    ----------
    operands : tuple of Operand
        With different names.
    metadata : dict of str to str
        At least ``origin``: ``captured``, ``synthetic`` or ``imported``. Others that the
        project writes (docs/traces.md): ``model``, ``pruning``, ``license``, ``command``.

    Raises
    ------
    InputError
        If two operands share a name or the metadata are not strings.
    """

    operands: tuple[Operand, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)

    #: What ``metadata["origin"]`` may be.
    ORIGINS = ("captured", "synthetic", "imported")

    def __post_init__(self) -> None:
        names = [operand.name for operand in self.operands]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"trace: operand name {name!r} is used twice; rename one")
        for key, value in self.metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise InputError(f"trace: metadata must map str to str, got {key!r}: {value!r}")
        if self.metadata.get("origin") not in self.ORIGINS:
            raise InputError(
                f"trace: metadata 'origin' must be one of {', '.join(self.ORIGINS)}, "
                f"got {self.metadata.get('origin')!r}"
            )

    def save(self, path: str | Path) -> None:
        """Write the trace as safetensors, whole or not at all."""
        from fanweave.sw.traces.container import write_trace  # it imports this module

        write_trace(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> "Trace":
        """Read a trace; InputError if the file is missing, damaged, or something else."""
        from fanweave.sw.traces.container import read_trace  # it imports this module

        return read_trace(Path(path))
