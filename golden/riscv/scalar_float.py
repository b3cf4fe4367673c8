"""Closures for F, Zfhmin and the post-increment loads of scalars."""

from typing import TYPE_CHECKING

from fanweave.golden.fp.instructions.compute import compute
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.riscv.expressions import Closure
from fanweave.golden.riscv.scalar import Fields, Maker
from fanweave.golden.riscv.trap import illegal

if TYPE_CHECKING:
    from fanweave.golden.riscv.hart import Hart

__all__ = ["SCALAR_FLOAT", "unbox_half"]

_M = 0xFFFFFFFF
_SIGN = 1 << 31
_BOX = 0xFFFF0000
_S, _H = int(ElementFormat.FP32), int(ElementFormat.FP16)
_HALF_NAN = ElementFormat.FP16.layout.canonical_nan


def unbox_half(value: int) -> int:
    """FP16 in an FP32 register; what is not boxed is a NaN."""
    return value & 0xFFFF if value >= _BOX else _HALF_NAN


def _arithmetic(operation: Operation, negate: tuple[bool, bool] = (False, False)) -> Maker:
    """Operations whose result is a number; `negate` flips the product's and addend's signs."""
    flip_product, flip_addend = (_SIGN if flag else 0 for flag in negate)
    code = int(operation)

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        f, fd, fs1 = hart.f, fields["fd"], fields["fs1"]
        fs2, fs3, rm = fields.get("fs2", fs1), fields.get("fs3", fs1), fields.get("rm", 0)
        csrs = hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            mode = csrs.rounding(rm)
            result, flags = compute(
                code, f[fs1] ^ flip_product, f[fs2], f[fs3] ^ flip_addend, _S, _S, _S, mode, 32
            )
            f[fd] = int(result)
            hart.fflags |= int(flags)

        return run

    return make


def _to_integer(operation: Operation) -> Maker:
    code = int(operation)

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, rd, fs1 = hart.x, hart.f, fields["rd"] or 32, fields["fs1"]
        fs2, rm = fields.get("fs2", fs1), fields.get("rm", 0)
        csrs = hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            mode = csrs.rounding(rm)
            result, flags = compute(code, f[fs1], f[fs2], 0, _S, _S, _S, mode, 32)
            x[rd] = int(result)
            hart.fflags |= int(flags)

        return run

    return make


def _from_integer(operation: Operation, signed: bool) -> Maker:
    code = int(operation)

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, fd, rs1, rm = hart.x, hart.f, fields["fd"], fields["rs1"], fields["rm"]
        csrs = hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            value = (x[rs1] ^ _SIGN) - _SIGN if signed else x[rs1]
            result, flags = compute(code, value, 0, 0, _S, _S, _S, csrs.rounding(rm), 32)
            f[fd] = int(result)
            hart.fflags |= int(flags)

        return run

    return make


def _sign(kind: str) -> Maker:
    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        f, fd, fs1, fs2 = hart.f, fields["fd"], fields["fs1"], fields["fs2"]
        csrs = hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            a, b = f[fs1], f[fs2]
            sign = {"j": b, "jn": ~b, "jx": a ^ b}[kind] & _SIGN
            f[fd] = a & _SIGN - 1 | sign

        return run

    return make


def _convert(source: int, target: int) -> Maker:
    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        f, fd, fs1, rm = hart.f, fields["fd"], fields["fs1"], fields["rm"]
        csrs = hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            bits = unbox_half(f[fs1]) if source == _H else f[fs1]
            mode = csrs.rounding(rm)
            result, flags = compute(
                int(Operation.CONVERT), bits, 0, 0, source, source, target, mode, 32
            )
            f[fd] = int(result) | (_BOX if target == _H else 0)
            hart.fflags |= int(flags)

        return run

    return make


def _move_to_integer(half: bool) -> Maker:
    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, rd, fs1, csrs = hart.x, hart.f, fields["rd"] or 32, fields["fs1"], hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            value = f[fs1]
            if half:
                value = value & 0xFFFF | (_BOX if value & 0x8000 else 0)
            x[rd] = value

        return run

    return make


def _move_from_integer(half: bool) -> Maker:
    box = _BOX if half else 0

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, fd, rs1, csrs = hart.x, hart.f, fields["fd"], fields["rs1"], hart.csrs

        def run() -> None:
            csrs.check_enabled(True, False)
            f[fd] = x[rs1] | box

        return run

    return make


def _load(size: int, post_increment: bool = False) -> Maker:
    """Narrow numbers are boxed."""
    box = _M ^ (1 << 8 * size) - 1

    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, fd, rs1 = hart.x, hart.f, fields["fd"], fields["rs1"]
        imm, rs2 = fields.get("imm", 0), fields.get("rs2", 0)
        csrs, memory = hart.csrs, hart.memory
        updated = rs1 or 32

        def run() -> None:
            csrs.check_enabled(True, False)
            f[fd] = memory.load(x[rs1] + imm & _M, size) | box
            if post_increment:
                x[updated] = x[rs1] + x[rs2] & _M

        return run

    return make


def _store(size: int) -> Maker:
    def make(hart: "Hart", fields: Fields, pc: int) -> Closure:
        x, f, fs2, rs1, imm = hart.x, hart.f, fields["fs2"], fields["rs1"], fields["imm"]
        csrs, memory = hart.csrs, hart.memory

        def run() -> None:
            csrs.check_enabled(True, False)
            memory.store(x[rs1] + imm & _M, size, f[fs2])

        return run

    return make


def _missing(hart: "Hart", fields: Fields, pc: int) -> Closure:
    """A number of 64 bits has no register."""

    def run() -> None:
        raise illegal()

    return run


_O = Operation
SCALAR_FLOAT: dict[str, Maker] = {
    "flw": _load(4),
    "flh": _load(2),
    "fsw": _store(4),
    "fsh": _store(2),
    "p.flb.rrpost": _load(1, post_increment=True),
    "p.flh.rrpost": _load(2, post_increment=True),
    "p.flw.rrpost": _load(4, post_increment=True),
    "p.fld.rrpost": _missing,
    "fadd.s": _arithmetic(_O.ADD),
    "fsub.s": _arithmetic(_O.SUB),
    "fmul.s": _arithmetic(_O.MUL),
    "fdiv.s": _arithmetic(_O.DIV),
    "fsqrt.s": _arithmetic(_O.SQRT),
    "fmin.s": _arithmetic(_O.MIN),
    "fmax.s": _arithmetic(_O.MAX),
    "fmadd.s": _arithmetic(_O.FMA),
    "fmsub.s": _arithmetic(_O.FMA, (False, True)),
    "fnmsub.s": _arithmetic(_O.FMA, (True, False)),
    "fnmadd.s": _arithmetic(_O.FMA, (True, True)),
    "fsgnj.s": _sign("j"),
    "fsgnjn.s": _sign("jn"),
    "fsgnjx.s": _sign("jx"),
    "feq.s": _to_integer(_O.EQ),
    "flt.s": _to_integer(_O.LT),
    "fle.s": _to_integer(_O.LE),
    "fclass.s": _to_integer(_O.CLASS),
    "fcvt.w.s": _to_integer(_O.TO_SIGNED),
    "fcvt.wu.s": _to_integer(_O.TO_UNSIGNED),
    "fcvt.s.w": _from_integer(_O.FROM_SIGNED, True),
    "fcvt.s.wu": _from_integer(_O.FROM_UNSIGNED, False),
    "fcvt.s.h": _convert(_H, _S),
    "fcvt.h.s": _convert(_S, _H),
    "fmv.x.w": _move_to_integer(False),
    "fmv.x.h": _move_to_integer(True),
    "fmv.w.x": _move_from_integer(False),
    "fmv.h.x": _move_from_integer(True),
}
