"""Maps that stand for variables, and addresses of maps in tables."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.object.loader import load_object

PROGRAM = 'SEC("event") int program(void *context) { return 0; }'
INNER = """
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, __u32); __type(value, __u64); };
struct inner one SEC(".maps");
"""
OUTER = """
struct { __uint(type, 12); __uint(max_entries, 2); __array(values, struct inner); } outer
    SEC(".maps")"""


def test_variables_become_maps_of_one_value(sample):
    made = {found.name: found for found in load_object(sample("variables")).maps[2:]}
    assert made.keys() == {".rodata", ".data", ".bss", ".rodata.steps", ".rodata.str1.1"}
    for found in made.values():
        assert (found.spec.kind, found.spec.key_size) == (MapType.ARRAY, 4)
        assert found.spec.max_entries == 1
        read_only = found.name.startswith(".rodata")
        assert found.spec.flags == (MapFlag.RDONLY_PROG if read_only else 0)
    assert made[".rodata"].contents == bytes.fromhex("07000000")
    assert made[".data"].contents == bytes.fromhex("0500000000000000")
    assert made[".rodata.steps"].contents == bytes((1, 2, 4, 8, 16))
    assert made[".rodata.str1.1"].contents == b"fanweave\0"
    assert (made[".bss"].spec.value_size, made[".bss"].contents) == (40, b"")


def test_no_map_for_no_variables(load):
    assert load(PROGRAM).maps == ()


def test_more_variables_than_a_map_can_hold(sample, patch_section):
    with pytest.raises(InputError, match=r"'\.bss': 4611686018427387904 bytes of variables; at mo"):
        load_object(patch_section(sample("variables"), ".bss", "size", 1 << 62))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "struct inner wrong SEC('.maps');" + OUTER + " = { .values = { [5] = &one } };",
            "excess elements",
        ),
    ],
)
def test_the_compiler_refuses_nothing_of_this(load, text, message):
    """Entries beyond `max_entries` are the loader's to find."""
    text = INNER + OUTER + " = { .values = { [5] = &one } };" + PROGRAM
    with pytest.raises(InputError, match="map 'outer' begins with an entry 5; it has 2"):
        load(text)


def test_maps_of_another_shape(load):
    text = INNER.replace("struct inner one", "struct inner zero") + OUTER
    other = """
    struct { __uint(type, 2); __uint(max_entries, 4); __type(key, __u32); __type(value, __u32); }
        one SEC(".maps");
    """
    text = INNER.splitlines()[1] + other + OUTER + " = { .values = { [0] = (void *)&one } };"
    with pytest.raises(InputError, match=r"map 'one' has value_size = 4; those in 'outer' have 8"):
        load(text + PROGRAM)


def test_only_arrays_in_an_array_need_the_same_number_of_entries(load):
    other = """
    struct { __uint(type, TYPE); __uint(max_entries, 9); __type(key, __u32); __type(value, __u64); }
        one SEC(".maps");
    """
    text = INNER.splitlines()[1] + other + OUTER + " = { .values = { [0] = (void *)&one } };"
    with pytest.raises(InputError, match="map 'one' has max_entries = 9; those in 'outer' have 4"):
        load((text + PROGRAM).replace("TYPE", "2"))
    text = text.replace("TYPE", "1").replace("__uint(type, 2)", "__uint(type, 1)")
    assert load(text + PROGRAM).maps[1].entries == {0: 0}


def test_addresses_of_something_else(load):
    variable = "int variable = 3;" + INNER + OUTER + " = { .values = { [0] = (void *)&variable } };"
    with pytest.raises(InputError, match=r"'\.data' holds variables and no maps"):
        load(variable + PROGRAM)
    elsewhere = "extern struct inner far;" + OUTER + " = { .values = { [0] = &far } };"
    with pytest.raises(InputError, match="'far' is not defined in this file"):
        load(INNER + elsewhere + PROGRAM)
    inside = INNER + OUTER + " = { .values = { [0] = (void *)&one + 8 } };"
    with pytest.raises(InputError, match=r"no map begins at offset 0x8 of section"):
        load(inside + PROGRAM)


PROGRAMS = """
struct { __uint(type, 3); __uint(max_entries, 2); __array(values, int(void *)); } made SEC(".maps")
    = { .values = { [1] = (void *)&TARGET } };
"""


def test_programs_of_tables_must_be_some(load):
    text = "__noinline int shared(void *c) { return 1; }" + PROGRAMS.replace("TARGET", "shared")
    with pytest.raises(InputError, match=r"'shared' is no program; there are program"):
        load(text + PROGRAM)


def test_too_many_maps(load):
    one = "struct inner m{} SEC('.maps');".replace("'", '"')
    text = INNER + "\n".join(one.format(number) for number in range(256))
    with pytest.raises(InputError, match="maps: there are 257; addresses can name 256"):
        load(text + PROGRAM)
