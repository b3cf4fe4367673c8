"""Rows of RV32IMAF with Zicsr, Zifencei and Zfhmin.

Source: The RISC-V Instruction Set Manual, Volume I, version 20240411.
"""

from collections.abc import Iterator

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind

__all__ = ["SCALAR_INSTRUCTIONS"]

_RRR = "{rd}, {rs1}, {rs2}"
_RRI = "{rd}, {rs1}, {imm}"
_LOAD = "{rd}, {imm}({rs1})"
_STORE = "{rs2}, {imm}({rs1})"
_BRANCH = "{rs1}, {rs2}, {imm}"

#: (name, pattern, syntax)
_BASE = (
    ("lui", "imm[31:12] rd 0110111", "{rd}, {imm}"),
    ("auipc", "imm[31:12] rd 0010111", "{rd}, {imm}"),
    ("jal", "imm[20|10:1|11|19:12] rd 1101111", "{rd}, {imm}"),
    ("jalr", "imm[11:0] rs1 000 rd 1100111", _LOAD),
    ("beq", "imm[12|10:5] rs2 rs1 000 imm[4:1|11] 1100011", _BRANCH),
    ("bne", "imm[12|10:5] rs2 rs1 001 imm[4:1|11] 1100011", _BRANCH),
    ("blt", "imm[12|10:5] rs2 rs1 100 imm[4:1|11] 1100011", _BRANCH),
    ("bge", "imm[12|10:5] rs2 rs1 101 imm[4:1|11] 1100011", _BRANCH),
    ("bltu", "imm[12|10:5] rs2 rs1 110 imm[4:1|11] 1100011", _BRANCH),
    ("bgeu", "imm[12|10:5] rs2 rs1 111 imm[4:1|11] 1100011", _BRANCH),
    ("lb", "imm[11:0] rs1 000 rd 0000011", _LOAD),
    ("lh", "imm[11:0] rs1 001 rd 0000011", _LOAD),
    ("lw", "imm[11:0] rs1 010 rd 0000011", _LOAD),
    ("lbu", "imm[11:0] rs1 100 rd 0000011", _LOAD),
    ("lhu", "imm[11:0] rs1 101 rd 0000011", _LOAD),
    ("sb", "imm[11:5] rs2 rs1 000 imm[4:0] 0100011", _STORE),
    ("sh", "imm[11:5] rs2 rs1 001 imm[4:0] 0100011", _STORE),
    ("sw", "imm[11:5] rs2 rs1 010 imm[4:0] 0100011", _STORE),
    ("addi", "imm[11:0] rs1 000 rd 0010011", _RRI),
    ("slti", "imm[11:0] rs1 010 rd 0010011", _RRI),
    ("sltiu", "imm[11:0] rs1 011 rd 0010011", _RRI),
    ("xori", "imm[11:0] rs1 100 rd 0010011", _RRI),
    ("ori", "imm[11:0] rs1 110 rd 0010011", _RRI),
    ("andi", "imm[11:0] rs1 111 rd 0010011", _RRI),
    ("slli", "0000000 shamt rs1 001 rd 0010011", "{rd}, {rs1}, {shamt}"),
    ("srli", "0000000 shamt rs1 101 rd 0010011", "{rd}, {rs1}, {shamt}"),
    ("srai", "0100000 shamt rs1 101 rd 0010011", "{rd}, {rs1}, {shamt}"),
    ("add", "0000000 rs2 rs1 000 rd 0110011", _RRR),
    ("sub", "0100000 rs2 rs1 000 rd 0110011", _RRR),
    ("sll", "0000000 rs2 rs1 001 rd 0110011", _RRR),
    ("slt", "0000000 rs2 rs1 010 rd 0110011", _RRR),
    ("sltu", "0000000 rs2 rs1 011 rd 0110011", _RRR),
    ("xor", "0000000 rs2 rs1 100 rd 0110011", _RRR),
    ("srl", "0000000 rs2 rs1 101 rd 0110011", _RRR),
    ("sra", "0100000 rs2 rs1 101 rd 0110011", _RRR),
    ("or", "0000000 rs2 rs1 110 rd 0110011", _RRR),
    ("and", "0000000 rs2 rs1 111 rd 0110011", _RRR),
    ("fence", "0000 pred succ 00000 000 00000 0001111", "{pred}, {succ}"),
    ("ecall", "00000000000000000000000001110011", ""),
    ("ebreak", "00000000000100000000000001110011", ""),
    ("mret", "00110000001000000000000001110011", ""),
    ("wfi", "00010000010100000000000001110011", ""),
)
_MULTIPLY = ("mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu")
_CSR = (("csrrw", "001"), ("csrrs", "010"), ("csrrc", "011"))
_ATOMIC = (
    ("amoswap.w", "00001"),
    ("amoadd.w", "00000"),
    ("amoxor.w", "00100"),
    ("amoand.w", "01100"),
    ("amoor.w", "01000"),
    ("amomin.w", "10000"),
    ("amomax.w", "10100"),
    ("amominu.w", "11000"),
    ("amomaxu.w", "11100"),
    ("sc.w", "00011"),
)

_FF = "{fd}, {fs1}"
_FFF = "{fd}, {fs1}, {fs2}"
_RF = "{rd}, {fs1}"
_FLOAT = (
    ("flw", "imm[11:0] rs1 010 fd 0000111", "{fd}, {imm}({rs1})"),
    ("fsw", "imm[11:5] fs2 rs1 010 imm[4:0] 0100111", "{fs2}, {imm}({rs1})"),
    ("fmadd.s", "fs3 00 fs2 fs1 rm fd 1000011", "{fd}, {fs1}, {fs2}, {fs3}{rm}"),
    ("fmsub.s", "fs3 00 fs2 fs1 rm fd 1000111", "{fd}, {fs1}, {fs2}, {fs3}{rm}"),
    ("fnmsub.s", "fs3 00 fs2 fs1 rm fd 1001011", "{fd}, {fs1}, {fs2}, {fs3}{rm}"),
    ("fnmadd.s", "fs3 00 fs2 fs1 rm fd 1001111", "{fd}, {fs1}, {fs2}, {fs3}{rm}"),
    ("fadd.s", "0000000 fs2 fs1 rm fd 1010011", _FFF + "{rm}"),
    ("fsub.s", "0000100 fs2 fs1 rm fd 1010011", _FFF + "{rm}"),
    ("fmul.s", "0001000 fs2 fs1 rm fd 1010011", _FFF + "{rm}"),
    ("fdiv.s", "0001100 fs2 fs1 rm fd 1010011", _FFF + "{rm}"),
    ("fsqrt.s", "0101100 00000 fs1 rm fd 1010011", _FF + "{rm}"),
    ("fsgnj.s", "0010000 fs2 fs1 000 fd 1010011", _FFF),
    ("fsgnjn.s", "0010000 fs2 fs1 001 fd 1010011", _FFF),
    ("fsgnjx.s", "0010000 fs2 fs1 010 fd 1010011", _FFF),
    ("fmin.s", "0010100 fs2 fs1 000 fd 1010011", _FFF),
    ("fmax.s", "0010100 fs2 fs1 001 fd 1010011", _FFF),
    ("fle.s", "1010000 fs2 fs1 000 rd 1010011", "{rd}, {fs1}, {fs2}"),
    ("flt.s", "1010000 fs2 fs1 001 rd 1010011", "{rd}, {fs1}, {fs2}"),
    ("feq.s", "1010000 fs2 fs1 010 rd 1010011", "{rd}, {fs1}, {fs2}"),
    ("fclass.s", "1110000 00000 fs1 001 rd 1010011", _RF),
    ("fmv.x.w", "1110000 00000 fs1 000 rd 1010011", _RF),
    ("fmv.w.x", "1111000 00000 rs1 000 fd 1010011", "{fd}, {rs1}"),
    ("fcvt.w.s", "1100000 00000 fs1 rm rd 1010011", _RF + "{rm}"),
    ("fcvt.wu.s", "1100000 00001 fs1 rm rd 1010011", _RF + "{rm}"),
    ("fcvt.s.w", "1101000 00000 rs1 rm fd 1010011", "{fd}, {rs1}{rm}"),
    ("fcvt.s.wu", "1101000 00001 rs1 rm fd 1010011", "{fd}, {rs1}{rm}"),
)
_HALF = (
    ("flh", "imm[11:0] rs1 001 fd 0000111", "{fd}, {imm}({rs1})"),
    ("fsh", "imm[11:5] fs2 rs1 001 imm[4:0] 0100111", "{fs2}, {imm}({rs1})"),
    ("fcvt.s.h", "0100000 00010 fs1 rm fd 1010011", _FF + "{rm}"),
    ("fcvt.h.s", "0100010 00000 fs1 rm fd 1010011", _FF + "{rm}"),
    ("fmv.x.h", "1110010 00000 fs1 000 rd 1010011", _RF),
    ("fmv.h.x", "1111010 00000 rs1 000 fd 1010011", "{fd}, {rs1}"),
)


def _row(extension: Extension, name: str, pattern: str, syntax: str) -> InstructionKind:
    return InstructionKind(name=name, pattern=pattern, syntax=syntax, extension=extension)


def _rows() -> Iterator[InstructionKind]:
    for base in _BASE:
        yield _row(Extension.I, *base)
    yield _row(Extension.ZIFENCEI, "fence.i", "00000000000000000001000000001111", "")
    for number, name in enumerate(_MULTIPLY):
        yield _row(Extension.M, name, f"0000001 rs2 rs1 {number:03b} rd 0110011", _RRR)
    for name, code in _CSR:
        yield _row(Extension.ZICSR, name, f"csr rs1 {code} rd 1110011", "{rd}, {csr}, {rs1}")
        immediate = f"1{code[1:]}"
        yield _row(
            Extension.ZICSR, f"{name}i", f"csr zimm {immediate} rd 1110011", "{rd}, {csr}, {zimm}"
        )
    for name, code in _ATOMIC:
        pattern = f"{code} aq rl rs2 rs1 010 rd 0101111"
        yield _row(Extension.A, name, pattern, "{rd}, {rs2}, ({rs1})")
    yield _row(Extension.A, "lr.w", "00010 aq rl 00000 rs1 010 rd 0101111", "{rd}, ({rs1})")
    for single in _FLOAT:
        yield _row(Extension.F, *single)
    for half in _HALF:
        yield _row(Extension.ZFHMIN, *half)


#: In the order of the manual.
SCALAR_INSTRUCTIONS: tuple[InstructionKind, ...] = tuple(_rows())
