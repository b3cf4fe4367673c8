"""Rows of vector loads and stores.

Source: The RISC-V Instruction Set Manual, Volume I, version 20240411, chapter 31 (RVV 1.0),
section 7; the packed-index loads are Ventaglio's.
"""

from collections.abc import Iterator

from fanweave.golden.isa.riscv_encoding import Access, Extension, InstructionKind, MemoryShape

__all__ = ["VECTOR_MEMORY_INSTRUCTIONS", "WIDTH_CODES"]

#: Bits of an element -> code in the place of funct3.
WIDTH_CODES = {8: "000", 16: "101", 32: "110", 64: "111"}
_SEGMENT_FIELDS = range(1, 9)


def _extension(eew: int) -> Extension:
    return Extension.ZVE64X if eew == 64 else Extension.ZVE32X


def _row(
    name: str, mode: str, last: str, shape: MemoryShape, syntax: str, vm: str = "vm"
) -> InstructionKind:
    """A row; `mode` is mew and mop, `last` what stands in the place of rs2."""
    register, opcode = ("vs3", "0100111") if shape.store else ("vd", "0000111")
    fields = f"{shape.fields - 1:03b}"
    width = WIDTH_CODES[shape.eew]
    return InstructionKind(
        name=name,
        pattern=f"{fields} {mode} {vm} {last} rs1 {width} {register} {opcode}",
        syntax=f"{{{register}}}, ({{rs1}}){syntax}",
        extension=(
            Extension.VENTAGLIO if shape.access is Access.PACKED_INDEX else _extension(shape.eew)
        ),
        memory=shape,
    )


def _segments(store: bool) -> Iterator[InstructionKind]:
    letter = "s" if store else "l"
    for fields in _SEGMENT_FIELDS:
        segment = "" if fields == 1 else f"seg{fields}"
        for eew in WIDTH_CODES:
            shape = MemoryShape(access=Access.UNIT, eew=eew, fields=fields, store=store)
            yield _row(f"v{letter}{segment}e{eew}.v", "000", "00000", shape, "{vm}")
            if not store:
                first = MemoryShape(access=Access.FAULT_FIRST, eew=eew, fields=fields)
                yield _row(f"vl{segment}e{eew}ff.v", "000", "10000", first, "{vm}")
            strided = MemoryShape(access=Access.STRIDED, eew=eew, fields=fields, store=store)
            yield _row(f"v{letter}s{segment}e{eew}.v", "010", "rs2", strided, ", {rs2}{vm}")
            if eew == 64:  # no index is wider than an address
                continue
            for order, mode, access in (
                ("u", "001", Access.INDEXED_UNORDERED),
                ("o", "011", Access.INDEXED_ORDERED),
            ):
                indexed = MemoryShape(access=access, eew=eew, fields=fields, store=store)
                name = f"v{letter}{order}x{segment}ei{eew}.v"
                yield _row(name, mode, "vs2", indexed, ", {vs2}{vm}")


def _rows() -> Iterator[InstructionKind]:
    yield from _segments(store=False)
    yield from _segments(store=True)
    for store, letter in ((False, "l"), (True, "s")):
        mask = MemoryShape(access=Access.MASK, eew=8, store=store)
        yield _row(f"v{letter}m.v", "000", "01011", mask, "", "1")
    for count in (1, 2, 4, 8):
        for eew in WIDTH_CODES:
            whole = MemoryShape(access=Access.WHOLE, eew=eew, fields=count)
            yield _row(f"vl{count}re{eew}.v", "000", "01000", whole, "", "1")
        whole = MemoryShape(access=Access.WHOLE, eew=8, fields=count, store=True)
        yield _row(f"vs{count}r.v", "000", "01000", whole, "", "1")
    for eew in WIDTH_CODES:
        packed = MemoryShape(access=Access.PACKED_INDEX, eew=eew)
        yield _row(f"vlx{eew}.v", "100", "00000", packed, "{vm}")


#: Segments first, then masks, whole registers and packed indices.
VECTOR_MEMORY_INSTRUCTIONS: tuple[InstructionKind, ...] = tuple(_rows())
