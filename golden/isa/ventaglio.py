"""Registers, operations, index modes, errors and counters of the Ventaglio unit."""

import enum

from fanweave.golden.isa.registers import Field, Register

__all__ = [
    "COUNTERS",
    "REGISTERS",
    "ErrorCause",
    "IndexMode",
    "Opcode",
    "counter_address",
    "index_bits",
    "register",
]


class Opcode(enum.IntEnum):
    """Operations, written to the ``command`` register."""

    CLEAR = 1
    MULTIPLY = 2
    MULTIPLY_ACCUMULATE = 3
    DRAIN = 4


class IndexMode(enum.IntEnum):
    """How the indices stream names the columns of a row's nonzeros."""

    DENSE = 0
    N_OF_M = 1
    BITMASK = 2
    ABSOLUTE_8 = 3
    ABSOLUTE_16 = 4


class ErrorCause(enum.IntEnum):
    """Causes in the sticky ``error`` register; the first one stays until it is cleared."""

    NONE = 0
    INDEX_RANGE = 1
    OVER_CONFIGURATION = 2
    ILLEGAL_FORMAT = 3
    ILLEGAL_OPERATION = 4
    LENGTH = 5
    TIMEOUT = 6


def index_bits(mode: IndexMode, m: int = 1) -> int:
    """Bits that one element (one column, for a bitmask) takes in the indices stream."""
    return {
        IndexMode.DENSE: 0,
        IndexMode.N_OF_M: (m - 1).bit_length(),
        IndexMode.BITMASK: 1,
        IndexMode.ABSOLUTE_8: 8,
        IndexMode.ABSOLUTE_16: 16,
    }[mode]


_CONFIGURATION = (
    Register("command", 0x00, "wo", "Starts an operation with the configuration as it stands.", (
        Field("opcode", 0, 3, "1 clear, 2 multiply, 3 multiply-accumulate, 4 drain."),
    )),
    Register("format", 0x01, "rw", "How operands are coded.", (
        Field("element", 0, 3, "Element format code."),
        Field("index_mode", 4, 3, "0 dense, 1 N:M, 2 bitmask, 3 absolute 8, 4 absolute 16."),
        Field("skip_zeros", 8, 1, "Rows whose activations are all zero are not fetched."),
    )),
    Register("sparsity", 0x02, "rw", "The N:M pattern.", (
        Field("n", 0, 6, "Nonzeros in a block, 1 to m."),
        Field("m", 8, 6, "Columns of a block, 1 to 32."),
    )),
    Register("length", 0x03, "rw", "Rows of the sparse matrix in an operation.", (
        Field("rows", 0, 24, "Activations taken, K; 0 is legal and does nothing."),
    )),
    Register("tile", 0x04, "rw", "Shape of the output tile.", (
        Field("width", 0, 16, "Columns, 1 or more."),
        Field("outputs", 16, 4, "Output rows that share each weight row, U."),
    )),
    Register("accumulators", 0x05, "rw", "Where the tile's accumulators stand.", (
        Field("base", 0, 16, "First accumulator; a multiple of the drain width."),
        Field("stride", 16, 16, "Accumulators from one output row to the next."),
    )),
    Register("first_row", 0x06, "rw", "Row number that the fetch stream asks for first.", (
        Field("row", 0, 32, "Added to k."),
    )),
    Register("drain", 0x07, "rw", "What a drain reads and how it leaves.", (
        Field("count", 0, 16, "Accumulators; 0 is legal and does nothing."),
        Field("target", 16, 3, "Element format of the results."),
        Field("raw", 19, 1, "The 32 bits as they are; no scale, no conversion."),
        Field("clear", 20, 1, "Clears what it has read."),
    )),
    Register("scale", 0x08, "rw", "FP32 factor of a drain.", (
        Field("bits", 0, 32, "IEEE binary32."),
    )),
    Register("timeout", 0x09, "rw", "Bound of every wait for a stream.", (
        Field("cycles", 0, 24, "Cycles of waiting that abort the unit; 65535 at reset."),
    )),
    Register("error", 0x0A, "w1", "The first error; a write clears it and leaves the halt.", (
        Field("cause", 0, 4, "0 none, 1 index range, 2 over-configuration, 3 illegal format, "
              "4 illegal operation, 5 length, 6 timeout."),
        Field("halted", 4, 1, "The unit aborted and waits for this register to be written."),
    )),
    Register("error_row", 0x0B, "ro", "Row k of the offending element.", (
        Field("row", 0, 32, "Counted from the operation's first row."),
    )),
    Register("error_element", 0x0C, "ro", "Offending element within its row.", (
        Field("element", 0, 32, "Counted from the row's first nonzero."),
    )),
    Register("status", 0x0D, "ro", "What the unit does.", (
        Field("busy", 0, 1, "An operation is queued or running, or results have not left."),
    )),
    Register("clear_counters", 0x0E, "w1", "A write sets all counters to zero.", ()),
)  # fmt: skip

#: Counters in the order of their addresses, each with its meaning. The cycle causes, from
#: ``cycles_issue`` to ``cycles_other``, add up to ``cycles``.
COUNTERS: tuple[tuple[str, str], ...] = (
    ("cycles", "Cycles in which the unit was busy."),
    ("cycles_issue", "Cycles in which a group of products entered the scatter window."),
    ("cycles_conflict", "Cycles lost because the window was full for bank conflicts."),
    ("cycles_hazard", "Cycles lost because the window was full behind a dependent accumulation."),
    ("cycles_order", "Cycles in which a clear or a drain waited for earlier products."),
    ("cycles_drain", "Cycles in which products waited for a drain of their accumulators."),
    ("cycles_activations", "Cycles without a row because no activation had arrived."),
    ("cycles_rows", "Cycles that waited for a row's description."),
    ("cycles_weights", "Cycles that waited for weights."),
    ("cycles_indices", "Cycles that waited for indices."),
    ("cycles_other", "Cycles of fill, of draining alone and of operation ends."),
    ("products", "Products accumulated."),
    ("skipped_rows", "Rows never fetched because all their activations were zero."),
    ("skipped_products", "Products of fetched rows left out because their activation was zero."),
    ("conflicts", "Products that waited for an older product of the same bank, once a cycle."),
    ("hazards", "Products that waited for an accumulation in flight, once a cycle."),
    ("weight_beats", "Beats taken from the weights stream."),
    ("index_beats", "Beats taken from the indices stream."),
    ("activation_beats", "Beats taken from the activations stream."),
    ("result_beats", "Beats given to the results stream."),
)

_COUNTER_BASE = 0x10


def counter_address(name: str) -> int:
    """Word address of a counter."""
    return _COUNTER_BASE + next(i for i, (known, _) in enumerate(COUNTERS) if known == name)


#: The whole register table, by address.
REGISTERS: tuple[Register, ...] = _CONFIGURATION + tuple(
    Register(f"counter_{name}", _COUNTER_BASE + i, "ro", meaning, (Field("count", 0, 32, meaning),))
    for i, (name, meaning) in enumerate(COUNTERS)
)

_BY_NAME = {entry.name: entry for entry in REGISTERS}


def register(name: str) -> Register:
    """Look a register up by its name."""
    return _BY_NAME[name]
