"""The table of the eBPF engine's registers is whole and free of overlaps."""

from dataclasses import fields

import pytest

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR, DESCRIPTOR_WORDS
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.golden.isa.ebpf_registers import (
    ADDRESS_BITS,
    COUNTERS,
    HOST_COMMANDS,
    LIMITS,
    REGISTERS,
    WORD_BITS,
    byte_address,
    register,
)


def test_no_two_registers_share_an_address():
    behind = 0
    for entry in REGISTERS:
        assert entry.address >= behind, entry.name
        behind = entry.address + entry.words
    assert 4 * behind <= 1 << ADDRESS_BITS
    assert len({entry.name for entry in REGISTERS}) == len(REGISTERS)


def test_fields_fit_and_do_not_overlap():
    for entry in REGISTERS:
        behind = 0
        for field in entry.fields:
            assert field.low >= behind, (entry.name, field.name)
            behind = field.low + field.width
        assert behind <= WORD_BITS
        assert entry.reset < 1 << behind
    assert DESCRIPTOR[-1].low + DESCRIPTOR[-1].width <= WORD_BITS * DESCRIPTOR_WORDS


def test_every_parameter_can_be_read():
    assert {name for name, _ in LIMITS} == {field.name for field in fields(EbpfConfig)}


def test_every_cause_is_counted():
    names = [name for name, _ in COUNTERS]
    assert names[2:] == [f"verdicts_{cause.name.lower()}" for cause in FaultCause]


def test_every_type_of_map_has_commands():
    assert set(HOST_COMMANDS) == set(MapType)


def test_addresses_count_bytes():
    assert byte_address("budget") == 4 * register("budget").address
    assert byte_address("descriptor", 7) == byte_address("descriptor") + 28
    with pytest.raises(IndexError, match="descriptor has 8 words; there is no word 8"):
        byte_address("descriptor", 8)
