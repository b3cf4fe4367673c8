"""Pieces of which cases with maps are made."""

from fanweave.golden.ebpf.build import alu, copy, helper, map_of, store_imm
from fanweave.golden.ebpf.conformance.case import Entry
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf import AluOperation, Instruction, Size
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["call", "entry", "point_to_key", "spec", "word"]

_NUMBERS = {helper.name: helper.number for helper in HELPERS.values()}


def call(name: str) -> Instruction:
    """A call of a helper."""
    return helper(_NUMBERS[name])


def spec(kind: MapType, key: int = 4, value: int = 8, entries: int = 2) -> MapSpec:
    """A small map."""
    return MapSpec(name="m", kind=kind, key_size=key, value_size=value, max_entries=entries)


def word(number: int, size: int = 4) -> bytes:
    """A number's bytes, the least first."""
    return number.to_bytes(size, "little")


def entry(key: int, value: int, number: int = 0) -> Entry:
    """An entry with a key of 4 bytes and a value of 8 in a map."""
    return Entry(map=number, key=word(key), value=word(value, 8))


def point_to_key(key: int) -> tuple[Instruction, ...]:
    """Let r1 be map 0 and r2 the address of a key."""
    return (
        store_imm(10, key, -8, Size.W),
        *(map_of(1, 0), copy(2, 10), alu(AluOperation.ADD, 2, imm=-8)),
    )
