"""Values by the types of an object file."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import types_of
from fanweave.sw.policies.values import MapTypes

SOURCE = """
#include <fanweave/bpf.h>
enum color { RED, GREEN = 7 };
struct inner { __s16 low; __u8 reserved; _Bool flag; };
struct outer { __u64 wide; struct inner parts[2]; enum color color; __s8 bytes[3]; };
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4);
    __type(key, struct inner);
    __type(value, struct outer);
} made SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} ring SEC(".maps");
__u32 one SEC(".data.one") = 5;
__u32 two = 6, three = 7;
SEC("cxl") __u64 program(void *context) { return one + two + three; }
"""


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    source = tmp_path_factory.mktemp("values") / "program.c"
    source.write_text(SOURCE)
    btf, _ = types_of(read_elf(compile_c(source).data, "program.o"))
    return MapTypes(btf)


INNER = {"low": -2, "flag": 1}
OUTER = {
    "wide": 0x0102030405060708,
    "parts": [INNER, {"low": 0x1234, "flag": 0}],
    "color": 7,
    "bytes": [-1, 0, 127],
}
BYTES = bytes.fromhex("0807060504030201 feff0001 34120000 07000000 ff007f 00")


def test_structures_arrays_and_signs(types):
    assert types.encode(types.value("made"), OUTER) == BYTES
    assert types.decode(types.value("made"), BYTES) == OUTER
    assert types.encode(types.key("made"), INNER) == bytes.fromhex("feff0001")


def test_what_is_left_out_stays(types):
    changed = types.encode(types.value("made"), {"color": 0}, base=BYTES)
    assert changed == BYTES[:16] + bytes(4) + BYTES[20:]
    assert types.encode(types.value("made"), {}) == bytes(24)


def test_bytes_are_taken_as_they_are(types):
    parts = {"parts": [b"abcd", {}]}
    assert types.encode(types.value("made"), parts)[8:16] == b"abcd\0\0\0\0"


def test_maps_without_types_have_none(types):
    assert types.key("ring") is types.value("ring") is None
    assert types.encode(types.value(".data.one"), 9) == bytes([9, 0, 0, 0])
    # Two variables: which place is whose only the linker knows.
    assert types.value(".data") is types.value(".bss") is types.key("none") is None


def test_variables_of_a_section_by_the_places_of_their_symbols(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(SOURCE)
    btf, _ = types_of(read_elf(compile_c(source).data, "program.o"))
    types = MapTypes(btf, {"two": 4, "three": 0})
    number = types.value(".data")
    assert types.encode(number, {"two": 9}, base=bytes(8)) == bytes([0, 0, 0, 0, 9, 0, 0, 0])
    assert types.decode(number, bytes([3, 0, 0, 0, 9, 0, 0, 0])) == {"two": 9, "three": 3}
    with pytest.raises(InputError, match="no variable 'four'; it has two, three"):
        types.encode(number, {"four": 1}, base=bytes(8))


def test_structures_by_name(types):
    assert types.encode(types.structure("inner"), INNER) == bytes.fromhex("feff0001")
    with pytest.raises(InputError, match="has no struct none"):
        types.structure("none")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"high": 1}, "made: no member 'high'; it has low, reserved, flag"),
        ({"low": 32768}, r"made\.low = 32768; it must be from -32768 to 32767"),
        ({"reserved": -1}, r"made\.reserved = -1; it must be from 0 to 255"),
        ({"low": "x"}, r"made\.low: 'x'; expected __s16"),
        ([1], r"made: \[1\]; expected struct inner"),
        (b"abc", "made: 3 bytes; it has 4"),
    ],
)
def test_what_does_not_fit(types, value, message):
    with pytest.raises(InputError, match=message):
        types.encode(types.structure("inner"), value, where="made")


def test_arrays_have_their_length(types):
    with pytest.raises(InputError, match=r"made\.bytes: 2 elements; it has 3"):
        types.encode(types.value("made"), {"bytes": [1, 2]}, where="made")
