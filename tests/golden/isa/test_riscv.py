"""The tables against LLVM's assembler, against each other, and against the public release."""

import random
import struct

import pytest

from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME, INSTRUCTIONS, kind_of
from fanweave.golden.isa.riscv_csr import CSRS
from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind
from fanweave.golden.riscv.disassembler import disassemble
from fanweave.sw.kernels.compiler import assemble

#: LLVM does not know these; their encodings are compared with the published patterns below.
UNKNOWN_TO_LLVM = (Extension.VENTAGLIO, Extension.POST_INCREMENT)
SAMPLES = 8


def legal_fields(kind, generator):
    """Fields that the assembler accepts: no overlaps, masks not in the destination."""
    values = {
        name: generator.choice(
            [0, 1, (1 << sum(p.width for p in parts)) - 1, generator.randrange(1 << 32)]
        )
        for name, parts in kind.fields.items()
    }
    ranges = [range(1, 8), range(8, 16), range(16, 24), range(24, 32)]
    generator.shuffle(ranges)
    for name in ("vd", "vs1", "vs2", "vs3"):
        if name in values:
            numbers = ranges.pop()
            aligned = kind.memory is not None and kind.memory.access.value == "whole"
            aligned = aligned or (kind.name.startswith("vmv") and kind.name.endswith("r.v"))
            values[name] = numbers[0] & ~7 or 8 if aligned else generator.choice(numbers)
            if kind.memory is not None and kind.memory.fields > 1 and not aligned:
                values[name] = numbers[0]
    if "rm" in values:
        values["rm"] = generator.choice([0, 1, 2, 3, 4, 7])
        if kind.name in ("fcvt.s.h",):  # exact, so the assembler writes 0
            values["rm"] = 0
    for name in ("vtype", "vtype10"):
        if name in values:
            lmul = generator.choice([0, 1, 2, 3, 5, 6, 7])
            values[name] = generator.randrange(4) << 6 | generator.randrange(4) << 3 | lmul
    if "csr" in values:
        values["csr"] = generator.choice([entry.address for entry in CSRS])
        if 0x7C8 <= values["csr"] <= 0x7CE:
            values["csr"] = 0x340
    if kind.name == "fence":
        values["pred"], values["succ"] = generator.randrange(1, 16), generator.randrange(1, 16)
    return fit(kind, values)


def fit(kind: InstructionKind, values: dict[str, int]) -> dict[str, int]:
    """Cut each value to its field."""
    word = kind.match
    for name, parts in kind.fields.items():
        for part in parts:
            word |= (values[name] >> part.place & (1 << part.width) - 1) << part.low
    return kind.decode(word)


def test_every_row_assembles_to_its_encoding():
    generator = random.Random(1)
    expected, lines = [], []
    for kind in INSTRUCTIONS:
        if kind.extension in UNKNOWN_TO_LLVM:
            continue
        for _ in range(SAMPLES):
            word = kind.encode(**legal_fields(kind, generator))
            expected.append(word)
            lines.append(disassemble(word))
    assert len(lines) > 5000
    data = assemble(lines)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    assert len(words) == len(expected)
    wrong = [
        f"{line}: table {want:#010x}, LLVM {got:#010x}"
        for line, want, got in zip(lines, expected, words, strict=True)
        if want != got
    ]
    assert wrong == []


def test_rows_do_not_overlap():
    for index, row in enumerate(INSTRUCTIONS):
        for other in INSTRUCTIONS[index + 1 :]:
            both = row.mask & other.mask
            assert (row.match ^ other.match) & both, f"{row.name} and {other.name}"


def test_names_are_unique():
    assert len(INSTRUCTION_BY_NAME) == len(INSTRUCTIONS)


@pytest.mark.parametrize("kind", INSTRUCTIONS, ids=lambda kind: kind.name)
def test_row_is_found_by_its_encoding(kind):
    generator = random.Random(kind.name)
    for _ in range(4):
        values = legal_fields(kind, generator)
        word = kind.encode(**values)
        assert kind_of(word) is kind
        assert kind.decode(word) == values


#: Encodings that the public release publishes; ? is free.
PUBLISHED = {
    "vfxmacc.vrf": "?????00??????????010?????0001011",
    "vfxmul.vrf": "?????01??????????010?????0001011",
    "vventclr": f"{0x0600200B:032b}",
    "vfxmacc.vf": "100101???????????101?????1010111",
    "vfxmul.vf": "100110???????????101?????1010111",
    "vlx8.v": "000100?00000?????000?????0000111",
    "vlx16.v": "000100?00000?????101?????0000111",
    "vlx32.v": "000100?00000?????110?????0000111",
    "vlx64.v": "000100?00000?????111?????0000111",
    "p.vle8.v.rrpost": "110000???????????000?????1111011",
    "p.vle16.v.rrpost": "110000???????????101?????1111011",
    "p.vle32.v.rrpost": "110000???????????110?????1111011",
    "p.vle64.v.rrpost": "110000???????????111?????1111011",
    "p.vlx8.v.rrpost": "110001???????????000?????1111011",
    "p.vlx16.v.rrpost": "110001???????????101?????1111011",
    "p.vlx32.v.rrpost": "110001???????????110?????1111011",
    "p.vlx64.v.rrpost": "110001???????????111?????1111011",
    "p.flb.rrpost": "1010000??????????000?????1111011",
    "p.flh.rrpost": "1010000??????????001?????1111011",
    "p.flw.rrpost": "1010000??????????010?????1111011",
    "p.fld.rrpost": "1010000??????????011?????1111011",
}


def test_published_patterns_cover_what_llvm_does_not_know():
    rows = {row.name for row in INSTRUCTIONS if row.extension in UNKNOWN_TO_LLVM}
    assert rows == set(PUBLISHED) | {"vfxmacc.rows"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_encoding_is_the_published_one(name):
    row, pattern = INSTRUCTION_BY_NAME[name], PUBLISHED[name]
    assert row.mask == int("".join("0" if c == "?" else "1" for c in pattern), 2)
    assert row.match == int(pattern.replace("?", "0"), 2)


def test_unknown_words():
    assert kind_of(0) is None
    assert kind_of(0xFFFFFFFF) is None
    assert disassemble(0) == "unknown 0x00000000"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rd": 1}, "addi takes imm, rs1, rd; given are rd"),
        ({"rd": 1, "rs1": 1, "imm": 4096}, "addi cannot encode"),
    ],
)
def test_bad_fields_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        INSTRUCTION_BY_NAME["addi"].encode(**values)


def test_targets_are_addresses_where_the_address_is_known():
    word = INSTRUCTION_BY_NAME["beq"].encode(rs1=10, rs2=11, imm=-8)
    assert disassemble(word) == "beq a0, a1, -8"
    assert disassemble(word, 0x80000010) == "beq a0, a1, 0x80000008"
