"""A program that does to a map what its context says, and random operations for it.

The same program runs on the golden machine and in Linux. Its context is an `Operation`; a value
that comes out of the map is in there afterwards, and r0 says how it went.
"""

import random
import struct
from dataclasses import dataclass

from fanweave.golden.ebpf.build import alu, copy, helper, jump, leave, load, map_of, mov, store
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType, RingQuery, UpdateFlag

__all__ = ["SPECS", "Operation", "operations_of", "operator_program", "random_operation"]

_NUMBERS = {row.name: row.number for row in HELPERS.values()}
_KEY_BYTES = 16
_VALUE_BYTES = 16
_HEAD = struct.Struct("<QQ")
_FLAGS, _KEY, _VALUE = 8, _HEAD.size, _HEAD.size + _KEY_BYTES
_CONTEXT = 6  # the register that keeps its address
#: Bytes of records whose length the verifier must know.
_RECORDS = (0, 8, 9, 200)
_LENGTH_MASK = 31


def _spec(kind: MapType, key: int, value: int, entries: int) -> MapSpec:
    name = kind.name.lower()
    return MapSpec(name=name, kind=kind, key_size=key, value_size=value, max_entries=entries)


#: Maps that are compared. Linux evicts by another order, so the LRU map has room for every key.
SPECS: tuple[MapSpec, ...] = (
    _spec(MapType.ARRAY, 4, 8, 8),
    _spec(MapType.PERCPU_ARRAY, 4, 8, 8),
    _spec(MapType.HASH, 4, 8, 8),
    _spec(MapType.HASH, 16, 16, 3),
    _spec(MapType.LRU_HASH, 4, 8, 1024),
    _spec(MapType.LPM_TRIE, 8, 8, 12),
    _spec(MapType.LPM_TRIE, 16, 8, 12),
    _spec(MapType.QUEUE, 0, 8, 5),
    _spec(MapType.STACK, 0, 16, 5),
    _spec(MapType.RINGBUF, 0, 0, 4096),
)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation.

    Attributes
    ----------
    number : int
        Its place in `operations_of` the map's type.
    flags : int
        64 bits.
    key : bytes
        16 bytes, of which the map takes as many as its keys have; of a ring the length of an
        output, or the question of a query.
    value : bytes
        16 bytes, of which the map takes as many as its values have.
    """

    number: int
    flags: int = 0
    key: bytes = bytes(_KEY_BYTES)
    value: bytes = bytes(_VALUE_BYTES)

    @property
    def context(self) -> bytearray:
        """What the program gets; longer, so that records have bytes to come from."""
        return bytearray(_HEAD.pack(self.number, self.flags) + self.key + self.value * 2)


def operations_of(kind: MapType) -> tuple[str, ...]:
    """Names of what can be done to a map."""
    if kind in (MapType.QUEUE, MapType.STACK):
        return ("push", "pop", "peek")
    if kind is MapType.RINGBUF:
        finishes = tuple(
            f"{length} bytes, {finish}" for length in _RECORDS for finish in ("submit", "discard")
        )
        return ("output", "query", *finishes)
    return ("lookup", "update", "delete")


def operator_program(spec: MapSpec) -> Program:
    """The program for a map, which is map 0."""
    program = [copy(_CONTEXT, 1), load(7, _CONTEXT, 0)]
    for number, name in enumerate(operations_of(spec.kind)):
        block = [map_of(1, 0), *_block(name, spec), leave()]
        slots = sum(instruction.slots for instruction in block)
        program += [jump(JumpOperation.JNE, 7, slots, imm=number), *block]
    return Program.of([*program, mov(0, 0), leave()], f"operator of {spec.name}")


def _call(name: str) -> Instruction:
    return helper(_NUMBERS[name])


def _place(register: int, offset: int) -> list[Instruction]:
    """The address of something in the context."""
    return [copy(register, _CONTEXT), alu(AluOperation.ADD, register, imm=offset)]


def _block(name: str, spec: MapSpec) -> list[Instruction]:
    flags = load(4, _CONTEXT, _FLAGS)
    match name:
        case "lookup":
            moves = [
                move
                for at in range(0, spec.value_size, 8)
                for move in (load(1, 0, at), store(_CONTEXT, 1, _VALUE + at))
            ]
            found = [*moves, mov(0, 1)]
            missing = jump(JumpOperation.JEQ, 0, len(found), imm=0)
            return [*_place(2, _KEY), _call("map_lookup_elem"), missing, *found]
        case "update":
            return [*_place(2, _KEY), *_place(3, _VALUE), flags, _call("map_update_elem")]
        case "delete":
            return [*_place(2, _KEY), _call("map_delete_elem")]
        case "push":
            return [*_place(2, _VALUE), load(3, _CONTEXT, _FLAGS), _call("map_push_elem")]
        case "pop" | "peek":
            return [*_place(2, _VALUE), _call(f"map_{name}_elem")]
        case "output":
            length = [load(3, _CONTEXT, _KEY), alu(AluOperation.AND, 3, imm=_LENGTH_MASK)]
            return [*_place(2, _VALUE), *length, flags, _call("ringbuf_output")]
        case "query":
            return [load(2, _CONTEXT, _KEY), _call("ringbuf_query")]
    length_text, finish = name.split(" bytes, ")
    return _record(int(length_text), finish)


def _record(length: int, finish: str) -> list[Instruction]:
    """Reserve, fill with the value, and give back; 1, or 0 without room."""
    fill = [
        move
        for at in range(0, length - 7, 8)
        for move in (load(1, _CONTEXT, _VALUE + at % _VALUE_BYTES), store(0, 1, at))
    ]
    done = [*fill, copy(1, 0), mov(2, 0), _call(f"ringbuf_{finish}"), mov(0, 1)]
    reserve = [mov(2, length), load(3, _CONTEXT, _FLAGS), _call("ringbuf_reserve")]
    return [*reserve, jump(JumpOperation.JEQ, 0, len(done), imm=0), *done]


def random_operation(generator: random.Random, spec: MapSpec) -> Operation:
    """An operation with few different keys, and now and then a flag that is wrong."""
    if spec.kind is MapType.RINGBUF:
        return _ring_operation(generator, spec)
    queue = spec.kind in (MapType.QUEUE, MapType.STACK)
    # More is put in than taken out, so that maps fill up.
    number = generator.choice((0, 0, 0, 1, 2) if queue else (0, 1, 1, 2))
    known = (UpdateFlag.ANY, UpdateFlag.ANY, UpdateFlag.EXIST, UpdateFlag.NOEXIST)
    flags = generator.choice(known[: 3 if queue else 4])
    odd = (1, 3, 4, 5, 6, 7, 8, 1 << 32, 1 << 63)
    return Operation(
        number=number,
        flags=int(flags) if generator.random() < 0.9 else generator.choice(odd),
        key=_key(generator, spec).ljust(_KEY_BYTES, b"\0"),
        value=generator.randbytes(_VALUE_BYTES),
    )


def _ring_operation(generator: random.Random, spec: MapSpec) -> Operation:
    names = operations_of(spec.kind)
    number = 0 if generator.random() < 0.3 else generator.randrange(len(names))
    question = generator.choice((*RingQuery, 4, 1 << 40))
    key = generator.randrange(32) if names[number] == "output" else question
    return Operation(
        number=number,
        flags=generator.choice((0, 0, 0, 0, 1, 2, 3, 4, 1 << 63)),
        key=int(key).to_bytes(_KEY_BYTES, "little"),
        value=generator.randbytes(_VALUE_BYTES),
    )


def _key(generator: random.Random, spec: MapSpec) -> bytes:
    if spec.kind is MapType.LPM_TRIE:
        bits = 8 * (spec.key_size - 4)
        # Few lengths and few bits that differ, so that prefixes lie in one another.
        length = generator.choice((0, 1, 8, 9, bits - 1, bits))
        if generator.random() < 0.05:
            length = generator.choice((bits + 1, 1 << 31))
        data = 1 << generator.choice((0, bits - 9, bits - 2, bits - 1))
        return length.to_bytes(4, "little") + data.to_bytes(bits // 8, "big")
    number = generator.randrange(10) if generator.random() < 0.98 else generator.getrandbits(32)
    return number.to_bytes(_KEY_BYTES, "little")[: spec.key_size]
