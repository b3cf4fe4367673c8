"""Rows of vector arithmetic: Zve32f with Zvfh, and the configuration instructions.

Source: The RISC-V Instruction Set Manual, Volume I, version 20240411, chapter 31 (RVV 1.0).
"""

from collections.abc import Iterator

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind, VectorShape, Width

__all__ = ["VECTOR_INSTRUCTIONS"]

#: Form -> funct3, first operand in the pattern, floating point.
_FORMS = {
    "ivv": ("000", "vs1", False),
    "ivx": ("100", "rs1", False),
    "ivi": ("011", "simm[4:0]", False),
    "ivu": ("011", "uimm", False),
    "mvv": ("010", "vs1", False),
    "mvx": ("110", "rs1", False),
    "fvv": ("001", "vs1", True),
    "fvf": ("101", "fs1", True),
}
_SUFFIX = {
    "ivv": "v",
    "ivx": "x",
    "ivi": "i",
    "ivu": "i",
    "mvv": "v",
    "mvx": "x",
    "fvv": "v",
    "fvf": "f",
}

#: funct6, name, forms, widths of vd, vs2 and vs1. Names end in the second operand's letter, to
#: which the form adds the first one's: ``vadd.v`` + ``x`` is ``vadd.vx``.
_BINARY = (
    ("000000", "vadd.v", "ivv ivx ivi", "1 1 1"),
    ("000010", "vsub.v", "ivv ivx", "1 1 1"),
    ("000011", "vrsub.v", "ivx ivi", "1 1 1"),
    ("000100", "vminu.v", "ivv ivx", "1 1 1"),
    ("000101", "vmin.v", "ivv ivx", "1 1 1"),
    ("000110", "vmaxu.v", "ivv ivx", "1 1 1"),
    ("000111", "vmax.v", "ivv ivx", "1 1 1"),
    ("001001", "vand.v", "ivv ivx ivi", "1 1 1"),
    ("001010", "vor.v", "ivv ivx ivi", "1 1 1"),
    ("001011", "vxor.v", "ivv ivx ivi", "1 1 1"),
    ("001100", "vrgather.v", "ivv ivx ivu", "1 1 1"),
    ("001110", "vrgatherei16.v", "ivv", "1 1 16"),
    ("001110", "vslideup.v", "ivx ivu", "1 1 -"),
    ("001111", "vslidedown.v", "ivx ivu", "1 1 -"),
    ("011000", "vmseq.v", "ivv ivx ivi", "mask 1 1"),
    ("011001", "vmsne.v", "ivv ivx ivi", "mask 1 1"),
    ("011010", "vmsltu.v", "ivv ivx", "mask 1 1"),
    ("011011", "vmslt.v", "ivv ivx", "mask 1 1"),
    ("011100", "vmsleu.v", "ivv ivx ivi", "mask 1 1"),
    ("011101", "vmsle.v", "ivv ivx ivi", "mask 1 1"),
    ("011110", "vmsgtu.v", "ivx ivi", "mask 1 1"),
    ("011111", "vmsgt.v", "ivx ivi", "mask 1 1"),
    ("100000", "vsaddu.v", "ivv ivx ivi", "1 1 1"),
    ("100001", "vsadd.v", "ivv ivx ivi", "1 1 1"),
    ("100010", "vssubu.v", "ivv ivx", "1 1 1"),
    ("100011", "vssub.v", "ivv ivx", "1 1 1"),
    ("100101", "vsll.v", "ivv ivx ivu", "1 1 1"),
    ("100111", "vsmul.v", "ivv ivx", "1 1 1"),
    ("101000", "vsrl.v", "ivv ivx ivu", "1 1 1"),
    ("101001", "vsra.v", "ivv ivx ivu", "1 1 1"),
    ("101010", "vssrl.v", "ivv ivx ivu", "1 1 1"),
    ("101011", "vssra.v", "ivv ivx ivu", "1 1 1"),
    ("101100", "vnsrl.w", "ivv ivx ivu", "1 2 1"),
    ("101101", "vnsra.w", "ivv ivx ivu", "1 2 1"),
    ("101110", "vnclipu.w", "ivv ivx ivu", "1 2 1"),
    ("101111", "vnclip.w", "ivv ivx ivu", "1 2 1"),
    ("001000", "vaaddu.v", "mvv mvx", "1 1 1"),
    ("001001", "vaadd.v", "mvv mvx", "1 1 1"),
    ("001010", "vasubu.v", "mvv mvx", "1 1 1"),
    ("001011", "vasub.v", "mvv mvx", "1 1 1"),
    ("001110", "vslide1up.v", "mvx", "1 1 -"),
    ("001111", "vslide1down.v", "mvx", "1 1 -"),
    ("100000", "vdivu.v", "mvv mvx", "1 1 1"),
    ("100001", "vdiv.v", "mvv mvx", "1 1 1"),
    ("100010", "vremu.v", "mvv mvx", "1 1 1"),
    ("100011", "vrem.v", "mvv mvx", "1 1 1"),
    ("100100", "vmulhu.v", "mvv mvx", "1 1 1"),
    ("100101", "vmul.v", "mvv mvx", "1 1 1"),
    ("100110", "vmulhsu.v", "mvv mvx", "1 1 1"),
    ("100111", "vmulh.v", "mvv mvx", "1 1 1"),
    ("110000", "vwaddu.v", "mvv mvx", "2 1 1"),
    ("110001", "vwadd.v", "mvv mvx", "2 1 1"),
    ("110010", "vwsubu.v", "mvv mvx", "2 1 1"),
    ("110011", "vwsub.v", "mvv mvx", "2 1 1"),
    ("110100", "vwaddu.w", "mvv mvx", "2 2 1"),
    ("110101", "vwadd.w", "mvv mvx", "2 2 1"),
    ("110110", "vwsubu.w", "mvv mvx", "2 2 1"),
    ("110111", "vwsub.w", "mvv mvx", "2 2 1"),
    ("111000", "vwmulu.v", "mvv mvx", "2 1 1"),
    ("111010", "vwmulsu.v", "mvv mvx", "2 1 1"),
    ("111011", "vwmul.v", "mvv mvx", "2 1 1"),
    ("000000", "vfadd.v", "fvv fvf", "1 1 1"),
    ("000010", "vfsub.v", "fvv fvf", "1 1 1"),
    ("000100", "vfmin.v", "fvv fvf", "1 1 1"),
    ("000110", "vfmax.v", "fvv fvf", "1 1 1"),
    ("001000", "vfsgnj.v", "fvv fvf", "1 1 1"),
    ("001001", "vfsgnjn.v", "fvv fvf", "1 1 1"),
    ("001010", "vfsgnjx.v", "fvv fvf", "1 1 1"),
    ("001110", "vfslide1up.v", "fvf", "1 1 -"),
    ("001111", "vfslide1down.v", "fvf", "1 1 -"),
    ("011000", "vmfeq.v", "fvv fvf", "mask 1 1"),
    ("011001", "vmfle.v", "fvv fvf", "mask 1 1"),
    ("011011", "vmflt.v", "fvv fvf", "mask 1 1"),
    ("011100", "vmfne.v", "fvv fvf", "mask 1 1"),
    ("011101", "vmfgt.v", "fvf", "mask 1 1"),
    ("011111", "vmfge.v", "fvf", "mask 1 1"),
    ("100000", "vfdiv.v", "fvv fvf", "1 1 1"),
    ("100001", "vfrdiv.v", "fvf", "1 1 1"),
    ("100100", "vfmul.v", "fvv fvf", "1 1 1"),
    ("100111", "vfrsub.v", "fvf", "1 1 1"),
    ("110000", "vfwadd.v", "fvv fvf", "2 1 1"),
    ("110010", "vfwsub.v", "fvv fvf", "2 1 1"),
    ("110100", "vfwadd.w", "fvv fvf", "2 2 1"),
    ("110110", "vfwsub.w", "fvv fvf", "2 2 1"),
    ("111000", "vfwmul.v", "fvv fvf", "2 1 1"),
)  # fmt: skip

#: The destination is a source; the assembler names it first, then the multiplier.
_ACCUMULATING = (
    ("101001", "vmadd.v", "mvv mvx", "1 1 1"),
    ("101011", "vnmsub.v", "mvv mvx", "1 1 1"),
    ("101101", "vmacc.v", "mvv mvx", "1 1 1"),
    ("101111", "vnmsac.v", "mvv mvx", "1 1 1"),
    ("111100", "vwmaccu.v", "mvv mvx", "2 1 1"),
    ("111101", "vwmacc.v", "mvv mvx", "2 1 1"),
    ("111110", "vwmaccus.v", "mvx", "2 1 1"),
    ("111111", "vwmaccsu.v", "mvv mvx", "2 1 1"),
    ("101000", "vfmadd.v", "fvv fvf", "1 1 1"),
    ("101001", "vfnmadd.v", "fvv fvf", "1 1 1"),
    ("101010", "vfmsub.v", "fvv fvf", "1 1 1"),
    ("101011", "vfnmsub.v", "fvv fvf", "1 1 1"),
    ("101100", "vfmacc.v", "fvv fvf", "1 1 1"),
    ("101101", "vfnmacc.v", "fvv fvf", "1 1 1"),
    ("101110", "vfmsac.v", "fvv fvf", "1 1 1"),
    ("101111", "vfnmsac.v", "fvv fvf", "1 1 1"),
    ("111100", "vfwmacc.v", "fvv fvf", "2 1 1"),
    ("111101", "vfwnmacc.v", "fvv fvf", "2 1 1"),
    ("111110", "vfwmsac.v", "fvv fvf", "2 1 1"),
    ("111111", "vfwnmsac.v", "fvv fvf", "2 1 1"),
)
#: Carries and merges: v0 is an operand, or there is none.
_WITH_CARRY = (
    ("010000", "vadc.v", "ivv ivx ivi", "1 1 1", "0"),
    ("010001", "vmadc.v", "ivv ivx ivi", "mask 1 1", "0"),
    ("010010", "vsbc.v", "ivv ivx", "1 1 1", "0"),
    ("010011", "vmsbc.v", "ivv ivx", "mask 1 1", "0"),
    ("010111", "vmerge.v", "ivv ivx ivi", "1 1 1", "0"),
    ("010111", "vfmerge.v", "fvf", "1 1 1", "0"),
    ("010001", "vmadc.v", "ivv ivx ivi", "mask 1 1", "1"),
    ("010011", "vmsbc.v", "ivv ivx", "mask 1 1", "1"),
)
_REDUCTIONS = (
    ("000000", "vredsum.vs", "mvv", "scalar 1 scalar"),
    ("000001", "vredand.vs", "mvv", "scalar 1 scalar"),
    ("000010", "vredor.vs", "mvv", "scalar 1 scalar"),
    ("000011", "vredxor.vs", "mvv", "scalar 1 scalar"),
    ("000100", "vredminu.vs", "mvv", "scalar 1 scalar"),
    ("000101", "vredmin.vs", "mvv", "scalar 1 scalar"),
    ("000110", "vredmaxu.vs", "mvv", "scalar 1 scalar"),
    ("000111", "vredmax.vs", "mvv", "scalar 1 scalar"),
    ("110000", "vwredsumu.vs", "ivv", "scalar2 1 scalar2"),
    ("110001", "vwredsum.vs", "ivv", "scalar2 1 scalar2"),
    ("000001", "vfredusum.vs", "fvv", "scalar 1 scalar"),
    ("000011", "vfredosum.vs", "fvv", "scalar 1 scalar"),
    ("000101", "vfredmin.vs", "fvv", "scalar 1 scalar"),
    ("000111", "vfredmax.vs", "fvv", "scalar 1 scalar"),
    ("110001", "vfwredusum.vs", "fvv", "scalar2 1 scalar2"),
    ("110011", "vfwredosum.vs", "fvv", "scalar2 1 scalar2"),
)
#: Mask and compress: all operands are vectors, never masked.
_MASKS = (
    ("010111", "vcompress.vm", "1 1 mask"),
    ("011000", "vmandn.mm", "mask mask mask"),
    ("011001", "vmand.mm", "mask mask mask"),
    ("011010", "vmor.mm", "mask mask mask"),
    ("011011", "vmxor.mm", "mask mask mask"),
    ("011100", "vmorn.mm", "mask mask mask"),
    ("011101", "vmnand.mm", "mask mask mask"),
    ("011110", "vmnor.mm", "mask mask mask"),
    ("011111", "vmxnor.mm", "mask mask mask"),
)
#: funct6, code in place of vs1, name, form, widths of vd and vs2.
_UNARY = (
    ("010010", "00100", "vzext.vf4", "mvv", "1 1/4"),
    ("010010", "00101", "vsext.vf4", "mvv", "1 1/4"),
    ("010010", "00110", "vzext.vf2", "mvv", "1 1/2"),
    ("010010", "00111", "vsext.vf2", "mvv", "1 1/2"),
    ("010100", "00001", "vmsbf.m", "mvv", "mask mask"),
    ("010100", "00010", "vmsof.m", "mvv", "mask mask"),
    ("010100", "00011", "vmsif.m", "mvv", "mask mask"),
    ("010100", "10000", "viota.m", "mvv", "1 mask"),
    ("010010", "00000", "vfcvt.xu.f.v", "fvv", "1 1"),
    ("010010", "00001", "vfcvt.x.f.v", "fvv", "1 1"),
    ("010010", "00010", "vfcvt.f.xu.v", "fvv", "1 1"),
    ("010010", "00011", "vfcvt.f.x.v", "fvv", "1 1"),
    ("010010", "00110", "vfcvt.rtz.xu.f.v", "fvv", "1 1"),
    ("010010", "00111", "vfcvt.rtz.x.f.v", "fvv", "1 1"),
    ("010010", "01000", "vfwcvt.xu.f.v", "fvv", "2 1"),
    ("010010", "01001", "vfwcvt.x.f.v", "fvv", "2 1"),
    ("010010", "01010", "vfwcvt.f.xu.v", "fvv", "2 1"),
    ("010010", "01011", "vfwcvt.f.x.v", "fvv", "2 1"),
    ("010010", "01100", "vfwcvt.f.f.v", "fvv", "2 1"),
    ("010010", "01110", "vfwcvt.rtz.xu.f.v", "fvv", "2 1"),
    ("010010", "01111", "vfwcvt.rtz.x.f.v", "fvv", "2 1"),
    ("010010", "10000", "vfncvt.xu.f.w", "fvv", "1 2"),
    ("010010", "10001", "vfncvt.x.f.w", "fvv", "1 2"),
    ("010010", "10010", "vfncvt.f.xu.w", "fvv", "1 2"),
    ("010010", "10011", "vfncvt.f.x.w", "fvv", "1 2"),
    ("010010", "10100", "vfncvt.f.f.w", "fvv", "1 2"),
    ("010010", "10101", "vfncvt.rod.f.f.w", "fvv", "1 2"),
    ("010010", "10110", "vfncvt.rtz.xu.f.w", "fvv", "1 2"),
    ("010010", "10111", "vfncvt.rtz.x.f.w", "fvv", "1 2"),
    ("010011", "00000", "vfsqrt.v", "fvv", "1 1"),
    ("010011", "00100", "vfrsqrt7.v", "fvv", "1 1"),
    ("010011", "00101", "vfrec7.v", "fvv", "1 1"),
    ("010011", "10000", "vfclass.v", "fvv", "1 1"),
)  # fmt: skip
#: name, pattern in front of the opcode, syntax, widths, floating point.
_SPECIAL = (
    ("vmv.v.v", "010111 1 00000 vs1 000 vd", "{vd}, {vs1}", "1 - 1", False),
    ("vmv.v.x", "010111 1 00000 rs1 100 vd", "{vd}, {rs1}", "1 - -", False),
    ("vmv.v.i", "010111 1 00000 simm[4:0] 011 vd", "{vd}, {simm}", "1 - -", False),
    ("vfmv.v.f", "010111 1 00000 fs1 101 vd", "{vd}, {fs1}", "1 - -", True),
    ("vmv.x.s", "010000 1 vs2 00000 010 rd", "{rd}, {vs2}", "- scalar -", False),
    ("vmv.s.x", "010000 1 00000 rs1 110 vd", "{vd}, {rs1}", "scalar - -", False),
    ("vfmv.f.s", "010000 1 vs2 00000 001 fd", "{fd}, {vs2}", "- scalar -", True),
    ("vfmv.s.f", "010000 1 00000 fs1 101 vd", "{vd}, {fs1}", "scalar - -", True),
    ("vcpop.m", "010000 vm vs2 10000 010 rd", "{rd}, {vs2}{vm}", "- mask -", False),
    ("vfirst.m", "010000 vm vs2 10001 010 rd", "{rd}, {vs2}{vm}", "- mask -", False),
    ("vid.v", "010100 vm 00000 10001 010 vd", "{vd}{vm}", "1 - -", False),
    ("vmv1r.v", "100111 1 vs2 00000 011 vd", "{vd}, {vs2}", "whole whole -", False),
    ("vmv2r.v", "100111 1 vs2 00001 011 vd", "{vd}, {vs2}", "whole whole -", False),
    ("vmv4r.v", "100111 1 vs2 00011 011 vd", "{vd}, {vs2}", "whole whole -", False),
    ("vmv8r.v", "100111 1 vs2 00111 011 vd", "{vd}, {vs2}", "whole whole -", False),
)  # fmt: skip
_CONFIGURATION = (
    ("vsetvli", "0 vtype rs1 111 rd", "{rd}, {rs1}, {vtype}"),
    ("vsetivli", "11 vtype10 zimm 111 rd", "{rd}, {zimm}, {vtype10}"),
    ("vsetvl", "1000000 rs2 rs1 111 rd", "{rd}, {rs1}, {rs2}"),
)


def _row(
    name: str, pattern: str, syntax: str, widths: str, floating: bool, accumulates: bool = False
) -> InstructionKind:
    vd, vs2, vs1 = (None if width == "-" else Width(width) for width in widths.split())
    return InstructionKind(
        name=name,
        pattern=f"{pattern} 1010111",
        syntax=syntax,
        extension=Extension.ZVE32F if floating else Extension.ZVE32X,
        vector=VectorShape(vd, vs2, vs1, floating, accumulates),
    )


def _first(form: str, widths: str) -> tuple[str, str, str, bool]:
    """Of a form: funct3, field and operand of the first source, and whether it is a number."""
    code, field, floating = _FORMS[form]
    return code, field, "{" + field.split("[")[0] + "}", floating


def _forms() -> Iterator[InstructionKind]:
    for funct6, name, forms, widths in (*_BINARY, *_ACCUMULATING):
        accumulates = (funct6, name, forms, widths) in _ACCUMULATING
        for form in forms.split():
            code, field, operand, floating = _first(form, widths)
            vd, vs2, vs1 = widths.split()
            operands = f"{operand}, {{vs2}}" if accumulates else f"{{vs2}}, {operand}"
            yield _row(
                name + _SUFFIX[form],
                f"{funct6} vm vs2 {field} {code} vd",
                f"{{vd}}, {operands}{{vm}}",
                f"{vd} {vs2} {vs1 if field == 'vs1' else '-'}",
                floating,
                accumulates,
            )
    for funct6, name, forms, widths, mask in _WITH_CARRY:
        for form in forms.split():
            code, field, operand, floating = _first(form, widths)
            vd, vs2, vs1 = widths.split()
            yield _row(
                name + _SUFFIX[form] + ("m" if mask == "0" else ""),
                f"{funct6} {mask} vs2 {field} {code} vd",
                f"{{vd}}, {{vs2}}, {operand}" + (", v0" if mask == "0" else ""),
                f"{vd} {vs2} {vs1 if field == 'vs1' else '-'}",
                floating,
            )


def _rows() -> Iterator[InstructionKind]:
    for name, pattern, syntax in _CONFIGURATION:
        yield InstructionKind(
            name=name, pattern=f"{pattern} 1010111", syntax=syntax, extension=Extension.ZVE32X
        )
    yield from _forms()
    for funct6, name, form, widths in _REDUCTIONS:
        code, _, _, floating = _first(form, widths)
        pattern = f"{funct6} vm vs2 vs1 {code} vd"
        yield _row(name, pattern, "{vd}, {vs2}, {vs1}{vm}", widths, floating)
    for funct6, name, widths in _MASKS:
        yield _row(name, f"{funct6} 1 vs2 vs1 010 vd", "{vd}, {vs2}, {vs1}", widths, False)
    for funct6, source, name, form, widths in _UNARY:
        code, _, _, floating = _first(form, widths)
        pattern = f"{funct6} vm vs2 {source} {code} vd"
        yield _row(name, pattern, "{vd}, {vs2}{vm}", f"{widths} -", floating)
    for name, pattern, syntax, widths, floating in _SPECIAL:
        yield _row(name, pattern, syntax, widths, floating)


#: Configuration first, then arithmetic by kind.
VECTOR_INSTRUCTIONS: tuple[InstructionKind, ...] = tuple(_rows())
