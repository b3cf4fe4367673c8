"""Random eBPF programs that use every helper on every type of map, rightly and wrongly."""

import random
from collections.abc import Callable

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    copy,
    helper,
    jump,
    leave,
    load,
    map_of,
    mov,
    store,
    store_imm,
    wide,
)
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import map_address
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType

__all__ = ["CONTEXT_BYTES", "MAPS", "random_map_program"]

CONTEXT_BYTES = 32


def _map(kind: MapType, key: int, value: int, entries: int, flags: int = 0) -> MapSpec:
    name = f"{kind.name.lower()}_{key}_{value}"
    return MapSpec(
        name=name, kind=kind, key_size=key, value_size=value, max_entries=entries, flags=flags
    )


#: The maps that all of the programs work on.
MAPS: tuple[MapSpec, ...] = (
    _map(MapType.ARRAY, 4, 16, 6),
    _map(MapType.HASH, 8, 24, 5),
    _map(MapType.LRU_HASH, 4, 8, 4),
    _map(MapType.PERCPU_ARRAY, 4, 8, 3),
    _map(MapType.LPM_TRIE, 8, 8, 6),
    _map(MapType.QUEUE, 0, 12, 3),
    _map(MapType.STACK, 0, 8, 3),
    _map(MapType.RINGBUF, 0, 0, 128),
    _map(MapType.PROG_ARRAY, 4, 4, 4),
    _map(MapType.HASH, 13, 5, 4),
    _map(MapType.ARRAY, 4, 8, 2, MapFlag.RDONLY_PROG),
    _map(MapType.ARRAY, 4, 8, 2, MapFlag.WRONLY_PROG),
)
_NUMBERS = {made.name: number for number, made in HELPERS.items()}
_A, _J = AluOperation, JumpOperation
#: Where keys, values and what is popped lie, below r10.
_KEY, _VALUE, _POPPED = -16, -48, -80
#: Share of calls whose arguments are all right, but for chance.
_RIGHT = 0.993
_SIZES = (Size.B, Size.H, Size.W, Size.DW)

Code = list[Instruction]


def random_map_program(seed: int, *, steps: int = 8) -> Program:
    """Make a program; the same for the same seed.

    What helpers return goes into r9, and r9, the popped bytes and a word of the context into r0.

    Parameters
    ----------
    seed : int
        Decides everything.
    steps : int
        Calls of helpers, about.
    """
    chance = random.Random(seed)
    # r1 and r2 are the context's: both are needed later.
    code: Code = [copy(6, 1), copy(7, 2), mov(9, seed & 0xFFFF)]
    code += [store_imm(10, chance.randrange(256), at) for at in range(-88, 0, 8)]
    for _ in range(steps):
        step = chance.choices(_STEPS, _WEIGHTS)[0]
        code += step(chance)
    for offset in (_POPPED, _POPPED + 8):
        code += [load(1, 10, offset), *_fold(1)]
    code += [copy(0, 9), leave()]
    return Program.of(code, f"maps {seed}")


def _fold(register: int) -> Code:
    return [alu(_A.MUL, 9, imm=31), alu(_A.XOR, 9, register)]


def _number(chance: random.Random, *kinds: MapType) -> int:
    """A map, mostly of one of the types."""
    fitting = [n for n, spec in enumerate(MAPS) if spec.kind in kinds and not spec.flags]
    if chance.random() < _RIGHT:
        return chance.choice(fitting)
    return chance.randrange(len(MAPS) + 1)


def _spec(number: int) -> MapSpec:
    return MAPS[number] if number < len(MAPS) else MAPS[0]


def _handle(chance: random.Random, register: int, number: int) -> Code:
    if chance.random() < _RIGHT:
        return [map_of(register, number)]
    return [wide(register, chance.choice([0, 0x8000_0000 + len(MAPS), map_address(0), 1 << 63]))]


def _pointer(chance: random.Random, register: int, offset: int) -> Code:
    """An address on the stack, in the context, or nowhere."""
    if chance.random() < _RIGHT:
        return [copy(register, 10), alu(_A.ADD, register, imm=offset)]
    if chance.random() < 0.6:
        return [copy(register, 6), alu(_A.ADD, register, imm=chance.randrange(40))]
    return [wide(register, chance.choice([0, map_address(0) + 4, 0x2000_01FC, 0x1000_0000_0000]))]


def _key(chance: random.Random, spec: MapSpec) -> Code:
    """Put a key on the stack; few different ones, so that they meet again."""
    if spec.kind is MapType.LPM_TRIE:
        length = chance.choice([0, 4, 8, 12, 32, 33])
        data = chance.choice([0x10, 0x1F, 0x0110, 0xFFFF])
        return [store_imm(10, length, _KEY, Size.W), store_imm(10, data, _KEY + 4, Size.W)]
    code = [store_imm(10, chance.randrange(7), _KEY, Size.W)]
    return (
        [*code, store_imm(10, chance.randrange(2), _KEY + 4, Size.W)] if spec.key_size > 4 else code
    )


def _flags(chance: random.Random, register: int) -> Code:
    return [wide(register, chance.choices([0, 1, 2, 3, 4, 9, 1 << 40], [9, 3, 3, 1, 1, 1, 1])[0])]


def _call(name: str) -> Code:
    return [helper(_NUMBERS[name]), *_fold(0)]


_KEYED = (
    MapType.ARRAY,
    MapType.HASH,
    MapType.LRU_HASH,
    MapType.PERCPU_ARRAY,
    MapType.LPM_TRIE,
)


def _lookup(chance: random.Random) -> Code:
    """Look a key up, and change or read what is there."""
    number = _number(chance, *_KEYED)
    spec = _spec(number)
    use = _use(chance, spec.value_size)
    return [
        *_key(chance, spec),
        *_handle(chance, 1, number),
        *_pointer(chance, 2, _KEY),
        *_call("map_lookup_elem"),
        jump(_J.JEQ, 0, len(use), imm=0),
        *use,
    ]


def _use(chance: random.Random, value_size: int) -> Code:
    """Loads, stores and atomic operations on the value that r0 points to."""
    code = [copy(8, 0)]
    for _ in range(chance.randrange(1, 4)):
        size = chance.choice(_SIZES)
        room = max(value_size - size.bytes, 0)
        offset = chance.randrange(room + 1)
        if chance.random() > _RIGHT:
            offset = chance.choice([-1, value_size, room + 1])
        kind = chance.randrange(4)
        if kind == 0:
            code += [load(1, 8, offset, size, signed=chance.random() < 0.5 and size != Size.DW)]
            code += _fold(1)
        elif kind == 1:
            code += [store(8, 9, offset, size)]
        elif kind == 2:
            code += [store_imm(8, chance.randrange(-99, 99), offset, size)]
        else:
            code += _atomic(chance, offset)
    return code


def _atomic(chance: random.Random, offset: int) -> Code:
    size = chance.choice([Size.W, Size.DW])
    operation = chance.choice([0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1])
    aligned = offset // size.bytes * size.bytes
    return [
        mov(0, chance.randrange(4)),
        copy(1, 9),
        atomic(operation, 8, 1, aligned, size),
        *_fold(1),
    ]


def _update(chance: random.Random) -> Code:
    number = _number(chance, *_KEYED)
    return [
        *_key(chance, _spec(number)),
        store_imm(10, chance.randrange(1000), _VALUE),
        *_handle(chance, 1, number),
        *_pointer(chance, 2, _KEY),
        *_pointer(chance, 3, _VALUE),
        *_flags(chance, 4),
        *_call("map_update_elem"),
    ]


def _delete(chance: random.Random) -> Code:
    number = _number(chance, MapType.HASH, MapType.LRU_HASH, MapType.LPM_TRIE, MapType.ARRAY)
    return [
        *_key(chance, _spec(number)),
        *_handle(chance, 1, number),
        *_pointer(chance, 2, _KEY),
        *_call("map_delete_elem"),
    ]


def _push(chance: random.Random) -> Code:
    return [
        *_handle(chance, 1, _number(chance, MapType.QUEUE, MapType.STACK)),
        store_imm(10, chance.randrange(1000), _VALUE),
        *_pointer(chance, 2, _VALUE),
        *_flags(chance, 3),
        *_call("map_push_elem"),
    ]


def _pop(chance: random.Random) -> Code:
    return [
        *_handle(chance, 1, _number(chance, MapType.QUEUE, MapType.STACK)),
        *_pointer(chance, 2, _POPPED),
        *_call(chance.choice(["map_pop_elem", "map_peek_elem"])),
    ]


def _output(chance: random.Random) -> Code:
    length = chance.choices([8, 0, 1, 24, 100, 300, 1 << 33], [90, 10, 30, 50, 2, 2, 2])[0]
    return [
        *_handle(chance, 1, _number(chance, MapType.RINGBUF)),
        *_pointer(chance, 2, _VALUE),
        wide(3, length),
        *_flags(chance, 4),
        *_call("ringbuf_output"),
    ]


def _reserve(chance: random.Random) -> Code:
    """Reserve a record, fill it, and give it back; or forget it."""
    length = chance.choices([8, 16, 1, 40, 1 << 33], [9, 5, 1, 1, 1])[0]
    ending = chance.choices(["ringbuf_submit", "ringbuf_discard", ""], [5, 3, 1])[0]
    use = [copy(8, 0), store(8, 9, chance.choice([0, 0, 0, min(length, 64) - 4]), Size.B)]
    if ending:
        use += [copy(1, 8), mov(2, 0), *_call(ending)]
    return [
        *_handle(chance, 1, _number(chance, MapType.RINGBUF)),
        wide(2, length),
        mov(3, chance.choices([0, 1], [9, 1])[0]),
        *_call("ringbuf_reserve"),
        jump(_J.JEQ, 0, len(use), imm=0),
        *use,
    ]


def _submit(chance: random.Random) -> Code:
    """Give something back that is no record; mostly not done, because it ends the event."""
    if chance.random() < 0.95:
        return []
    return [
        wide(1, chance.choice([0, map_address(7) + 8, map_address(0)])),
        *_call("ringbuf_submit"),
    ]


def _query(chance: random.Random) -> Code:
    return [
        *_handle(chance, 1, _number(chance, MapType.RINGBUF)),
        wide(2, chance.choice([0, 1, 2, 3, 4, 1 << 50])),
        *_call("ringbuf_query"),
    ]


def _numbers(chance: random.Random) -> Code:
    return _call(chance.choice(["ktime_get_ns", "get_prandom_u32", "get_smp_processor_id"]))


def _tail_call(chance: random.Random) -> Code:
    """Go on in another program; seldom, because the rest of this one is lost."""
    if chance.random() < 0.5:
        return []
    return [
        copy(1, 6),
        *_handle(chance, 2, _number(chance, MapType.PROG_ARRAY)),
        wide(3, chance.choice([0, 1, 2, 3, 4, 1 << 32, (1 << 32) + 9])),
        *_call("tail_call"),
    ]


_STEPS: tuple[Callable[[random.Random], Code], ...] = (
    *(_lookup, _update, _delete, _push, _pop, _output),
    *(_reserve, _submit, _query, _numbers, _tail_call),
)
_WEIGHTS = (8, 8, 3, 3, 3, 3, 3, 1, 1, 1, 1)
