"""Rows of Ventaglio's instructions, the post-increment loads, and Ventaglio's CSRs.

Instructions and the CSRs from 0x7C8 to 0x7CB are those of the unit's public release, so its
programs run unchanged. What goes beyond that release is reached through the CSRs behind them, and
by ``vfxmacc.rows``: one instruction for the products of many rows.
"""

import enum
from collections.abc import Iterator

from fanweave.golden.isa.registers import Field, Register
from fanweave.golden.isa.riscv_encoding import Access, Extension, InstructionKind, MemoryShape
from fanweave.golden.isa.riscv_vector_memory import WIDTH_CODES

__all__ = ["VENTAGLIO_CSRS", "VENTAGLIO_INSTRUCTIONS", "VectorFault"]


class VectorFault(enum.IntEnum):
    """Causes in the CSR ``vtlerr``; the first one stays until it is written."""

    NONE = 0
    INDEX_RANGE = 1
    OVER_CONFIGURATION = 2
    ILLEGAL_FORMAT = 3
    NOT_IN_BANK = 4


_PRODUCT = "vs1 {code} vs2 fs1 010 vd 0001011"
_ROWS = "vs1 part vs2 uimm 011 vd 0001011"
_OLD = "{code} vm vs2 fs1 101 vd 1010111"
_SCALAR_WIDTHS = (("b", "000"), ("h", "001"), ("w", "010"), ("d", "011"))


def _ventaglio(name: str, pattern: str, syntax: str) -> InstructionKind:
    return InstructionKind(name=name, pattern=pattern, syntax=syntax, extension=Extension.VENTAGLIO)


def _post_increment() -> Iterator[InstructionKind]:
    for letter, code in _SCALAR_WIDTHS:
        yield InstructionKind(
            name=f"p.fl{letter}.rrpost",
            pattern=f"1010000 rs2 rs1 {code} fd 1111011",
            syntax="{fd}, ({rs1}), {rs2}",
            extension=Extension.POST_INCREMENT,
        )
    for letter, code, access in (
        ("e", "110000", Access.UNIT),
        ("x", "110001", Access.PACKED_INDEX),
    ):
        for eew, width in WIDTH_CODES.items():
            yield InstructionKind(
                name=f"p.vl{letter}{eew}.v.rrpost",
                pattern=f"{code} vm rs2 rs1 {width} vd 1111011",
                syntax="{vd}, ({rs1}), {rs2}{vm}",
                extension=Extension.POST_INCREMENT,
                memory=MemoryShape(access=access, eew=eew, post_increment=True),
            )


#: Products first, then loads. The forms ``.vf`` cannot name the index register; they are known
#: so that a disassembler shows them, and trap as illegal.
VENTAGLIO_INSTRUCTIONS: tuple[InstructionKind, ...] = (
    _ventaglio("vfxmacc.vrf", _PRODUCT.format(code="00"), "{vd}, {fs1}, {vs2}, {vs1}"),
    _ventaglio("vfxmul.vrf", _PRODUCT.format(code="01"), "{vd}, {fs1}, {vs2}, {vs1}"),
    _ventaglio("vventclr", "00000110000000000010000000001011", ""),
    _ventaglio("vfxmacc.rows", _ROWS, "{vd}, v0, {vs2}, {vs1}, {uimm}, {part}"),
    _ventaglio("vfxmacc.vf", _OLD.format(code="100101"), "{vd}, {fs1}, {vs2}{vm}"),
    _ventaglio("vfxmul.vf", _OLD.format(code="100110"), "{vd}, {fs1}, {vs2}{vm}"),
    *_post_increment(),
)

#: By CSR number. ``vtlreg`` to ``vtlratio`` as released; the others are zero at reset, which
#: leaves everything as released.
VENTAGLIO_CSRS: tuple[Register, ...] = (
    Register("vtlreg", 0x7C8, "rw", "Vector registers that live in the accumulator bank.", (
        Field("registers", 0, 32, "Bit r puts register r into the bank. The bank is cut into as "
              "many equal parts as bits are set, rounded up to a power of two; the lowest "
              "register has the first part."),
    )),
    Register("vtlidxw", 0x7C9, "rw", "Width of an N:M index.", (
        Field("width", 0, 2, "1, 2, 4, 8 bits for 0 to 3."),
    )),
    Register("vtlblks", 0x7CA, "rw", "Columns of an N:M block.", (
        Field("size", 0, 2, "1, 2, 4, 8 columns for 0 to 3."),
    )),
    Register("vtlratio", 0x7CB, "rw", "Share of nonzeros in a block.", (
        Field("ratio", 0, 2, "0 all, 1 a half, 2 a quarter."),
    )),
    Register("vtlfmt", 0x7CC, "rw", "Formats beyond the release.", (
        Field("element", 0, 3, "Element format code, if extended is set."),
        Field("index_mode", 4, 3, "0 dense, 1 N:M, 2 bitmask, 3 absolute 8, 4 absolute 16."),
        Field("n", 8, 6, "Nonzeros in a block, 1 to m."),
        Field("m", 16, 6, "Columns of a block, 1 to 32."),
        Field("skip_zeros", 24, 1, "A product with a zero scalar does nothing."),
        Field("extended", 31, 1, "0: FP32, and the pattern of vtlidxw, vtlblks and vtlratio."),
    )),
    Register("vtlwidth", 0x7CD, "rw", "Columns of a tile.", (
        Field("columns", 0, 16, "Columns of an accumulator row for index modes other than N:M; "
              "in N:M 0 means as many as vl elements reach."),
    )),
    Register("vtlerr", 0x7CE, "rw", "The first error; any write clears it.", (
        Field("cause", 0, 4, "0 none, 1 index range, 2 over-configuration, 3 illegal format, "
              "4 accumulator not in the bank."),
        Field("element", 8, 16, "Offending element."),
    )),
)  # fmt: skip
