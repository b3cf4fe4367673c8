"""Scalar integer instructions as Python expressions, compiled to makers of closures.

Operands are unsigned numbers of 32 bits. ``a`` and ``b`` stand for the sources, ``S(a)`` for the
signed value of one.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["BRANCHES", "MAKERS", "Closure"]

Closure = Callable[[], Any]

_SHIFTS = {
    "sll": "a << (b & 31) & M",
    "srl": "a >> (b & 31)",
    "sra": "S(a) >> (b & 31) & M",
}
#: With two registers, and with a register and an immediate where ``i`` follows the name.
_BINARY = {
    "add": "a + b & M",
    "sub": "a - b & M",
    "slt": "1 if S(a) < S(b) else 0",
    "sltu": "1 if a < b else 0",
    "xor": "a ^ b",
    "or": "a | b",
    "and": "a & b",
    **_SHIFTS,
    "mul": "a * b & M",
    "mulh": "S(a) * S(b) >> 32 & M",
    "mulhsu": "S(a) * b >> 32 & M",
    "mulhu": "a * b >> 32",
    "div": "M if b == 0 else quotient(S(a), S(b)) & M",
    "divu": "M if b == 0 else a // b",
    "rem": "a if b == 0 else S(a) - S(b) * quotient(S(a), S(b)) & M",
    "remu": "a if b == 0 else a % b",
}
_IMMEDIATE = {
    "addi": "add",
    "slti": "slt",
    "sltiu": "sltu",
    "xori": "xor",
    "ori": "or",
    "andi": "and",
    "slli": "sll",
    "srli": "srl",
    "srai": "sra",
}
_CONDITIONS = {
    "beq": "a == b",
    "bne": "a != b",
    "blt": "S(a) < S(b)",
    "bge": "S(a) >= S(b)",
    "bltu": "a < b",
    "bgeu": "a >= b",
}


def _quotient(a: int, b: int) -> int:
    """Quotient that is rounded toward zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _insert(expression: str, a: str, b: str) -> str:
    """Put operands in the place of a and b; the signed value is (v ^ 2^31) - 2^31."""
    for letter, operand in (("a", a), ("b", b)):
        expression = expression.replace(f"S({letter})", f"(({operand} ^ 0x80000000) - 0x80000000)")
    return " ".join({"a": a, "b": b}.get(word, word) for word in _words(expression))


def _words(expression: str) -> list[str]:
    for sign in "()":
        expression = expression.replace(sign, f" {sign} ")
    return expression.replace(",", " , ").split()


def _compiled(header: str, body: str) -> Callable[..., Closure]:
    scope: dict[str, Any] = {"quotient": _quotient, "M": 0xFFFFFFFF}
    exec(f"def make({header}):\n    def run():\n        {body}\n    return run\n", scope)
    maker: Callable[..., Closure] = scope["make"]
    return maker


#: name -> maker(x, rd, rs1, second): the last is rs2, or the immediate as an unsigned number.
MAKERS: dict[str, Callable[..., Closure]] = {
    **{
        name: _compiled("x, rd, rs1, rs2", f"x[rd] = {_insert(text, 'x[rs1]', 'x[rs2]')}")
        for name, text in _BINARY.items()
    },
    **{
        name: _compiled("x, rd, rs1, imm", f"x[rd] = {_insert(_BINARY[base], 'x[rs1]', 'imm')}")
        for name, base in _IMMEDIATE.items()
    },
}

#: name -> maker(x, rs1, rs2, target, following): gives the address of the next instruction.
BRANCHES: dict[str, Callable[..., Closure]] = {
    name: _compiled(
        "x, rs1, rs2, target, following",
        f"return target if {_insert(text, 'x[rs1]', 'x[rs2]')} else following",
    )
    for name, text in _CONDITIONS.items()
}
