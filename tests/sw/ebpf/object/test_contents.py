"""What maps begin with, and what a host puts into them."""

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.contents import initial_contents, machine_of, map_bytes, map_contents
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap


def file_of(kind, key, value, entries):
    spec = MapSpec(name="m", kind=kind, key_size=key, value_size=value, max_entries=entries)
    code = Program.of([mov(0, 0), leave()], name="main")
    return ObjectFile.of_code(code, (ObjectMap(spec=spec, section=""),))


def test_variables_and_tables_begin_as_the_file_says(sample):
    loaded = load_object(sample("variables"), "variables.o")
    names = {made.name: number for number, made in enumerate(loaded.maps)}
    contents = initial_contents(loaded)
    assert contents[names[".data"]] == [(bytes(4), (5).to_bytes(8, "little"))]
    # What begins with zeros is not mentioned.
    assert names[".bss"] not in contents
    tables = load_object(sample("maps"), "maps.o")
    names = {made.name: number for number, made in enumerate(tables.maps)}
    contents = initial_contents(tables)
    assert contents[names["programs"]] == [(b"\5\0\0\0", bytes(4))]
    assert contents[names["tables"]] == [
        (bytes(4), names["first"].to_bytes(4, "little")),
        (b"\2\0\0\0", names["second"].to_bytes(4, "little")),
    ]


def test_a_host_has_the_last_word(sample):
    loaded = load_object(sample("variables"), "variables.o")
    number = loaded.number_of(".rodata", "map")
    machine = machine_of(loaded, {number: [(bytes(4), b"\1\2\3\4")]})
    assert map_contents(machine.maps)[number] == [(bytes(4), b"\1\2\3\4")]


@pytest.mark.parametrize(
    ("kind", "key", "value", "entries", "given", "message"),
    [
        (MapType.HASH, 1, 1, 1, [(b"a", b"1"), (b"b", b"2")], "with key 62: TOO_BIG: there is no"),
        (MapType.ARRAY, 4, 1, 1, [(b"\1\0\0\0", b"1")], "with key 01000000: TOO_BIG"),
        (MapType.QUEUE, 0, 1, 1, [(b"", b"1"), (b"", b"2")], "the entry with key none: TOO_BIG"),
        (MapType.RINGBUF, 0, 0, 64, [(b"", b"1")], "is a ring buffer, which only programs write"),
        (MapType.HASH, 1, 1, 0, [], "map 'm' has max_entries = 0; it needs 1 or more"),
    ],
)
def test_what_a_map_does_not_take(kind, key, value, entries, given, message):
    with pytest.raises(InputError) as refused:
        machine_of(file_of(kind, key, value, entries), {0: given})
    assert message.replace("there is no", "there is room for no more") in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "key", "value", "entries", "engines", "size"),
    [
        (MapType.ARRAY, 4, 5, 3, 1, 24),
        (MapType.PERCPU_ARRAY, 4, 5, 3, 4, 96),
        (MapType.HASH, 6, 5, 3, 1, 42),
        (MapType.LPM_TRIE, 8, 4, 2, 1, 32),
        (MapType.QUEUE, 0, 9, 2, 1, 32),
        (MapType.RINGBUF, 0, 0, 4096, 1, 4096),
        (MapType.PROG_ARRAY, 4, 4, 8, 1, 32),
    ],
)
def test_bytes_of_keys_and_values(kind, key, value, entries, engines, size):
    assert map_bytes(file_of(kind, key, value, entries), 0, engines=engines) == size
