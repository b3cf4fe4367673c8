"""Random calls of helpers, and a comparison of all maps behind them."""

import random

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.maps import HashMap, MapSpec, QueueMap, RingMap
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import (
    FRAME_BYTES,
    Region,
    map_address,
    map_handle,
)
from fanweave.golden.isa.ebpf_maps import TABLES, MapFlag, MapType
from fanweave.sim.benches.ebpf.helper_bench import CLEAN_UP, HelperBench, HelperCall
from fanweave.sim.benches.ebpf.map_bench import MapCall

__all__ = ["CONFIG", "ENTRIES", "SPECS", "compare_maps", "drain_rings", "play_random"]

_MASK64 = (1 << 64) - 1
#: All types, values that are too long, and maps that programs may only read or only change.
CONFIG = EbpfConfig(
    threads=4,
    context_bytes=64,
    engines=2,
    operand_bytes=64,
    value_bytes=8192,
    entries=64,
    buckets=256,
    prefixes=16,
    prefix_lanes=4,
)


def _spec(name: str, kind: MapType, key: int, value: int, entries: int, flags: int = 0) -> MapSpec:
    return MapSpec(
        name=name, kind=kind, key_size=key, value_size=value, max_entries=entries, flags=flags
    )


SPECS = (
    _spec("array", MapType.ARRAY, 4, 12, 5),
    _spec("per engine", MapType.PERCPU_ARRAY, 4, 8, 3),
    _spec("hash", MapType.HASH, 7, 40, 4),
    _spec("lru", MapType.LRU_HASH, 16, 8, 3),
    _spec("trie", MapType.LPM_TRIE, 8, 9, 4),
    _spec("queue", MapType.QUEUE, 0, 12, 3),
    _spec("stack", MapType.STACK, 0, 64, 2),
    _spec("ring", MapType.RINGBUF, 0, 0, 256),
    _spec("programs", MapType.PROG_ARRAY, 4, 4, 6),
    _spec("maps", MapType.ARRAY_OF_MAPS, 4, 4, 3),
    _spec("constants", MapType.ARRAY, 4, 16, 2, MapFlag.RDONLY_PROG),
    _spec("secrets", MapType.HASH, 4, 16, 2, MapFlag.WRONLY_PROG),
    _spec("pages", MapType.ARRAY, 4, 72, 2),
    _spec("batches", MapType.QUEUE, 0, 65, 2),
    _spec("requests", MapType.QUEUE, 0, 8, 2, MapFlag.RDONLY_PROG),
    _spec("answers", MapType.STACK, 0, 8, 2, MapFlag.WRONLY_PROG),
)
#: Entries of arrays of programs and of maps: by map, number to what it stands for.
ENTRIES = {8: {0: 3, 1: 255, 2: 256, 4: _MASK64 & 0x7F_FFFF}, 9: {0: 2, 2: 0}}

_FLAGS = (0, 0, 0, 0, 1, 2, 3, 4, 8, 1 << 40, _MASK64)
_LENGTHS = (0, 1, 7, 8, 24, 31, 40, 64, 65, 300, 1 << 16, 1 << 22, (1 << 32) + 8, _MASK64)
_STACK_END = 8 * FRAME_BYTES


class _Calls:
    """Chooses calls by what golden has at the moment."""

    def __init__(self, bench: HelperBench, generator: random.Random) -> None:
        self.bench = bench
        self.generator = generator
        self.numbers = [*HELPERS, CLEAN_UP]
        self.weights = [6 if HELPERS[number].arguments else 1 for number in HELPERS] + [1]

    def call(self, thread: int) -> HelperCall:
        """A call of a thread that has none under way."""
        chosen, memory = self.generator, self.bench.memories[thread]
        memory.frames = chosen.choice((1, 1, 2, 8))
        number = chosen.choices(self.numbers, self.weights)[0]
        if number == CLEAN_UP:
            return HelperCall(thread=thread, helper=CLEAN_UP)
        helper = HELPERS[number]
        fitting = [n for n, spec in enumerate(SPECS) if spec.kind in helper.maps]
        name = chosen.choice(fitting) if fitting else 0
        arguments = {
            "map_lookup_elem": lambda: (self.handle(name), self.key(thread, name)),
            "map_update_elem": lambda: (
                self.handle(name),
                self.key(thread, name),
                self.pointer(thread),
                chosen.choice(_FLAGS),
            ),
            "map_delete_elem": lambda: (self.handle(name), self.key(thread, name)),
            "tail_call": lambda: (
                0,
                self.handle(name),
                chosen.randrange(8) | chosen.choice(_FLAGS) << 32,
            ),
            "map_push_elem": lambda: (
                self.handle(name),
                self.pointer(thread),
                chosen.choice(_FLAGS),
            ),
            "map_pop_elem": lambda: (self.handle(name), self.pointer(thread)),
            "map_peek_elem": lambda: (self.handle(name), self.pointer(thread)),
            "ringbuf_output": lambda: (
                self.handle(name),
                self.pointer(thread),
                chosen.choice(_LENGTHS),
                chosen.choice(_FLAGS),
            ),
            "ringbuf_reserve": lambda: (
                self.handle(name),
                chosen.choice(_LENGTHS),
                chosen.choice((0, 0, 0, 0, 1, 1 << 63)),
            ),
            "ringbuf_submit": lambda: (self.record(thread),),
            "ringbuf_discard": lambda: (self.record(thread),),
            "ringbuf_query": lambda: (
                self.handle(name),
                chosen.choice((0, 1, 2, 3, 4, 1 << 22, 1 << 63)),
            ),
        }.get(helper.name, tuple)()
        return HelperCall(
            thread=thread, helper=number, arguments=tuple(a & _MASK64 for a in arguments)
        )

    def handle(self, number: int) -> int:
        """Mostly of the map, at times of another one, or of none."""
        chosen = self.generator
        if chosen.random() < 0.9:
            return map_handle(number)
        other = chosen.choice((0, 5, 7, 8, 15, 16, 255, 256, 1 << 32, 1 << 31))
        return map_handle(other)

    def pointer(self, thread: int) -> int:
        """Where something to copy may be, or may not."""
        chosen, memory = self.generator, self.bench.memories[thread]
        end = Region.STACK + memory.frames * FRAME_BYTES
        context_end = Region.CONTEXT + len(memory.context)
        kind = chosen.choices(range(7), (8, 1, 2, 1, 4, 2, 1))[0]
        if kind == 0:
            return chosen.randrange(Region.STACK, end - 80)
        if kind == 1:
            return end - chosen.choice((0, 4, 7, 8, 12, 16, 40, 64))
        if kind == 2:
            return chosen.randrange(Region.CONTEXT, max(context_end - 7, Region.CONTEXT + 1))
        if kind == 3:
            return context_end - chosen.choice((0, 4, 8, 9))
        if kind == 4:
            number = chosen.choice([n for n, made in enumerate(self.bench.maps) if made.memory])
            return map_address(number) + chosen.randrange(len(self.bench.maps[number].memory))
        if kind == 5:
            return self.record(thread) + chosen.randrange(9)
        return chosen.choice((0, map_handle(1), 1 << 32 | Region.STACK, _MASK64, 1 << 28 - 4))

    def key(self, thread: int, number: int) -> int:
        """Address of one of a few keys of a map."""
        chosen, address = self.generator, self.pointer(thread)
        spec = SPECS[number]
        if not Region.STACK <= address <= Region.STACK + _STACK_END - spec.key_size:
            return address
        if spec.kind is MapType.LPM_TRIE:
            length = chosen.choice((0, 5, 8, 12, 31, 32, 33))
            data = bytes(chosen.choice((0, 128, 129)) for _ in range(spec.key_size - 4))
            wanted = length.to_bytes(4, "little") + data
        elif spec.key_size == 4:
            wanted = chosen.choice((0, 1, 2, 2, 3, 4, 5, 1 << 24)).to_bytes(4, "little")
        else:
            wanted = bytes([chosen.randrange(6)]) * spec.key_size
        self.bench.poke(thread, address - Region.STACK, wanted)
        return address

    def record(self, thread: int) -> int:
        """Address of one of the thread's records, or near to one, or of another thread's."""
        chosen = self.generator
        whose = thread if chosen.random() < 0.9 else chosen.randrange(len(self.bench.memories))
        records = self.bench.memories[whose].records
        if not records or whose != thread:
            return map_address(7) + 8 * chosen.randrange(32)
        ring, place = chosen.choice(records)
        offset = 0 if chosen.random() < 0.9 else chosen.choice((1, 8, -8, 1 << 32))
        return map_address(self.bench.maps.index(ring)) + place + offset


async def play_random(bench: HelperBench, count: int, generator: random.Random) -> None:
    """Calls of all threads, at the same time."""
    calls = _Calls(bench, generator)
    left = count
    while left:
        busy = bench.under_way.keys() | {call.thread for call in bench.waiting}
        free = [thread for thread in range(len(bench.memories)) if thread not in busy]
        if free and len(bench.waiting) < 2 and generator.random() < 0.7:
            bench.waiting.append(calls.call(generator.choice(free)))
            left -= 1
        await bench.step()
    await bench.settle()


async def drain_rings(bench: HelperBench) -> int:
    """Take all records that a reader can take, of both, and compare where they are.

    Returns
    -------
    int
        How many there were.
    """
    count = 0
    for number, made in enumerate(bench.maps):
        if not isinstance(made, RingMap):
            continue
        while True:
            found = await bench.host(MapCall(command=MapCommand.CONSUME, map=number))
            expected = made.consume()
            if found.found != (expected is not None):
                raise FaultError(f"map {number} gives {found}; golden has {expected!r}")
            if expected is None:
                break
            count += 1
            length, place = found.value & 0xFFFF_FFFF, found.value >> 32
            data = b""
            for at in range(0, length, 8):
                word = await bench.host_read(number, place + at, in_record=True)
                data += word.to_bytes(8, "little")
            if data[:length] != expected:
                raise FaultError(f"map {number} gives {data[:length]!r}; golden has {expected!r}")
            await bench.host(MapCall(command=MapCommand.ADVANCE, map=number))
    return count


async def compare_maps(bench: HelperBench) -> None:
    """All keys, entries and values of all maps; queues are empty afterwards.

    Raises
    ------
    FaultError
        If anything differs.
    """
    for thread in range(len(bench.memories)):
        bench.waiting.append(HelperCall(thread=thread, helper=CLEAN_UP))
    await bench.settle()
    await drain_rings(bench)
    for number, made in enumerate(bench.maps):
        if isinstance(made, QueueMap):
            await _compare_queue(bench, number, made)
        elif made.spec.kind in TABLES:
            for entry in range(made.spec.max_entries):
                key = entry.to_bytes(4, "little")
                found = await bench.host(MapCall(command=MapCommand.READ, map=number, key=key))
                _same(number, key, found.found, entry in dict(ENTRIES[number]))
        else:
            if isinstance(made, HashMap):
                for key, _ in made.items():
                    found = await bench.host(MapCall(command=MapCommand.READ, map=number, key=key))
                    place = made.find(key)
                    _same(number, key, found.value, map_address(number) + (place or 0))
            await _compare_values(bench, number)


async def _compare_values(bench: HelperBench, number: int) -> None:
    made = bench.maps[number]
    is_ring = isinstance(made, RingMap)
    if not made.readable:
        return
    end = made.spec.max_entries if is_ring else len(made.memory)
    for place in range(0, end, 8):
        count = 8 if is_ring else min(made.reach(place), 8)
        found = await bench.host_read(number, place, in_record=is_ring)
        golden = made.memory[place : place + count]
        _same(number, place, found.to_bytes(8, "little")[:count], golden)


async def _compare_queue(bench: HelperBench, number: int, made: QueueMap) -> None:
    while True:
        found = await bench.host(MapCall(command=MapCommand.POP, map=number))
        result, value = made.pop()
        _same(number, "pop", found.value, result & _MASK64)
        if result:
            return
        _same(number, "value", found.rows[: len(value)], value)


def _same(number: int, what: object, found: object, golden: object) -> None:
    if found != golden:
        raise FaultError(f"map {number}, {what!r}: {found!r}; golden has {golden!r}")
