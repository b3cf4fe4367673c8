"""The table of instructions says the same as the checks of legality, and what the standard says."""

import random
from collections import Counter

import pytest

from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, Field, Group, kind_of
from fanweave.golden.isa.ebpf_legality import fault_of

IMMEDIATES = (0, 1, 8, 16, 32, 64, 0x01, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE0, 0xE1, 0xF0, 0xF1)


def test_no_two_rows_are_the_same_instruction():
    rows = [(row.opcode, row.src, row.offset, row.imm) for row in INSTRUCTIONS]
    assert len(set(rows)) == len(rows)


def test_rows_and_legality_agree_on_every_opcode():
    """Fields are drawn around the values that mean something."""
    generator = random.Random(9669)
    legal = 0
    for opcode in range(256):
        for _ in range(900):
            instruction = Instruction(
                opcode,
                generator.choice((0, 1, 9)),
                generator.choice((0, 0, 1, 2, 3, 4, 5, 6, 7)),
                generator.choice((0, 0, 1, 8, 16, 32, -1)),
                generator.choice(IMMEDIATES),
                generator.choice((0, 0, 1)) if opcode == 0x18 else 0,
            )
            exists = fault_of(instruction) is None
            assert exists == (kind_of(instruction) is not None), instruction
            legal += exists
    assert legal > 5_000


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: f"{row.name} {row.opcode:#04x}")
def test_every_row_can_be_found_by_its_own_encoding(row):
    instruction = Instruction(row.opcode, 0, row.src, row.offset, row.imm)
    assert kind_of(instruction) is row
    assert fault_of(instruction) is None


def test_counts_by_group_and_version():
    groups = Counter(row.group for row in INSTRUCTIONS)
    assert groups == {
        # Arithmetic 9 x 2, neg; 2 moves; 6 byte orders; 22 conditions; 2 gotos, 3 calls, exit;
        # 3 sizes of ldx, st, stx, and 3 loads that extend the sign.
        Group.BASE32: 18 + 1 + 2 + 6 + 22 + 6 + 9 + 3,
        # The same 18 and 1; 3 moves; 3 byte orders; 22 conditions; 7 wide loads; ldx, st, stx.
        Group.BASE64: 18 + 1 + 3 + 3 + 22 + 7 + 3,
        # mul, div, mod, sdiv, smod with two sources each.
        Group.DIVMUL32: 10,
        Group.DIVMUL64: 10,
        Group.ATOMIC32: 10,
        Group.ATOMIC64: 10,
    }
    versions = Counter(row.version for row in INSTRUCTIONS)
    # 2: four conditions with two sources. 3: conditions of 32 bits, atomics but add.
    # 4: sdiv and smod, moves, bswap, the long goto, loads that extend the sign.
    assert versions[2] == 8
    assert versions[3] == 22 + 18
    assert versions[4] == 8 + 5 + 3 + 1 + 3


@pytest.mark.parametrize(
    ("code", "name", "reads", "writes"),
    [
        ("bf 21 00 00 00 00 00 00", "mov", {Field.SRC}, {Field.DST}),
        ("3f 21 01 00 00 00 00 00", "sdiv", {Field.DST, Field.SRC}, {Field.DST}),
        ("bc 21 10 00 00 00 00 00", "movsx1632", {Field.SRC}, {Field.DST}),
        ("d7 01 00 00 20 00 00 00", "bswap32", {Field.DST}, {Field.DST}),
        ("dc 01 00 00 10 00 00 00", "be16", {Field.DST}, {Field.DST}),
        ("06 00 00 00 05 00 00 00", "ja32", set(), set()),
        ("a6 01 05 00 07 00 00 00", "jlt32", {Field.DST}, set()),
        ("85 10 00 00 05 00 00 00", "call local", {1, 2, 3, 4, 5}, set()),
        ("91 21 04 00 00 00 00 00", "ldxsb", {Field.SRC}, {Field.DST}),
        ("db 21 08 00 f1 00 00 00", "lock cmpxchg", {Field.DST, Field.SRC, 0}, {0}),
        ("c3 21 08 00 01 00 00 00", "lock fetch_add32", {Field.DST, Field.SRC}, {Field.SRC}),
    ],
)
def test_encodings_worked_out_by_hand(code, name, reads, writes):
    opcode, registers, *rest = bytes.fromhex(code)
    offset = int.from_bytes(bytes(rest[:2]), "little", signed=True)
    imm = int.from_bytes(bytes(rest[2:]), "little", signed=True)
    row = kind_of(Instruction(opcode, registers & 15, registers >> 4, offset, imm))
    assert row is not None
    assert (row.name, row.reads, row.writes) == (name, reads, writes)
