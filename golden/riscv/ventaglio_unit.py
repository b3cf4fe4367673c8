"""Ventaglio as a functional unit of the core: bank, products, packed indices.

The arithmetic is that of the golden unit, `fanweave.golden.ventaglio.accumulate`. Products raise
no floating-point flags, as the unit has none.
"""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME
from fanweave.golden.isa.riscv_ventaglio import VectorFault
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.golden.riscv.scalar_float import unbox_half
from fanweave.golden.riscv.trap import TrapError, illegal
from fanweave.golden.riscv.vector_step import Step
from fanweave.golden.ventaglio.accumulate import add_rows
from fanweave.golden.ventaglio.model import nonzero
from fanweave.golden.ventaglio.rows import index_fields

__all__ = [
    "Pattern",
    "bank_row",
    "clear",
    "multiply",
    "multiply_rows",
    "packed_length",
    "pattern_of",
    "refuse_bank",
]

_FORMAT = CSR_BY_NAME["vtlfmt"]
_ERROR = CSR_BY_NAME["vtlerr"]


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """What the CSRs say.

    Attributes
    ----------
    element : ElementFormat
        Format of weights and scalar.
    mode : IndexMode
        How indices are coded.
    n, m : int
        The N:M pattern; 1 and 1 in the other modes.
    bits : int
        Bits of an index.
    width : int
        Columns of a tile, 0 for as many as the elements reach.
    skip_zeros : bool
        Whether zero scalars do nothing.
    """

    element: ElementFormat
    mode: IndexMode
    n: int
    m: int
    bits: int
    width: int
    skip_zeros: bool

    def columns(self, elements: int) -> int:
        """Accumulators of a row that `elements` elements belong to."""
        if self.width:
            return self.width
        return -(-elements // self.n) * self.m

    def index_words(self, elements: int) -> int:
        """Words of 32 bits that the indices of `elements` elements take."""
        count = self.width if self.mode is IndexMode.BITMASK else elements
        return -(-count * self.bits // 32)


def _refuse(step: Step, cause: VectorFault) -> TrapError:
    """Note an error and trap."""
    _report(step, cause, 0)
    return illegal()


def _report(step: Step, cause: VectorFault, element: int) -> None:
    values = step.hart.csrs.values
    if values["vtlerr"] == 0:
        values["vtlerr"] = _ERROR.pack(cause=int(cause), element=element)


def pattern_of(step: Step) -> Pattern:
    """The pattern in force.

    Raises
    ------
    TrapError
        If the CSRs do not name one.
    """
    values = step.hart.csrs.values
    word = values["vtlfmt"]
    if _FORMAT.field("extended").extract(word):
        return _extended_pattern(step, word, values["vtlwidth"])
    m, ratio = 1 << values["vtlblks"], values["vtlratio"]
    n = m >> ratio
    if n == 0 or ratio == 3 or ElementFormat.FP32 not in step.hart.config.formats:
        raise _refuse(step, VectorFault.ILLEGAL_FORMAT)
    return Pattern(
        element=ElementFormat.FP32,
        mode=IndexMode.N_OF_M,
        n=n,
        m=m,
        bits=1 << values["vtlidxw"],
        width=values["vtlwidth"],
        skip_zeros=bool(_FORMAT.field("skip_zeros").extract(word)),
    )


def _extended_pattern(step: Step, word: int, width: int) -> Pattern:
    code, mode = _FORMAT.field("element").extract(word), _FORMAT.field("index_mode").extract(word)
    n, m = _FORMAT.field("n").extract(word), _FORMAT.field("m").extract(word)
    known = code in step.hart.config.formats and mode in tuple(IndexMode)
    if not known or (mode == IndexMode.N_OF_M and not 1 <= n <= m <= 32):
        raise _refuse(step, VectorFault.ILLEGAL_FORMAT)
    if mode in (IndexMode.BITMASK, IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16) and width == 0:
        raise _refuse(step, VectorFault.ILLEGAL_FORMAT)
    is_pattern = mode == IndexMode.N_OF_M
    return Pattern(
        element=ElementFormat(code),
        mode=IndexMode(mode),
        n=n if is_pattern else 1,
        m=m if is_pattern else 1,
        bits=index_bits(IndexMode(mode), m),
        width=width,
        skip_zeros=bool(_FORMAT.field("skip_zeros").extract(word)),
    )


def packed_length(step: Step, eew: int) -> int:
    """Elements of a packed-index load: vl indices, rounded up to whole elements."""
    pattern = pattern_of(step)
    count = pattern.width if pattern.mode is IndexMode.BITMASK else step.vl
    return -(-count * pattern.bits // eew)


def _part(step: Step, register: int) -> np.ndarray | None:
    """The part of the bank that a register names; None if it does not live there."""
    mapped = step.hart.csrs.values["vtlreg"]
    if not mapped >> register & 1:
        return None
    parts = 1 << (mapped.bit_count() - 1).bit_length()
    size = step.hart.config.accumulators // parts
    place = (mapped & (1 << register) - 1).bit_count()
    return step.hart.bank[place * size : (place + 1) * size]


def bank_row(step: Step, register: int) -> np.ndarray | None:
    """Accumulators that a load or store of a register moves; None if it is an ordinary one.

    Raises
    ------
    TrapError
        If the row does not fit into the register's part of the bank.
    """
    part = _part(step, register)
    if part is None:
        return None
    if step.vector.illegal:
        raise illegal()
    columns = pattern_of(step).columns(step.vl)
    if columns > part.shape[0]:
        raise _refuse(step, VectorFault.OVER_CONFIGURATION)
    return part[:columns]


def refuse_bank(step: Step) -> None:
    """Registers in the bank are for products, loads and stores only.

    Raises
    ------
    TrapError
        If an operand is one.
    """
    mapped = step.hart.csrs.values["vtlreg"]
    for name in ("vd", "vs1", "vs2"):
        if name in step.fields and mapped >> step.fields[name] & 1:
            raise illegal()


def clear(step: Step) -> None:
    """All accumulators to zero."""
    step.hart.bank[:] = 0


def _first_index_word(step: Step) -> int:
    """Word of 32 bits of the register file at which vs1 begins."""
    return step.fields["vs1"] * step.hart.config.vlen // 32


def _columns(step: Step, pattern: Pattern, count: int, row: int) -> np.ndarray:
    """Column of each element of a row; int64 [count]."""
    position = np.arange(count)
    if pattern.mode is IndexMode.DENSE:
        return position
    start = _first_index_word(step) + row * pattern.index_words(count)
    source = step.vector.bytes.view(np.uint32)[start : start + pattern.index_words(count)]
    if pattern.mode is IndexMode.BITMASK:
        bits = np.unpackbits(source.copy().view(np.uint8), bitorder="little")[: pattern.width]
        found = np.flatnonzero(bits)
        # Elements without a one, and ones without an element, are left out and reported.
        columns = np.full(count, pattern.width, np.int64)
        both = min(count, found.shape[0])
        columns[:both] = found[:both]
        if both < max(count, found.shape[0]):
            _report(step, VectorFault.INDEX_RANGE, both)
        return columns
    columns = index_fields(source, np.zeros(count, np.int64), position * pattern.bits, pattern.bits)
    if pattern.mode is IndexMode.N_OF_M:
        columns += position // pattern.n * pattern.m
    return columns


def _scalar(step: Step, element: ElementFormat) -> int:
    """The scalar's bits."""
    value: int = step.hart.f[step.fields["fs1"]]
    if element is ElementFormat.FP16:
        return unbox_half(value)
    return value & (1 << element.bits) - 1


def multiply(step: Step) -> None:
    """vfxmacc.vrf and vfxmul.vrf.

    Raises
    ------
    TrapError
        If the configuration is not one, or the destination is not in the bank.
    """
    step.hart.csrs.check_enabled(True, True)
    pattern, part = _legal_product(step, 1)
    scalar = _scalar(step, pattern.element)
    number = np.array([[scalar]], dtype=np.uint32)
    if pattern.skip_zeros and not nonzero(number, pattern.element)[0, 0]:
        return
    _add_row(step, pattern, part, scalar, 0)


def multiply_rows(step: Step) -> None:
    """vfxmacc.rows: products of rows that lie one behind the other in registers.

    Element part * rows + r of v0 is the scalar of row r. Its weights begin at element r * vl of
    vs2, its indices behind the whole words of 32 bits of the rows before it. Zero scalars are not
    skipped.

    Raises
    ------
    TrapError
        As for `multiply`; and if there is no row, or an operand leaves its registers.
    """
    rows = step.fields["uimm"]
    pattern, part = _legal_product(step, rows)
    scalars = step.vector.bytes.view(f"<u{step.sew // 8}")[step.fields["part"] * rows :]
    for row in range(rows):
        _add_row(step, pattern, part, int(scalars[row]), row)


def _legal_product(step: Step, rows: int) -> tuple[Pattern, np.ndarray]:
    """The pattern in force, and the destination in the bank."""
    if step.vector.illegal or step.vector.vstart:
        raise illegal()
    pattern = pattern_of(step)
    part = _part(step, step.vd)
    if part is None:
        raise _refuse(step, VectorFault.NOT_IN_BANK)
    if pattern.element.bits != step.sew:
        raise _refuse(step, VectorFault.ILLEGAL_FORMAT)
    mapped = step.hart.csrs.values["vtlreg"]
    if any(mapped >> step.fields[n] & 1 for n in ("vs1", "vs2")):
        raise illegal()
    if "uimm" in step.fields:
        _check_rows(step, rows)
    elif step.fields["vs2"] % max(step.vector.lmul8 // 8, 1):
        raise illegal()
    first = _first_index_word(step)
    if first + rows * pattern.index_words(step.vl) > step.vector.bytes.shape[0] // 4:
        raise illegal()
    width = pattern.columns(step.vl)
    if width > part.shape[0]:
        raise _refuse(step, VectorFault.OVER_CONFIGURATION)
    return pattern, part


def _check_rows(step: Step, rows: int) -> None:
    """Scalars are all in v0, which is no accumulator, and weights in the registers."""
    bits, vlen = rows * step.sew, step.hart.config.vlen
    last_scalar = (step.fields["part"] + 1) * bits
    if not 0 < last_scalar <= vlen or step.hart.csrs.values["vtlreg"] & 1:
        raise illegal()
    if step.fields["vs2"] * vlen + bits * step.vl > 32 * vlen:
        raise illegal()


def _add_row(step: Step, pattern: Pattern, part: np.ndarray, scalar: int, row: int) -> None:
    """The product of one row."""
    if step.vl == 0:
        return
    columns = _columns(step, pattern, step.vl, row)
    width = pattern.columns(step.vl)
    beyond = np.flatnonzero(columns >= width)
    if beyond.size:
        _report(step, VectorFault.INDEX_RANGE, int(beyond[0]))
    add_rows(
        part,
        element_format=pattern.element,
        indptr=np.array([0, step.vl]),
        columns=columns,
        weights=_weights(step, row),
        scalars=np.array([[scalar]], dtype=np.uint32),
        wanted=np.ones((1, 1), bool),
        base=0,
        stride=0,
        width=width,
        overwrite=step.kind.name.startswith("vfxmul"),
    )


def _weights(step: Step, row: int) -> np.ndarray:
    """Weights of a row."""
    size = step.sew // 8
    first = step.fields["vs2"] * step.hart.config.vlen // 8 + row * step.vl * size
    return step.vector.bytes[first : first + step.vl * size].view(f"<u{size}")
