"""Both syntaxes can write every instruction of the table, and the table's names are theirs."""

import pytest

from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, Operand
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.assembler import disassemble

#: What an object file's loader puts in, and calls that no machine here has.
ELSEWHERE = {Operand.BTF, Operand.MAP, Operand.VARIABLE, Operand.CODE}
WRITTEN = [row for row in INSTRUCTIONS if not ELSEWHERE & set(row.operands)]


def example(row):
    """An instruction whose fields all differ where they may."""
    free = {field.value for field in row.fields}
    values = {"dst": 3, "src": 4, "offset": -1, "imm": -1, "high": 7}
    fixed = {"src": row.src, "offset": row.offset, "imm": row.imm}
    fields = {name: values[name] for name in free} | {
        name: value for name, value in fixed.items() if name not in free
    }
    if Operand.HELPER in row.operands:
        fields["imm"] = 1
    return Instruction(row.opcode, **fields)


@pytest.mark.parametrize("syntax", ["kernel", "conformance"])
@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: f"{row.name} {row.opcode:#04x}")
def test_every_instruction_can_be_written_and_read(row, syntax):
    instruction = example(row)
    (line,) = disassemble([instruction], syntax=syntax)
    assert not line.startswith("#"), line
    if syntax == "conformance":
        assert f"{line} ".startswith(f"{row.name} ")
    # Jumps lead from a line of their own to the one before it.
    assert assemble(line, syntax=syntax) == [instruction]
