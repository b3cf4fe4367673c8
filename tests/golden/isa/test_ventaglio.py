import pytest

from fanweave.golden.isa.registers import Field, Register
from fanweave.golden.isa.ventaglio import (
    COUNTERS,
    REGISTERS,
    ErrorCause,
    IndexMode,
    Opcode,
    counter_address,
    index_bits,
    register,
)


def test_addresses_and_names_are_unique_and_fit_the_command_stream():
    assert len({entry.address for entry in REGISTERS}) == len(REGISTERS)
    assert len({entry.name for entry in REGISTERS}) == len(REGISTERS)
    assert all(0 <= entry.address < 256 for entry in REGISTERS)


@pytest.mark.parametrize("entry", REGISTERS, ids=lambda entry: entry.name)
def test_fields_do_not_overlap(entry):
    used = 0
    for field in entry.fields:
        mask = (1 << field.width) - 1 << field.low
        assert used & mask == 0
        used |= mask
    assert used < 1 << 32
    assert entry.access in ("rw", "ro", "wo", "w1")


def test_codes_fit_their_fields():
    assert max(Opcode) < 1 << register("command").field("opcode").width
    assert max(IndexMode) < 1 << register("format").field("index_mode").width
    assert max(ErrorCause) < 1 << register("error").field("cause").width


def test_pack_and_extract():
    tile = register("tile")
    word = tile.pack(width=256, outputs=3)
    assert word == 256 | 3 << 16
    assert tile.field("width").extract(word) == 256
    assert tile.field("outputs").extract(word) == 3
    with pytest.raises(ValueError, match="outputs = 16 does not fit in 4 bits"):
        tile.pack(outputs=16)
    with pytest.raises(ValueError, match="x = -1 does not fit in 2 bits"):
        Field("x", 0, 2, "").place(-1)


def test_counters_are_registers_in_order():
    addresses = [counter_address(name) for name, _ in COUNTERS]
    assert addresses == list(range(addresses[0], addresses[0] + len(COUNTERS)))
    for name, _ in COUNTERS:
        entry = register(f"counter_{name}")
        assert (entry.address, entry.access) == (counter_address(name), "ro")
    causes = [name for name, _ in COUNTERS if name.startswith("cycles_")]
    assert causes[0] == "cycles_issue"
    assert causes[-1] == "cycles_other"


@pytest.mark.parametrize(
    ("mode", "m", "bits"),
    [
        (IndexMode.DENSE, 4, 0),
        (IndexMode.BITMASK, 4, 1),
        (IndexMode.ABSOLUTE_8, 4, 8),
        (IndexMode.ABSOLUTE_16, 4, 16),
        (IndexMode.N_OF_M, 1, 0),
        (IndexMode.N_OF_M, 2, 1),
        (IndexMode.N_OF_M, 4, 2),
        (IndexMode.N_OF_M, 5, 3),
        (IndexMode.N_OF_M, 32, 5),
    ],
)
def test_index_bits(mode, m, bits):
    assert index_bits(mode, m) == bits


def test_a_register_knows_its_fields():
    entry = Register("r", 0, "rw", "", (Field("a", 0, 1, ""), Field("b", 1, 2, "")))
    assert entry.field("b").low == 1
    assert entry.pack(b=3) == 6
