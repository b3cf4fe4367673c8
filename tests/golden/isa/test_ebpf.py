"""Encodings of instructions, and which of them exist."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction, decode_program, encode_program
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.golden.isa.ebpf_names import (
    HELPER_NAMES,
    MAP_TYPE_NAMES,
    helper_name,
    map_type_name,
)

#: Opcodes of RFC 9669's appendix, all of its groups but the historical packet access.
ALU = (0x04, 0x14, 0x24, 0x34, 0x44, 0x54, 0x64, 0x74, 0x94, 0xA4, 0xB4, 0xC4)
JUMPS = (0x15, 0x25, 0x35, 0x45, 0x55, 0x65, 0x75, 0xA5, 0xB5, 0xC5, 0xD5)
OPCODES = {
    *ALU,
    *(code | 8 for code in ALU),
    *(code + 3 for code in ALU),
    *((code + 3) | 8 for code in ALU),
    *(0x84, 0x87, 0xD4, 0xDC, 0xD7),
    *JUMPS,
    *(code | 8 for code in JUMPS),
    *(code + 1 for code in JUMPS),
    *((code + 1) | 8 for code in JUMPS),
    *(0x05, 0x06, 0x85, 0x95),
    *(0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91),
    *(0x62, 0x6A, 0x72, 0x7A, 0x63, 0x6B, 0x73, 0x7B),
    *(0xC3, 0xDB),
    0x18,
}


def test_exactly_the_opcodes_of_the_standard_exist():
    known = set()
    for opcode in range(256):
        tries = [Instruction(opcode, 1, 0, 0, imm) for imm in (0, 16)] + [
            Instruction(opcode, 1, 2, 0, 0),
            Instruction(opcode),
        ]
        if any(fault_of(instruction) is None for instruction in tries):
            known.add(opcode)
    assert known == OPCODES


def test_bytes_are_those_of_the_standard():
    instruction = Instruction(0x7B, 10, 1, -8)
    assert instruction.encode() == bytes.fromhex("7b 1a f8 ff 00 00 00 00")
    load = Instruction(0x18, 1, 0, 0, 0x5566_7788, 0x1122_3344)
    assert load.encode() == bytes.fromhex("18 01 00 00 88 77 66 55 00 00 00 00 44 33 22 11")
    assert load.imm64 == 0x1122_3344_5566_7788
    assert decode_program(encode_program([instruction, load])) == [instruction, load]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("95", "the program has 1 bytes; it must be a multiple of 8"),
        ("18 00 00 00 00 00 00 00", "instruction 0: a 64-bit immediate load without its end"),
        (
            "95 00 00 00 00 00 00 00 18 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00",
            "instruction 1: the second slot of a 64-bit immediate load holds more than an imm",
        ),
    ],
)
def test_what_cannot_be_split_is_refused(code, message):
    with pytest.raises(InputError) as refused:
        decode_program(bytes.fromhex(code))
    assert message in str(refused.value)


def test_a_field_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="does not fit in its fields"):
        Instruction(0xB7, 0, 0, 40_000).encode()
    for registers in ((16, 0), (0, 16), (-1, 0)):
        with pytest.raises(InputError, match=r"does not fit in its fields: ... has 4 bits"):
            Instruction(0xBF, *registers).encode()


def test_helpers_have_linuxs_numbers():
    names = {number: helper.name for number, helper in HELPERS.items()}
    assert names[1] == "map_lookup_elem"
    assert names[12] == "tail_call"
    assert names[131] == "ringbuf_reserve"
    assert len({helper.name for helper in HELPERS.values()}) == len(HELPERS)


def test_names_are_linuxs():
    assert all(HELPER_NAMES[number] == helper.name for number, helper in HELPERS.items())
    assert all(MAP_TYPE_NAMES[kind] == kind.name for kind in MapType)
    # The last ones of Linux 6.18.
    assert helper_name(211) == "cgrp_storage_delete"
    assert map_type_name(33) == "ARENA"
    assert {helper_name(number) for number in (0, -1, 212)} == {"unknown to Linux too"}
    assert helper_name(6) == "trace_printk"
