"""Cases of arrays, hash maps and longest prefixes."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import alu, copy, jump, leave, load, map_of, mov, store, store_imm
from fanweave.golden.ebpf.conformance.case import M64, Case, Entry
from fanweave.golden.ebpf.conformance.parts import call, entry, point_to_key, spec, word
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_maps import Errno, MapType, UpdateFlag

__all__ = ["cases"]

_ADD = AluOperation.ADD
_ANY, _NOEXIST, _EXIST = UpdateFlag.ANY, UpdateFlag.NOEXIST, UpdateFlag.EXIST


def _update(key: int, value: int, flags: int = 0) -> tuple[Instruction, ...]:
    return (
        *(store_imm(10, value, -16), copy(3, 10), alu(_ADD, 3, imm=-16), mov(4, flags)),
        *(*point_to_key(key), call("map_update_elem")),
    )


def _delete(key: int) -> tuple[Instruction, ...]:
    return (*point_to_key(key), call("map_delete_elem"))


def _lookup(key: int) -> tuple[Instruction, ...]:
    """r0 becomes the value, or -1."""
    return (
        *(*point_to_key(key), call("map_lookup_elem")),
        *(jump(JumpOperation.JNE, 0, 2, imm=0), mov(0, -1), leave()),
        load(0, 0),
    )


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _arrays()
    yield from _tables(MapType.HASH)
    yield from _tables(MapType.LRU_HASH)
    yield from _full()
    yield from _prefixes()


def _arrays() -> Iterator[Case]:
    before = (entry(1, 77),)
    rows: tuple[tuple[str, tuple[Instruction, ...], int, tuple[Entry, ...]], ...] = (
        ("lookup", _lookup(1), 77, before),
        ("lookup of zeros", _lookup(0), 0, before),
        ("lookup behind the end", _lookup(2), -1, before),
        ("update", _update(1, 5), 0, (entry(1, 5),)),
        ("EXIST", _update(1, 5, _EXIST), 0, (entry(1, 5),)),
        ("NOEXIST", _update(1, 5, _NOEXIST), -Errno.EXIST, before),
        ("flags 3", _update(1, 5, 3), -Errno.INVALID, before),
        ("a lock flag", _update(1, 5, UpdateFlag.LOCK), -Errno.INVALID, before),
        ("update behind the end", _update(2, 5), -Errno.TOO_BIG, before),
        ("NOEXIST behind the end", _update(2, 5, _NOEXIST), -Errno.TOO_BIG, before),
        ("delete", _delete(1), -Errno.INVALID, before),
    )
    for kind in (MapType.ARRAY, MapType.PERCPU_ARRAY):
        for rule, program, result, after in rows:
            yield Case(
                name=f"{kind.name}: {rule}",
                program=(*program, leave()),
                r0=result & M64,
                maps=(spec(kind),),
                before=before,
                after=after,
            )
    yield Case(
        name="ARRAY: a value is counted up through its address",
        program=(
            *(*point_to_key(1), call("map_lookup_elem"), jump(JumpOperation.JEQ, 0, 3, imm=0)),
            *(load(3, 0), alu(_ADD, 3, imm=1), store(0, 3), mov(0, 0), leave()),
        ),
        maps=(spec(MapType.ARRAY),),
        before=(entry(1, 41),),
        after=(entry(1, 42),),
    )


def _tables(kind: MapType) -> Iterator[Case]:
    name = kind.name
    maps = (spec(kind),)
    before = (entry(1, 11),)
    rows: tuple[tuple[str, tuple[Instruction, ...], int, tuple[Entry, ...]], ...] = (
        ("lookup", _lookup(1), 11, before),
        ("lookup of nothing", _lookup(2), -1, before),
        ("update of what is there", _update(1, 5), 0, (entry(1, 5),)),
        ("update of what is not there", _update(2, 5), 0, (*before, entry(2, 5))),
        ("EXIST", _update(1, 5, _EXIST), 0, (entry(1, 5),)),
        ("EXIST of nothing", _update(2, 5, _EXIST), -Errno.NOENT, before),
        ("NOEXIST", _update(2, 5, _NOEXIST), 0, (*before, entry(2, 5))),
        ("NOEXIST of what is there", _update(1, 5, _NOEXIST), -Errno.EXIST, before),
        ("flags 3", _update(1, 5, 3), -Errno.INVALID, before),
        ("a lock flag", _update(1, 5, UpdateFlag.LOCK), -Errno.INVALID, before),
        ("delete", _delete(1), 0, ()),
        ("delete of nothing", _delete(2), -Errno.NOENT, before),
    )
    for rule, program, result, after in rows:
        yield Case(
            name=f"{name}: {rule}",
            program=(*program, leave()),
            r0=result & M64,
            maps=maps,
            before=before,
            after=after,
        )


def _full() -> Iterator[Case]:
    two = (entry(1, 11), entry(2, 22))
    yield Case(
        name="HASH: no room",
        program=(*_update(3, 33), leave()),
        r0=-Errno.TOO_BIG & M64,
        maps=(spec(MapType.HASH),),
        before=two,
        after=two,
    )
    yield Case(
        name="HASH: room after a delete",
        program=(*_delete(1), *_update(3, 33), leave()),
        maps=(spec(MapType.HASH),),
        before=two,
        after=(entry(2, 22), entry(3, 33)),
    )
    yield Case(
        name="HASH: a full map takes a new value for an old key",
        program=(*_update(2, 5), leave()),
        maps=(spec(MapType.HASH),),
        before=two,
        after=(entry(1, 11), entry(2, 5)),
    )
    lru = (spec(MapType.LRU_HASH),)
    for name, first, after in (
        ("the oldest update goes", (), (entry(2, 22), entry(3, 33))),
        ("a lookup makes young", _lookup(1), (entry(1, 11), entry(3, 33))),
        ("an update makes young", _update(1, 12), (entry(1, 12), entry(3, 33))),
        ("a failed update does not", _update(1, 12, _NOEXIST), (entry(2, 22), entry(3, 33))),
        ("an EXIST of nothing does not", _update(9, 1, _EXIST), (entry(2, 22), entry(3, 33))),
    ):
        yield Case(
            name=f"LRU_HASH: {name}",
            program=(*first, *_update(3, 33), leave()),
            maps=lru,
            before=two,
            after=after,
        )


def _prefixes() -> Iterator[Case]:
    tries = (spec(MapType.LPM_TRIE, key=8, entries=3),)

    def prefix(length: int, *address: int, value: int) -> Entry:
        return Entry(map=0, key=word(length) + bytes(address), value=word(value, 8))

    before = (
        prefix(8, 10, 0, 0, 0, value=1),
        prefix(16, 10, 1, 0, 0, value=2),
        prefix(24, 10, 1, 2, 0, value=3),
    )
    for rule, length, address, found in (
        ("the longest prefix wins", 32, (10, 1, 2, 3), 3),
        ("a shorter one", 32, (10, 1, 3, 3), 2),
        ("the shortest one", 32, (10, 2, 2, 3), 1),
        ("none", 32, (11, 1, 2, 3), -1),
        ("none is longer than what is looked for", 16, (10, 1, 2, 3), 2),
        ("a length that is too large", 33, (10, 1, 2, 3), -1),
    ):
        key = (
            *(store_imm(10, length, -8, Size.W),),
            store_imm(10, int.from_bytes(bytes(address), "little"), -4, Size.W),
        )
        yield Case(
            name=f"LPM_TRIE: {rule}",
            program=(
                *(*key, map_of(1, 0), copy(2, 10), alu(_ADD, 2, imm=-8)),
                *(call("map_lookup_elem"), jump(JumpOperation.JNE, 0, 2, imm=0)),
                *(mov(0, -1), leave(), load(0, 0), leave()),
            ),
            r0=found & M64,
            maps=tries,
            before=before,
            after=before,
        )
    for rule, length, flags, result in (
        ("no room", 4, _ANY, -Errno.NO_SPACE),
        ("EXIST of nothing is noticed before there is no room", 4, _EXIST, -Errno.NOENT),
        ("NOEXIST of what is there", 8, _NOEXIST, -Errno.EXIST),
        ("an update with a length that is too large", 33, _ANY, -Errno.INVALID),
        ("an update with flags 3", 8, 3, -Errno.INVALID),
    ):
        yield Case(
            name=f"LPM_TRIE: {rule}",
            program=(
                *(store_imm(10, length, -8, Size.W), store_imm(10, 10, -4, Size.W)),
                *(map_of(1, 0), copy(2, 10), alu(_ADD, 2, imm=-8), copy(3, 2), mov(4, flags)),
                *(call("map_update_elem"), leave()),
            ),
            r0=result & M64,
            maps=tries,
            before=before,
            after=before,
        )
