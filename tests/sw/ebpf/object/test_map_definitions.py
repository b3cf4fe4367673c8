"""Definitions of maps: what the compiler makes of them, and what is none."""

import pytest

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.object.loader import load_object

PROGRAM = 'SEC("event") int program(void *context) { return 0; }'


def spec(name, kind, key, value, entries, flags=0):
    return MapSpec(
        name=name, kind=kind, key_size=key, value_size=value, max_entries=entries, flags=flags
    )


def test_each_type_of_map(sample):
    made = {found.name: found.spec for found in load_object(sample("maps")).maps}
    expected = (
        spec("first", MapType.ARRAY, 4, 8, 4),
        spec("second", MapType.ARRAY, 4, 8, 4),
        spec("tables", MapType.ARRAY_OF_MAPS, 4, 4, 3),
        spec("programs", MapType.PROG_ARRAY, 4, 4, 8),
        spec("hash", MapType.HASH, 4, 8, 16, MapFlag.NO_PREALLOC),
        spec("queue", MapType.QUEUE, 0, 4, 4),
        spec("stack", MapType.STACK, 0, 4, 4),
        spec("trie", MapType.LPM_TRIE, 8, 4, 8, MapFlag.NO_PREALLOC),
        spec("ring", MapType.RINGBUF, 0, 0, 4096),
        spec("own", MapType.PERCPU_ARRAY, 4, 8, 2),
        spec("recent", MapType.LRU_HASH, 8, 8, 4),
    )
    assert made == {found.name: found for found in expected}
    assert {found.kind for found in expected} == set(MapType)


def test_what_tables_begin_with(sample):
    loaded = load_object(sample("maps"))
    names = [made.name for made in loaded.maps]
    tables = loaded.maps[names.index("tables")]
    assert tables.entries == {0: names.index("first"), 2: names.index("second")}
    assert tables.inner == spec("tables.inner", MapType.ARRAY, 4, 8, 4)
    assert loaded.maps[names.index("programs")].entries == {5: "other"}


def test_structures_of_five_words(sample):
    loaded = load_object(sample("variables"))
    assert [made.spec for made in loaded.maps[:2]] == [
        spec("old", MapType.HASH, 4, 8, 32),
        spec("older", MapType.ARRAY, 4, 4, 2),
    ]
    assert {made.section for made in loaded.maps[:2]} == {"maps"}


def definition(members, name="made"):
    return f'struct {{ {members} }} {name} SEC(".maps");\n{PROGRAM}'


def test_types_with_other_names_and_sizes(load):
    made = load(
        "typedef const __u16 short_key; typedef struct { __u8 bytes[3][5]; } odd;\n"
        + definition(
            "__uint(type, 1); __type(key, short_key); __type(value, odd); __uint(max_entries, 3);"
            "__uint(key_size, 2); __uint(pinning, 1); __uint(numa_node, 0);"
        )
    )
    assert made.maps[0].spec == spec("made", MapType.HASH, 2, 15, 3)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("__uint(max_entries, 1);", "it has no type; expected __uint(type, BPF_MAP_TYPE_...)"),
        (
            "__uint(type, 30);",
            "map 'made' is of type 30 (BLOOM_FILTER), which is not supported; HASH, ARRAY, "
            "PROG_ARRAY, PERCPU_ARRAY, LRU_HASH, LPM_TRIE, ARRAY_OF_MAPS, QUEUE, STACK, "
            "RINGBUF are",
        ),
        ("__uint(type, 5);", "is of type 5 (PERCPU_HASH), which is not supported"),
        ("__uint(type, 4711);", "is of type 4711 (unknown to Linux too)"),
        ("__uint(type, 1); __uint(color, 3);", "member 'color' is unknown; known are type, key"),
        ("__uint(type, 1); __uint(pinning, 7);", "pinning = 7 has no meaning here; it must be 0"),
        ("__uint(type, 1); __uint(map_extra, 1);", "map_extra = 1 has no meaning here"),
        ("__u32 type;", "member 'type' is __u32; expected a pointer, as __uint and __type write"),
        ("__u32 *type;", "member 'type' is __u32 *; expected a pointer to an array"),
        ("__uint(type, 1); void *key;", "void has no size"),
        (
            "__uint(type, 1); __type(key, __u32); __uint(key_size, 8);",
            "key_size is 4 and, by 'key_size', 8",
        ),
        (
            "__uint(type, 1); struct none *value;",
            "struct none has no size",
        ),
        ("__uint(type, 12);", "it does not say what it holds; expected __array(values, ...)"),
        ("__uint(type, 12); __u32 values;", "`values` is __u32; expected an array of pointers"),
        (
            "__uint(type, 12); __array(values, __u32);",
            "its type is __u32; expected a structure",
        ),
        (
            "__uint(type, 12); __array(values, struct { __uint(type, 12); });",
            "maps in an array of maps cannot hold maps or programs themselves",
        ),
        (
            "__uint(type, 1); __array(values, struct { __uint(type, 2); });",
            "a map of type HASH begins empty and has no `values`",
        ),
    ],
)
def test_what_is_no_definition(load, members, message):
    with pytest.raises(InputError) as refused:
        load(definition(members))
    assert "'.maps', offset 0x0, map 'made': " in str(refused.value)
    assert message in str(refused.value)


def test_a_definition_is_a_structure(load):
    with pytest.raises(InputError, match="map 'made': its type is __u32; expected a structure"):
        load(f'__u32 made SEC(".maps") = 7;\n{PROGRAM}')


def test_without_types_there_are_no_maps(build, patch_section):
    data = build(definition("__uint(type, 1);"))
    data = patch_section(data, ".BTF", "name", 0)
    with pytest.raises(InputError, match=r"has no types \(BTF\) for its maps; build it with -g"):
        load_object(data)


def test_a_place_beyond_the_section(build, patch, patch_section):
    data = build(definition("__uint(type, 1);"))
    with pytest.raises(InputError, match="map 'made' has 0x8 bytes at 0x0; it must lie between"):
        load_object(patch_section(data, ".maps", "size", 4))


OLD = "struct definition { __u32 type, key, value, entries, flags; "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            OLD + '__u32 id; }; struct definition SEC("maps") old = { 1, 4, 4, 1, 0, 9 };',
            "its definition goes on behind type, key_size, value_size, max_entries, flags with "
            "09 00 00 00, which has no meaning here; it must be zero",
        ),
        (
            'struct { __u32 type, key; } old SEC("maps") = { 1, 4 };',
            "8 bytes; a definition has 20 or more: type, key_size",
        ),
        (
            OLD + '}; struct definition SEC("maps") old = { 14, 4, 4, 1, 0 };',
            "map 'old' is of type 14 (DEVMAP), which is not supported",
        ),
    ],
)
def test_structures_that_are_no_definitions(load, text, message):
    with pytest.raises(InputError) as refused:
        load(f"{text}\n{PROGRAM}")
    assert "'maps', offset 0x0, map 'old': " in str(refused.value)
    assert message in str(refused.value)


def test_longer_structures_of_zeros_are_fine(load):
    made = load(
        OLD + '__u32 id[3]; }; struct definition SEC("maps") old = { 1, 4, 4, 1, 0 };\n' + PROGRAM
    )
    assert made.maps[0].spec == spec("old", MapType.HASH, 4, 4, 1)
