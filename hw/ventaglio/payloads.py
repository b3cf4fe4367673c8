"""Layouts of what travels between the blocks of the unit."""

from amaranth import unsigned
from amaranth.lib import data, enum

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.product import Product

__all__ = [
    "Command",
    "Marker",
    "OperationConfig",
    "RowDescription",
    "RowRequest",
    "activations_layout",
    "described_row_layout",
    "entry_shape",
    "group_layout",
    "pending_row_layout",
    "plan_layout",
    "products_layout",
    "results_layout",
    "routed_product_layout",
]


class Command(data.Struct):
    """A register write."""

    address: unsigned(8)
    data: unsigned(32)


class RowRequest(data.Struct):
    """Asks the memory side for a row; ``first`` marks the first one of an operation."""

    row: unsigned(32)
    first: unsigned(1)


class RowDescription(data.Struct):
    """Where a requested row stands in the beats that follow."""

    nnz: unsigned(16)
    lane: unsigned(8)
    joined: unsigned(1)
    index_word: unsigned(8)
    index_joined: unsigned(1)


class OperationConfig(data.Struct):
    """The configuration as it stood when an operation was started."""

    opcode: unsigned(3)
    element: unsigned(3)
    index_mode: unsigned(3)
    skip_zeros: unsigned(1)
    n: unsigned(6)
    m: unsigned(6)
    length: unsigned(24)
    width: unsigned(16)
    outputs: unsigned(4)
    base: unsigned(16)
    stride: unsigned(16)
    first_row: unsigned(32)
    count: unsigned(16)
    target: unsigned(3)
    raw: unsigned(1)
    clear: unsigned(1)
    scale: unsigned(32)


class Marker(enum.Enum, shape=unsigned(2)):
    """What an entry of the row queue is."""

    ROW = 0
    END = 1  # of a multiply or multiply-accumulate
    CLEAR = 2
    DRAIN = 3


def activations_layout(config: VentaglioConfig) -> data.ArrayLayout:
    """``x[u, k]`` for the outputs of one k."""
    return data.ArrayLayout(unsigned(32), config.max_outputs)


def pending_row_layout(config: VentaglioConfig) -> data.StructLayout:
    """A row that was asked for, or a marker."""
    return data.StructLayout(
        {
            "marker": Marker,
            "k": unsigned(24),
            "mask": unsigned(config.max_outputs),
            "scalars": activations_layout(config),
        }
    )


def described_row_layout(config: VentaglioConfig) -> data.StructLayout:
    """A row whose number of nonzeros is known, or a marker."""
    return data.StructLayout({**pending_row_layout(config).members, "nnz": unsigned(16)})


def plan_layout(config: VentaglioConfig) -> data.StructLayout:
    """A group whose columns are not known yet, a marker, or what is ``wrong`` with a row.

    ``indices`` and ``padding`` serve fields of indices, see `FieldPlaces`; ``positions`` and
    ``origins`` bitmasks, see `MaskColumns`. ``rows_done`` is the number of rows that end in the
    group; ``element`` the elements of the first row in earlier ones. Of a row that is wrong,
    ``k[0]`` and ``element`` say where.
    """
    lanes = config.lanes
    count = range(lanes + 1)
    return data.StructLayout(
        {
            "marker": Marker,
            "wrong": unsigned(1),
            "first_count": count,
            "second_count": count,
            "rows_done": unsigned(2),
            "indices": unsigned(config.beat_bits + 31),
            "padding": unsigned(5),
            "positions": data.ArrayLayout(range(config.mask_columns), lanes),
            "origins": data.ArrayLayout(unsigned(16), 2),
            "k": data.ArrayLayout(unsigned(24), 2),
            "element": unsigned(16),
            "masks": data.ArrayLayout(unsigned(config.max_outputs), 2),
            "scalars": data.ArrayLayout(activations_layout(config), 2),
            "config": OperationConfig,
        }
    )


def group_layout(config: VentaglioConfig) -> data.StructLayout:
    """The elements that go through the lanes together, or a marker.

    ``valid``, ``second`` and ``columns`` are by physical lane; ``second`` elements belong to
    the second row. ``element`` and ``first_count`` serve error reports: the elements of the first
    row in earlier groups and in this one.
    """
    lanes = config.lanes
    scalars = activations_layout(config)
    return data.StructLayout(
        {
            "marker": Marker,
            "valid": unsigned(lanes),
            "second": unsigned(lanes),
            "columns": data.ArrayLayout(unsigned(16), lanes),
            "weights": unsigned(config.beat_bits),
            "k": data.ArrayLayout(unsigned(24), 2),
            "element": unsigned(16),
            "first_count": range(lanes + 1),
            "masks": data.ArrayLayout(unsigned(config.max_outputs), 2),
            "scalars": data.ArrayLayout(scalars, 2),
            "config": OperationConfig,
        }
    )


def entry_shape(config: VentaglioConfig) -> range:
    """Place of an accumulator within its bank; one bit if there is only one, as signals without
    bits have no meaning in Verilog.
    """
    return range(max(config.entries, 2))


def routed_product_layout(config: VentaglioConfig) -> data.StructLayout:
    """A product and its place within its bank."""
    return data.StructLayout({"product": Product, "entry": entry_shape(config)})


def products_layout(config: VentaglioConfig) -> data.StructLayout:
    """Products of one group and one output, by physical lane."""
    return data.StructLayout(
        {
            "lanes": data.ArrayLayout(routed_product_layout(config), config.lanes),
            "banks": data.ArrayLayout(range(config.banks), config.lanes),
            "valid": unsigned(config.lanes),
            "multiply": unsigned(1),
            "integer": unsigned(1),
        }
    )


def results_layout(config: VentaglioConfig) -> data.StructLayout:
    """A beat of results; ``element_bytes`` is the width of its elements, 1, 2 or 4."""
    return data.StructLayout(
        {
            "data": unsigned(config.beat_bits),
            "elements": unsigned(8),
            "last": unsigned(1),
            "element_bytes": unsigned(3),
        }
    )
