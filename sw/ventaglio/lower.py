"""Lowers a matrix product to a program, activations and a memory image."""

import itertools
from collections.abc import Iterator

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.workload import DrainedTile, Workload
from fanweave.sw.traces.trace import Layout, Operand
from fanweave.sw.ventaglio.layout import SparseMatrix, build_image
from fanweave.sw.ventaglio.program import (
    ONE,
    Clear,
    Drain,
    MultiplyAccumulate,
    Operation,
    assemble,
)

__all__ = ["default_width", "lower", "matrix_of"]

#: Tiles of this many columns unless the accumulators or the caller want fewer.
USUAL_WIDTH = 256


def matrix_of(operand: Operand, width: int) -> SparseMatrix:
    """The weights of a trace's operand, with an index mode that serves tiles of `width`.

    Parameters
    ----------
    operand : Operand
        From a trace.
    width : int
        Columns of a tile; absolute indices take 8 bits up to 256 columns and 16 beyond.

    Returns
    -------
    SparseMatrix
        One tile or a whole matrix; arrays are shared with the operand.
    """
    modes = {
        Layout.DENSE: IndexMode.DENSE,
        Layout.N_OF_M: IndexMode.N_OF_M,
        Layout.BITMASK: IndexMode.BITMASK,
        Layout.ABSOLUTE: IndexMode.ABSOLUTE_8 if width <= 256 else IndexMode.ABSOLUTE_16,
    }
    return SparseMatrix(
        shape=operand.shape,
        indptr=operand.indptr,
        indices=operand.indices,
        data=operand.data,
        element_format=operand.element_format,
        index_mode=modes[operand.layout],
        n=operand.n,
        m=operand.m,
    )


def default_width(columns: int, config: VentaglioConfig, *, outputs: int, m: int = 0) -> int:
    """Columns of a tile that suits the unit: at most 256, and a multiple of `m` if given.

    Raises
    ------
    InputError
        If the unit has too few accumulators for one block.
    """
    width = min(USUAL_WIDTH, config.accumulators // outputs)
    if m:
        width -= width % m
    if width < 1:
        raise InputError(
            f"{config.accumulators} accumulators do not hold {outputs} output rows of one block "
            f"of {max(m, 1)} columns; use fewer outputs"
        )
    return min(width, columns)


def lower(
    matrix: SparseMatrix | Operand,
    activations: np.ndarray | None = None,
    *,
    config: VentaglioConfig,
    outputs: int = 1,
    width: int | None = None,
    skip_zeros: bool = True,
    target: ElementFormat | None = None,
    scale: int = ONE,
) -> Workload:
    """Lower y = x W: groups of `outputs` tokens, tiles of `width` columns.

    Each tile is one multiply-accumulate and one drain that clears. If two tiles fit in the
    accumulators, tiles take turns between two halves, so that the drain of one overlaps with
    the products of the next. The last tokens may form a smaller group.

    Parameters
    ----------
    matrix : SparseMatrix or Operand
        W [K, N].
    activations : ndarray, unsigned [tokens, K], optional
        Raw elements of x; an operand brings its own.
    config : VentaglioConfig
        The unit.
    outputs : int
        Tokens that share each weight row.
    width : int, optional
        Columns of a tile; `default_width` unless given.
    skip_zeros : bool
        Whether products with zero activations are left out.
    target : ElementFormat, optional
        Format of the results; raw accumulators unless given.
    scale : int
        FP32 bits of the factor before the conversion.

    Returns
    -------
    Workload
        What the unit is given.

    Raises
    ------
    InputError
        If the product does not fit the unit; the message says what to change.
    """
    if not 1 <= outputs <= config.max_outputs:
        raise InputError(
            f"outputs is {outputs}; this configuration allows 1 to {config.max_outputs}"
        )
    if width is None:
        width = default_width(matrix.shape[1], config, outputs=outputs, m=matrix.m)
    width = min(width, matrix.shape[1])
    if isinstance(matrix, Operand):
        activations = matrix.activations if activations is None else activations
        matrix = matrix_of(matrix, width)
    elif matrix.index_mode is IndexMode.ABSOLUTE_8 and width > 256:
        raise InputError(f"absolute 8-bit indices reach 256 columns; the tile has {width}")
    rows, columns = matrix.shape
    if activations is None or activations.ndim != 2 or activations.shape[1] != rows:
        raise InputError(
            f"activations have shape {getattr(activations, 'shape', None)}; "
            f"expected (tokens, {rows}) for a matrix of shape {matrix.shape}"
        )
    _check_unit(matrix, config, outputs=outputs, width=width)
    image, first_rows = build_image(matrix.column_tiles(width), beat_bits=config.beat_bits)
    tokens = activations.shape[0]
    drains = list(_tiles(tokens, columns, outputs=outputs, width=width))
    operations: list[Operation] = [Clear()]
    beats = [np.zeros((0, config.max_outputs), np.uint32)]
    for tile, base in zip(drains, _bases(config, outputs * width), strict=False):
        group = activations[tile.token : tile.token + tile.outputs]
        block = np.zeros((rows, config.max_outputs), dtype=np.uint32)
        block[:, : tile.outputs] = group.T
        beats.append(block)
        first_row = first_rows[tile.column // width]
        operations += [
            _multiply(matrix, tile, base=base, first_row=first_row, skip_zeros=skip_zeros),
            Drain(
                element_format=matrix.element_format,
                base=base,
                count=tile.outputs * tile.width,
                target=target,
                scale=scale,
                clear=True,
            ),
        ]
    return Workload(
        commands=assemble(operations),
        activations=np.concatenate(beats),
        image=image,
        drains=tuple(drains),
        shape=(tokens, columns),
        result_format=target,
    )


def _check_unit(matrix: SparseMatrix, config: VentaglioConfig, *, outputs: int, width: int) -> None:
    """Refuse what the unit was not built for."""
    if matrix.element_format not in config.formats:
        raise InputError(
            f"element format {matrix.element_format.name} is not built in this configuration; "
            f"it has {', '.join(f.name for f in config.formats)}"
        )
    if outputs * width > config.accumulators:
        raise InputError(
            f"{outputs} outputs of {width} columns need {outputs * width} accumulators; "
            f"the configuration has {config.accumulators}; use a narrower tile"
        )


def _tiles(tokens: int, columns: int, *, outputs: int, width: int) -> Iterator[DrainedTile]:
    """Tiles in their order: all columns of a group of tokens, then the next group."""
    for token in range(0, tokens, outputs):
        for column in range(0, columns, width):
            yield DrainedTile(
                token=token,
                outputs=min(outputs, tokens - token),
                column=column,
                width=min(width, columns - column),
            )


def _bases(config: VentaglioConfig, used: int) -> Iterator[int]:
    """First accumulator of each tile: two halves in turn, if a tile fits one."""
    half = config.accumulators // 2
    alternate = used <= half and half % config.drain_lanes == 0
    return itertools.cycle((0, half) if alternate else (0,))


def _multiply(
    matrix: SparseMatrix, tile: DrainedTile, *, base: int, first_row: int, skip_zeros: bool
) -> MultiplyAccumulate:
    return MultiplyAccumulate(
        element_format=matrix.element_format,
        index_mode=matrix.index_mode,
        n=matrix.n,
        m=matrix.m,
        skip_zeros=skip_zeros,
        length=matrix.shape[0],
        width=tile.width,
        outputs=tile.outputs,
        base=base,
        stride=tile.width,
        first_row=first_row,
    )
