"""The sections with types and lines, as the compiler writes them, and damaged."""

import struct

import pytest

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.btf import BtfKind
from fanweave.sw.ebpf.object.btf_ext import read_btf_ext
from fanweave.sw.ebpf.object.btf_reader import read_btf
from fanweave.sw.ebpf.object.elf_reader import read_elf

SOURCE = """
enum color { RED, GREEN = 7, BLUE = -2 };
enum wide { HUGE = 0x100000000ull };
union both { __u32 whole; __u8 part[4]; };
struct thing {
    __u32 low : 3, high : 29;
    union both both;
    enum color color;
    enum wide wide;
    double real;
    struct thing *next;
    volatile const int *restrict where;
};
SEC("event") __u64 use(struct thing *thing)
{
    return thing->high + thing->both.part[1];
}
"""


def types_of(data):
    elf = read_elf(data, "file")
    return elf, read_btf(elf, elf.find(".BTF"))


@pytest.fixture(scope="module")
def thing(build):
    return build(SOURCE)


def named(btf, kind, name=None):
    return next(found for found in btf.types if found.kind is kind and name in (None, found.name))


def test_structures_with_their_members(thing):
    _, btf = types_of(thing)
    found = named(btf, BtfKind.STRUCT, "thing")
    assert found.size == 48
    members = {member.name: member for member in found.members}
    assert [(m.offset, m.value) for m in (members["low"], members["high"])] == [(0, 3), (3, 29)]
    assert members["next"].offset == 256
    assert btf.describe(members["next"].type) == "struct thing *"
    assert btf.describe(members["color"].type) == "enum color"
    assert btf.size_of(members["both"].type) == 4
    assert btf.size_of(members["real"].type) == 8


def test_enumerations_with_and_without_sign(thing):
    _, btf = types_of(thing)
    values = {member.name: member.value for member in named(btf, BtfKind.ENUM, "color").members}
    assert values == {"RED": 0, "GREEN": 7, "BLUE": -2}
    (huge,) = named(btf, BtfKind.ENUM64, "wide").members
    assert huge.value == 1 << 32


def test_functions_with_parameters(thing):
    elf, btf = types_of(thing)
    prototype = named(btf, BtfKind.FUNC_PROTO)
    assert [member.name for member in prototype.members] == ["thing"]
    ext = read_btf_ext(elf, elf.find(".BTF.ext"), btf)
    ((offset, number),) = ext.functions["event"].items()
    assert (offset, btf.type(number).name) == (0, "use")


def test_lines(thing):
    elf, btf = types_of(thing)
    ext = read_btf_ext(elf, elf.find(".BTF.ext"), btf)
    lines = ext.lines["event"]
    assert {btf.text(line.file).rpartition("/")[2] for line in lines} == {"program.c"}
    texts = {line.line: btf.text(line.text).strip() for line in lines}
    text = "return thing->high + thing->both.part[1];"
    # The header is included in a line before the first one.
    assert texts[2 + SOURCE[: SOURCE.index(text)].count("\n")] == text
    assert all(line.offset % 8 == 0 and line.column for line in lines)
    assert ext.core == ()


@pytest.mark.parametrize("section", [".BTF", ".BTF.ext"])
@pytest.mark.parametrize(
    ("offset", "size", "value", "message"),
    [
        (0, 2, 0xFFFF, "offset 0x0: magic 0xffff, version 1; it must be 0xeb9f and 1"),
        (2, 1, 2, "offset 0x0: magic 0xeb9f, version 2"),
        (4, 4, 8, "offset 0x4: a header of 8 bytes; it must have from 24 to"),
        (4, 4, 1 << 31, "offset 0x4: a header of 2147483648 bytes"),
        (12, 4, 0xFFFFFFF, "0xfffffff bytes at"),
        (16, 4, 0xFFFFFFF, "at 0x10000"),
    ],
)
def test_headers_that_are_damaged(thing, patch, section, offset, size, value, message):
    start = read_elf(thing, "file").find(section).offset
    elf = read_elf(patch(thing, start + offset, size, value), "file")
    with pytest.raises(InputError) as refused:
        read_btf_ext(elf, elf.find(".BTF.ext"), read_btf(elf, elf.find(".BTF")))
    assert f"'{section}'" in str(refused.value)
    assert message in str(refused.value)


def test_a_section_that_is_too_short(thing, patch_section):
    elf = read_elf(patch_section(thing, ".BTF", "size", 7), "file")
    with pytest.raises(InputError, match="7 bytes are too few for a header"):
        read_btf(elf, elf.find(".BTF"))


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        (1, 0, "offset 0x18: type 1: kind 0; there are 1 to 19"),
        (1, 31 << 24, "offset 0x18: type 1: kind 31; there are 1 to 19"),
        (1, 4 << 24 | 0xFFFF, "type 1: STRUCT with 65535 members is cut off"),
        (0, 1 << 30, "type 1: no string of less than 512 bytes at 0x40000000 of"),
    ],
)
def test_types_that_are_damaged(thing, patch, word, value, message):
    start = read_elf(thing, "file").find(".BTF").offset + 24
    elf = read_elf(patch(thing, start + 4 * word, 4, value), "file")
    with pytest.raises(InputError) as refused:
        read_btf(elf, elf.find(".BTF"))
    assert message in str(refused.value)


def test_a_type_that_is_cut_off(thing, patch):
    start = read_elf(thing, "file").find(".BTF").offset
    (length,) = struct.unpack_from("<I", thing, start + 12)
    elf = read_elf(patch(thing, start + 12, 4, length - 4), "file")
    with pytest.raises(InputError, match="is cut off"):
        read_btf(elf, elf.find(".BTF"))


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        (0, 4, "functions of 4 bytes each; it must be 8 or more, a multiple of 4"),
        (0, 9, "functions of 9 bytes each"),
        (1, 1 << 30, "no string of less than 512 bytes at 0x40000000"),
        (2, 1000, "functions: 1000 records of 8 bytes in"),
        (2, 0, "functions: a section's header is cut off"),
    ],
)
def test_records_that_are_damaged(thing, patch, word, value, message):
    section = read_elf(thing, "file").find(".BTF.ext")
    start = section.offset + int.from_bytes(section.data[4:8], "little")
    data = patch(thing, start + 4 * word, 4, value)
    if word == 2 and value == 0:
        # Nine bytes are left behind a header without records, then four.
        data = patch(data, section.offset + 12, 4, 16)
    elf = read_elf(data, "file")
    with pytest.raises(InputError) as refused:
        read_btf_ext(elf, elf.find(".BTF.ext"), read_btf(elf, elf.find(".BTF")))
    assert message in str(refused.value)


CORE = """
struct task { int pad; int pid; } __attribute__((preserve_access_index));
SEC("event") __u64 use(struct task *task) { return task->pid; }
"""


def test_places_that_depend_on_a_kernel(build):
    elf, btf = types_of(build(CORE))
    (core,) = read_btf_ext(elf, elf.find(".BTF.ext"), btf).core
    assert (core.section, core.access, btf.describe(core.type)) == ("event", "0:1", "struct task")
