"""All instructions of the cluster's cores, and the row of an instruction."""

from fanweave.golden.isa.riscv_encoding import InstructionKind
from fanweave.golden.isa.riscv_scalar import SCALAR_INSTRUCTIONS
from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS
from fanweave.golden.isa.riscv_vector_memory import VECTOR_MEMORY_INSTRUCTIONS
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_INSTRUCTIONS

__all__ = ["INSTRUCTIONS", "INSTRUCTION_BY_NAME", "kind_of"]

#: Scalar, vector, vector memory, Ventaglio.
INSTRUCTIONS: tuple[InstructionKind, ...] = (
    *SCALAR_INSTRUCTIONS,
    *VECTOR_INSTRUCTIONS,
    *VECTOR_MEMORY_INSTRUCTIONS,
    *VENTAGLIO_INSTRUCTIONS,
)

INSTRUCTION_BY_NAME: dict[str, InstructionKind] = {row.name: row for row in INSTRUCTIONS}

#: Bits that every row of an opcode in `_BY_KEY` fixes: opcode and funct3, or the opcode alone.
_OPCODE, _KEY = 0x7F, 0x707F
_BY_KEY: dict[int, list[InstructionKind]] = {}
for _row in INSTRUCTIONS:
    for _code in range(8):
        _key = _row.match & _OPCODE | _code << 12
        if (_key ^ _row.match) & _row.mask & _KEY == 0:
            _BY_KEY.setdefault(_key, []).append(_row)


def kind_of(word: int) -> InstructionKind | None:
    """The row of an instruction of 32 bits; None if it is none."""
    rows = _BY_KEY.get(word & _KEY, ())
    return next((row for row in rows if word & row.mask == row.match), None)
