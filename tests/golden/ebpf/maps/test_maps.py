"""Each map's flags, error numbers and order, as Linux has them."""

import random

import pytest

from fanweave.golden.ebpf.maps import MapSpec, create_map, hash_key, map_type
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import Errno, MapType, UpdateFlag

ANY, NOEXIST, EXIST = UpdateFlag.ANY, UpdateFlag.NOEXIST, UpdateFlag.EXIST


def make(kind, *, key=4, value=8, entries=4, engines=1, flags=0):
    spec = MapSpec(
        name="m",
        kind=kind,
        key_size=key,
        value_size=value,
        max_entries=entries,
        flags=flags,
    )
    return create_map(spec, engines=engines)


def number(value, size=4):
    return value.to_bytes(size, "little")


def read(made, key, engine=0):
    place = made.lookup(key, engine)
    return None if place is None else made.value_at(place)


def test_an_array_has_all_its_values_from_the_beginning():
    array = make(MapType.ARRAY, value=5)
    assert read(array, number(3)) == bytes(5)
    assert array.lookup(number(4)) is None
    assert array.update(number(1), b"abcde") == 0
    assert array.update(number(1), b"fghij", NOEXIST) == -Errno.EXIST
    assert array.update(number(1), b"fghij", EXIST) == 0
    assert array.update(number(4), b"fghij") == -Errno.TOO_BIG
    assert array.update(number(4), b"fghij", NOEXIST) == -Errno.TOO_BIG
    assert array.update(number(1), b"fghij", 3) == -Errno.INVALID
    # A lock flag is noticed last, as no value has a lock.
    assert array.update(number(4), b"fghij", UpdateFlag.LOCK) == -Errno.TOO_BIG
    assert array.update(number(1), b"fghij", UpdateFlag.LOCK | NOEXIST) == -Errno.EXIST
    assert array.update(number(1), b"fghij", UpdateFlag.LOCK) == -Errno.INVALID
    assert array.update(number(1), b"fghij", 8) == -Errno.INVALID
    assert array.update(number(1), b"fghij", 1 << 63) == -Errno.INVALID
    assert array.delete(number(1)) == -Errno.INVALID
    assert read(array, number(1)) == b"fghij"
    assert [value for _, value in array.items()] == [bytes(5), b"fghij", bytes(5), bytes(5)]


def test_values_cannot_be_left_into_their_neighbours():
    array = make(MapType.ARRAY, value=5, entries=2)
    place = array.lookup(number(0))
    assert [array.reach(place + n) for n in (0, 4, 5, 7, 8)] == [5, 1, 0, 0, 5]
    assert array.reach(16) == 0


def test_engines_have_values_of_their_own():
    array = make(MapType.PERCPU_ARRAY, engines=3)
    for engine in range(3):
        assert array.update(number(2), bytes([engine] * 8), ANY, engine) == 0
    assert [read(array, number(2), engine)[0] for engine in range(3)] == [0, 1, 2]
    assert dict(array.items())[number(2)] == b"".join(bytes([e] * 8) for e in range(3))


def test_a_hash_map_obeys_flags_and_fills_up():
    table = make(MapType.HASH, key=3, entries=2)
    assert table.update(b"abc", bytes(8), EXIST) == -Errno.NOENT
    assert table.update(b"abc", b"1" * 8, NOEXIST) == 0
    assert table.update(b"abc", b"2" * 8, NOEXIST) == -Errno.EXIST
    assert table.update(b"abc", b"3" * 8, EXIST) == 0
    assert table.update(b"def", b"4" * 8) == 0
    assert table.update(b"ghi", b"5" * 8) == -Errno.TOO_BIG
    assert table.update(b"abc", b"6" * 8) == 0
    assert table.update(b"ghi", b"5" * 8, 4) == -Errno.INVALID
    assert table.delete(b"xyz") == -Errno.NOENT
    assert table.delete(b"def") == 0
    assert read(table, b"def") is None
    assert table.update(b"ghi", b"5" * 8) == 0
    assert dict(table.items()) == {b"abc": b"6" * 8, b"ghi": b"5" * 8}


@pytest.mark.parametrize("kind", [MapType.HASH, MapType.LRU_HASH])
def test_random_operations_are_those_of_a_dictionary(kind):
    """With an order of use beside it for the map that evicts."""
    generator = random.Random(int(kind))
    table = make(kind, entries=8)
    model: dict[bytes, bytes] = {}  # in the order of use
    for _ in range(5_000):
        key = number(generator.randrange(12))
        match generator.randrange(4):
            case 0:
                expected = model.get(key)
                if expected is not None:
                    model[key] = model.pop(key)
                assert read(table, key) == expected
            case 1:
                assert table.delete(key) == (0 if model.pop(key, None) else -Errno.NOENT)
            case _:
                value = generator.randbytes(8)
                flags = generator.choice([ANY, ANY, NOEXIST, EXIST])
                result = table.update(key, value, flags)
                if key in model and flags == NOEXIST:
                    assert result == -Errno.EXIST
                elif key not in model and flags == EXIST:
                    assert result == -Errno.NOENT
                elif key not in model and len(model) == 8 and kind is MapType.HASH:
                    assert result == -Errno.TOO_BIG
                else:
                    assert result == 0
                    if key not in model and len(model) == 8:
                        del model[next(iter(model))]
                    model.pop(key, None)
                    model[key] = value
        assert dict(table.items()) == model


def test_a_host_that_reads_does_not_change_the_order_of_use():
    table = make(MapType.LRU_HASH, entries=2)
    for key in (1, 2):
        assert table.update(number(key), number(key, 8)) == 0
    assert table.get(number(1)) == number(1, 8)
    assert table.get(number(3)) is None
    assert table.update(number(3), number(3, 8)) == 0
    assert table.get(number(1)) is None
    table.lookup(number(2))
    assert table.update(number(4), number(4, 8)) == 0
    assert set(dict(table.items())) == {number(2), number(4)}


def test_an_update_that_fails_evicts_nothing():
    table = make(MapType.LRU_HASH, entries=1)
    assert table.update(number(1), bytes(8)) == 0
    assert table.update(number(1), bytes(8), NOEXIST) == -Errno.EXIST
    assert table.update(number(2), bytes(8), EXIST) == -Errno.NOENT
    assert table.update(number(2), bytes(8), 3) == -Errno.INVALID
    assert table.get(number(1)) == bytes(8)


def test_slots_are_given_out_from_the_first_and_the_last_free_one_goes_first():
    table = make(MapType.HASH)
    for key in range(3):
        table.update(number(key), bytes(8))
    assert [table.find(number(key)) for key in range(3)] == [0, 8, 16]
    table.delete(number(0))
    table.delete(number(1))
    table.update(number(7), bytes(8))
    table.update(number(8), bytes(8))
    table.update(number(9), bytes(8))
    assert [table.find(number(key)) for key in (7, 8, 9)] == [8, 0, 24]


@pytest.mark.parametrize("kind", [MapType.HASH, MapType.ARRAY])
@pytest.mark.parametrize(("size", "pitch"), [(1, 8), (8, 8), (9, 16), (17, 24), (72, 72)])
def test_values_lie_apart_by_their_size_rounded_up_to_8(kind, size, pitch):
    made = make(kind, value=size, entries=3)
    for key in range(3):
        assert made.update(number(key), bytes([key + 1] * size)) == 0
    assert [made.find(number(key)) for key in range(3)] == [0, pitch, 2 * pitch]
    assert len(made.memory) == 3 * pitch
    assert [made.get(number(key)) for key in range(3)] == [bytes([k] * size) for k in (1, 2, 3)]


def test_the_hash_is_the_one_that_is_written_down():
    """Computed by hand for a word, two words, and a word that is filled up."""
    assert hash_key(b"") == 0x811C9DC5
    state = (0x811C9DC5 ^ 4 ^ 0x04030201) * 0x9E3779B1 & 0xFFFFFFFF
    state ^= state >> 15
    assert hash_key(bytes([1, 2, 3, 4])) == state
    start = (0x811C9DC5 ^ 5 ^ 0x04030201) * 0x9E3779B1 & 0xFFFFFFFF
    start ^= start >> 15
    state = (start ^ 5) * 0x9E3779B1 & 0xFFFFFFFF
    assert hash_key(bytes([1, 2, 3, 4, 5])) == state ^ state >> 15


def test_the_hash_spreads_neighbours():
    buckets = [0] * 64
    for value in range(6_400):
        buckets[hash_key(number(value, 8)) % 64] += 1
    assert max(buckets) < 160
    assert min(buckets) > 50


def prefix(length, *data):
    return number(length) + bytes(data)


def test_the_longest_prefix_wins():
    trie = make(MapType.LPM_TRIE, key=8, value=1, entries=4)
    assert trie.update(prefix(8, 10, 0, 0, 0), b"a") == 0
    assert trie.update(prefix(16, 10, 1, 0, 0), b"b") == 0
    assert trie.update(prefix(32, 10, 1, 2, 3), b"c") == 0
    assert read(trie, prefix(32, 10, 9, 9, 9)) == b"a"
    assert read(trie, prefix(32, 10, 1, 9, 9)) == b"b"
    assert read(trie, prefix(32, 10, 1, 2, 3)) == b"c"
    assert read(trie, prefix(32, 11, 1, 2, 3)) is None
    assert read(trie, prefix(24, 10, 1, 2, 3)) == b"b"
    assert trie.update(prefix(0, 1, 2, 3, 4), b"d") == 0
    assert read(trie, prefix(32, 11, 1, 2, 3)) == b"d"
    assert trie.update(prefix(8, 12, 0, 0, 0), b"e") == -Errno.NO_SPACE
    # Bits behind the length do not count.
    assert trie.update(prefix(16, 10, 1, 77, 77), b"f", EXIST) == 0
    # But a dump has them, as they were written last.
    assert (prefix(16, 10, 1, 77, 77), b"f") in list(trie.items())
    assert trie.delete(prefix(16, 10, 1, 5, 5)) == 0
    assert read(trie, prefix(32, 10, 1, 9, 9)) == b"a"
    assert trie.update(prefix(33, 1, 1, 1, 1), b"g") == -Errno.INVALID
    assert trie.delete(prefix(33, 1, 1, 1, 1)) == -Errno.INVALID
    assert trie.lookup(prefix(33, 1, 1, 1, 1)) is None


@pytest.mark.parametrize(
    ("kind", "order"), [(MapType.QUEUE, [2, 3, 4, 5]), (MapType.STACK, [5, 4, 3, 2])]
)
def test_queues_and_stacks(kind, order):
    made = make(kind, key=0, value=1)
    assert made.peek() == (-Errno.NOENT, b"\0")
    assert made.pop() == (-Errno.NOENT, b"\0")
    for value in range(1, 5):
        assert made.push(bytes([value])) == 0
    assert made.push(b"\5") == -Errno.TOO_BIG
    assert made.push(b"\5", NOEXIST) == -Errno.INVALID
    assert made.push(b"\5", EXIST) == 0  # the oldest one goes
    assert made.peek() == (0, bytes([order[0]]))
    assert [made.pop()[1][0] for _ in range(4)] == order
    assert made.pop()[0] == -Errno.NOENT
    assert made.lookup(b"") is None
    assert made.update(b"", b"\0") == -Errno.INVALID
    assert made.delete(b"") == -Errno.INVALID


def test_a_ring_gives_records_in_order_and_waits_for_open_ones():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    first, second = ring.reserve(8), ring.reserve(3)
    assert ring.query(0) == 32
    ring.memory[second : second + 3] = b"abc"
    assert ring.finish(second, keep=True)
    assert ring.consume() is None  # the first is still open
    ring.memory[first : first + 8] = b"01234567"
    assert ring.finish(first, keep=True)
    assert not ring.finish(first, keep=True)  # only once
    assert ring.consume() == b"01234567"
    assert ring.consume() == b"abc"
    assert ring.consume() is None
    assert [ring.query(what) for what in range(5)] == [0, 64, 32, 32, 0]


def test_a_ring_refuses_what_does_not_fit_and_drops_what_is_discarded():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    # As in Linux the ring is never full to the last byte.
    assert ring.reserve(49) is None
    whole = ring.reserve(48)
    assert ring.reserve(0) is None
    assert ring.finish(whole, keep=False)
    assert ring.consume() is None
    assert ring.query(0) == 0
    assert ring.reserve(48) is not None


def test_a_record_across_the_end_of_the_ring_is_whole():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    for turn in range(20):
        place = ring.reserve(24)
        ring.memory[place : place + 24] = bytes([turn] * 24)
        assert ring.reach(place) == 24
        assert ring.reach(place + 20) == 4
        assert ring.finish(place, keep=True)
        assert ring.reach(place) == 0
        assert ring.consume() == bytes([turn] * 24)


def test_a_ring_in_memory_is_what_linux_keeps():
    """Headers with their flags, data, and what was there before."""
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    place = ring.reserve(5)
    assert ring.memory[:8] == bytes.fromhex("05 00 00 80 00 00 00 00")
    ring.memory[place : place + 5] = b"hello"
    ring.finish(place, keep=True)
    assert ring.memory[:16] == bytes.fromhex("05 00 00 00 00 00 00 00") + b"hello\0\0\0"
    ring.finish(ring.reserve(4), keep=False)
    assert ring.memory[16:24] == bytes.fromhex("04 00 00 40 00 00 00 00")
    assert ring.consume() == b"hello"
    assert ring.consume() is None
    # The next one goes on at the beginning, over the first record's bytes.
    last = ring.reserve(40)
    assert (last, ring.reach(last)) == (40, 40)
    assert ring.memory[last + 24 : last + 40] == bytes(ring.memory[:16])
    assert ring.memory[last + 32 : last + 37] == b"hello"
    ring.memory[last : last + 40] = bytes(range(40))
    ring.finish(last, keep=True)
    assert ring.memory[:16] == bytes(range(24, 40))
    assert list(ring.items()) == [(b"", bytes(range(40)))]
    assert ring.consume() == bytes(range(40))


@pytest.mark.parametrize("kind", [MapType.PROG_ARRAY, MapType.ARRAY_OF_MAPS])
def test_tables_of_programs_and_maps(kind):
    table = make(kind, value=4)
    assert table.update(number(1), number(9)) == 0
    assert table.update(number(4), number(9)) == -Errno.TOO_BIG
    assert table.update(number(1), number(9), EXIST) == -Errno.INVALID
    assert (table.entry(1), table.entry(2)) == (9, None)
    assert table.delete(number(2)) == -Errno.NOENT
    assert table.delete(number(4)) == -Errno.TOO_BIG
    assert table.delete(number(1)) == 0
    assert table.entry(1) is None
    assert table.lookup(number(1)) is None


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        (MapType.ARRAY, (8, 8, 4), "map 'm' of type ARRAY has key_size = 8; it must be 4"),
        (MapType.ARRAY, (4, 0, 4), "map 'm' of type ARRAY has value_size = 0; it must be 1 or mo"),
        (MapType.HASH, (0, 8, 4), "map 'm' of type HASH has key_size = 0; it must be 1 or more"),
        (MapType.HASH, (4, 8, 0), "map 'm' has max_entries = 0; it needs 1 or more"),
        (MapType.HASH, (4, 8, 1 << 20), "map 'm' needs 8388608 bytes for its values; at most"),
        (MapType.LPM_TRIE, (4, 8, 4), "LPM_TRIE has key_size = 4; it must be from 5 to 260"),
        (MapType.QUEUE, (4, 8, 4), "map 'm' of type QUEUE has key_size = 4; it must be 0"),
        (MapType.RINGBUF, (0, 0, 100), "max_entries = 100; it must be a power of two of at least"),
        (MapType.PROG_ARRAY, (4, 8, 4), "map 'm' of type PROG_ARRAY has value_size = 8; it must"),
    ],
)
def test_a_definition_that_the_type_does_not_allow_is_refused(kind, sizes, message):
    key, value, entries = sizes
    with pytest.raises(InputError) as refused:
        make(kind, key=key, value=value, entries=entries)
    assert message in str(refused.value)


def test_a_type_that_is_not_there_is_refused_by_its_name():
    assert map_type(27, name="events") is MapType.RINGBUF
    with pytest.raises(InputError) as refused:
        map_type(30, name="seen")
    assert "map 'seen' is of type 30 (BLOOM_FILTER), which is not supported; HASH, ARRAY," in str(
        refused.value
    )
    with pytest.raises(InputError, match=r"type 99 \(unknown to Linux too\)"):
        map_type(99, name="seen")


def test_a_flag_without_a_meaning_is_refused():
    with pytest.raises(InputError) as refused:
        make(MapType.HASH, flags=0x201)
    assert str(refused.value) == "map 'm' has flags = 0x201; of these 0x200 are not supported"


def test_prefixes_are_those_of_a_search_through_all_of_them():
    generator = random.Random(11)
    trie = make(MapType.LPM_TRIE, key=6, value=1, entries=12)
    model: dict[tuple[int, int], bytes] = {}  # (length, its leading bits) to value
    for _ in range(3_000):
        # Few different bits, so that prefixes lie in one another.
        data = generator.choice([0x0000, 0x8000, 0x8080, 0x80FF, 0xFFFF]) ^ generator.randrange(4)
        length = generator.randrange(17)
        key, bits = prefix(length, *data.to_bytes(2, "big")), data >> 16 - length
        match generator.randrange(3):
            case 0:
                fitting = [
                    (n, value)
                    for (n, leading), value in model.items()
                    if n <= length and data >> 16 - n == leading
                ]
                assert read(trie, key) == (max(fitting)[1] if fitting else None)
            case 1:
                there = model.pop((length, bits), None)
                assert trie.delete(key) == (0 if there else -Errno.NOENT)
            case _:
                value = generator.randbytes(1)
                room = (length, bits) in model or len(model) < 12
                assert trie.update(key, value) == (0 if room else -Errno.NO_SPACE)
                if room:
                    model[length, bits] = value
    assert len(model) > 6


def test_random_records_come_out_as_they_went_in():
    generator = random.Random(12)
    ring = make(MapType.RINGBUF, key=0, value=0, entries=128)
    expected: list[list] = []  # data, and whether it is open, kept or dropped
    places: dict[int, list] = {}
    consumed = 0
    for _ in range(5_000):
        match generator.randrange(3):
            case 0:
                length = generator.randrange(60)
                taken = sum(8 + -(-len(record[0]) // 8) * 8 for record in expected)
                place = ring.reserve(length)
                assert (place is None) == (taken + 8 + -(-length // 8) * 8 > 127)
                if place is not None:
                    record = [generator.randbytes(length), "open"]
                    ring.memory[place : place + length] = record[0]
                    expected.append(record)
                    places[place] = record
            case 1 if places:
                place = generator.choice(list(places))
                keep = generator.random() < 0.7
                assert ring.finish(place, keep=keep)
                places.pop(place)[1] = "kept" if keep else "dropped"
            case _:
                while expected and expected[0][1] == "dropped":
                    expected.pop(0)
                if expected and expected[0][1] == "kept":
                    assert ring.consume() == expected.pop(0)[0]
                    consumed += 1
                else:
                    assert ring.consume() is None
        assert len(ring.memory) == 2 * 128
    assert consumed > 500
