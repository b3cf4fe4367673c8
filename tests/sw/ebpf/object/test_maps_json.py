"""Maps as JSON: what is written can be read again, and what is wrong is named."""

import json

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.contents import machine_of, map_contents
from fanweave.sw.ebpf.object.maps_json import maps_from_json, maps_to_json, read_definitions
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap


def spec(name, kind, key, value, entries=4):
    return MapSpec(name=name, kind=kind, key_size=key, value_size=value, max_entries=entries)


SPECS = (
    spec("hash", MapType.HASH, 2, 3),
    spec("array", MapType.ARRAY, 4, 1, 2),
    spec("queue", MapType.QUEUE, 0, 2),
    spec("tables", MapType.ARRAY_OF_MAPS, 4, 4),
    spec("programs", MapType.PROG_ARRAY, 4, 4),
    spec("own", MapType.PERCPU_ARRAY, 4, 8, 1),
    spec("ring", MapType.RINGBUF, 0, 0, 64),
)
CODE = Program.of([mov(0, 0), leave()], name="main")
FILE = ObjectFile.of_code(CODE, tuple(ObjectMap(spec=each, section="") for each in SPECS))
CONTENTS = {
    0: [(b"ab", b"\1\2\3"), (b"cd", b"\0\0\xff")],
    1: [(bytes(4), b"\7"), (b"\1\0\0\0", b"\0")],
    2: [(b"", b"\1\2"), (b"", b"\3\4")],
    3: [(b"\2\0\0\0", b"\1\0\0\0")],
    4: [(b"\1\0\0\0", bytes(4))],
    5: [(bytes(4), bytes(range(8)))],
}


def test_what_is_written_is_read_again():
    text = maps_to_json(FILE, {**CONTENTS, 6: []})
    assert maps_from_json(text, FILE, "maps.json") == {**CONTENTS, 6: []}
    document = json.loads(text)
    assert list(document) == [each.name for each in SPECS]
    assert document["hash"] == {
        "type": "HASH",
        "key_size": 2,
        "value_size": 3,
        "max_entries": 4,
        "flags": 0,
        "entries": [{"key": "6162", "value": "010203"}, {"key": "6364", "value": "0000ff"}],
    }
    assert document["queue"]["entries"] == [{"value": "0102"}, {"value": "0304"}]
    assert document["tables"]["entries"] == [{"key": "02000000", "map": "array"}]
    assert document["programs"]["entries"] == [{"key": "01000000", "program": "main"}]
    assert text.count("\n") > len(SPECS) + 6


def test_records_of_rings_are_shown():
    document = json.loads(maps_to_json(FILE, {6: [(b"", b"\1\2")]}))
    assert document["ring"]["entries"] == [{"value": "0102"}]


def test_a_machine_gives_back_what_was_put_into_it():
    machine = machine_of(FILE, CONTENTS)
    found = map_contents(machine.maps)
    assert {number: sorted(found[number]) for number in CONTENTS} == {
        number: sorted(entries) for number, entries in CONTENTS.items()
    }


def test_values_of_several_engines():
    text = json.dumps({"own": {"entries": [{"key": "00000000", "value": "00" * 8 + "01" * 8}]}})
    contents = maps_from_json(text, FILE, "m")
    machine = machine_of(FILE, contents, engines=2)
    assert list(machine.maps[5].items()) == [(bytes(4), bytes(8) + b"\1" * 8)]
    one = maps_from_json(text.replace("0" * 16, ""), FILE, "m")
    machine = machine_of(FILE, one, engines=3)
    assert list(machine.maps[5].items()) == [(bytes(4), b"\1" * 24)]


def test_values_of_more_engines_than_there_are():
    text = json.dumps({"own": {"entries": [{"key": "00000000", "value": "00" * 24}]}})
    with pytest.raises(InputError, match="map 'own' has values of 3 engines; there are 2"):
        machine_of(FILE, maps_from_json(text, FILE, "m"), engines=2)


def entry(name, **fields):
    return {name: {"entries": [fields]}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[1,", "m is no JSON: "),
        ("[1]", 'm: expected {"map": {"entries": [...]}}'),
        ("[" * 100_000, "m is no JSON: "),
        ('{"hash": [1]}', "m, map 'hash': expected {\"entries\": [...]}"),
        ('{"hash": {"entries": {}}}', "m, map 'hash': expected {\"entries\": [...]}"),
        ('{"hash": {}, "hash": {}}', "m: 'hash' is there twice; the first one would be lost"),
        ({"hash": {"entry": []}}, "m, map 'hash': 'entry' is unknown; known are type, key_size"),
        ({"none": {}}, "m: main has no map 'none'; it has hash, array, queue"),
        ({"hash": {"type": "ARRAY"}}, "m, map 'hash': type ARRAY; it is HASH"),
        ({"hash": {"type": "NONE"}}, "m, map 'hash': type 'NONE'; choose one of HASH, ARRAY"),
        ({"hash": {"key_size": 4}}, "m, map 'hash': key_size = 4; it is 2"),
        (entry("hash", key="00", value="000000"), "entry 0: key has 1 bytes; it must have 2"),
        (entry("hash", key="000000", value="00"), "entry 0: key has 3 bytes; it must have 2"),
        (entry("hash", key="0000", value="00"), "entry 0: value has 1 bytes; it must have 3"),
        (entry("hash", key="zz", value="00"), 'entry 0: key "zz" is not hexadecimal; expected a s'),
        (
            entry("hash", key=1000, value="00"),
            "key 1000 is not hexadecimal; expected a string of 4",
        ),
        (entry("hash", value="000000"), 'entry 0: {"value": "000000"}; expected key, value'),
        ({"hash": {"entries": [3]}}, "m, map 'hash', entry 0: 3; expected key, value"),
        (entry("queue", key="", value="0000"), "expected value"),
        (entry("own", key="00000000", value="00" * 7), "value has 7 bytes; it must have 8"),
        (entry("own", key="00000000", value=""), "value has 0 bytes; it must have 8"),
        (entry("tables", key="00000000", value="00000000"), "expected key, map"),
        (
            entry("tables", key="00000000", map="none"),
            "m, map 'tables', entry 0: main has no map 'none'",
        ),
        (
            entry("programs", key="00000000", program=["main"]),
            "m, map 'programs', entry 0: program = [\"main\"]; expected the name of a program",
        ),
        (
            entry("ring", value="00"),
            "m, map 'ring': only programs write ring buffers; leave its entries out",
        ),
    ],
)
def test_documents_that_do_not_fit_are_refused(document, message):
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(InputError) as refused:
        maps_from_json(text, FILE, "m")
    assert message in str(refused.value)


def test_definitions():
    text = maps_to_json(FILE, CONTENTS)
    assert tuple(made.spec for made in read_definitions(text, "m")) == SPECS


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "m, map 'a': type None; choose one of HASH"),
        ({"type": 3}, "m, map 'a': type 3; choose one of HASH"),
        ({"type": "HASH", "key_size": -1}, "m, map 'a': key_size = -1; expected a number"),
        ({"type": "HASH", "flags": True}, "m, map 'a': flags = True; expected a number"),
        ({"type": "HASH", "value_size": "4"}, "m, map 'a': value_size = '4'; expected a number"),
        ({"type": "HASH", "max_entries": 1 << 32}, "max_entries = 4294967296; expected a number"),
        ({"type": "HASH", "key_size": 1.5}, "key_size = 1.5; expected a number"),
    ],
)
def test_definitions_that_are_none(fields, message):
    with pytest.raises(InputError) as refused:
        read_definitions(json.dumps({"a": fields}), "m")
    assert message in str(refused.value)
