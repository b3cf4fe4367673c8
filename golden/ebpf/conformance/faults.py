"""Cases of what ends an event."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    call,
    copy,
    goto,
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
from fanweave.golden.ebpf.conformance.case import Case
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause, Region
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType

__all__ = ["cases"]

_A = AluOperation
_F = FaultCause

#: Single instructions that do not exist, or not like this.
_ILLEGAL: tuple[tuple[str, Instruction], ...] = (
    ("opcode 0", Instruction(0x00)),
    ("opcode 0xff", Instruction(0xFF)),
    ("packet access", Instruction(0x20)),
    ("arithmetic operation 14", Instruction(0xE7)),
    ("jump operation 14", Instruction(0xE5)),
    ("exit of the JMP32 class", Instruction(0x96)),
    ("call of the JMP32 class", Instruction(0x86, imm=5)),
    ("ja with a register", Instruction(0x0D)),
    ("exit with a register", Instruction(0x9D)),
    ("neg with a register", Instruction(0x8F)),
    ("bswap with a register", Instruction(0xDF, imm=16)),
    ("a load of no mode", Instruction(0x41)),
    ("a load of 8 bytes that extends the sign", Instruction(0x99)),
    ("a store of an immediate that is atomic", Instruction(0xDA, 10, 0, -8)),
    ("an atomic operation on a byte", atomic(0, 10, 1, -8, Size.B)),
    ("an atomic operation on 2 bytes", atomic(0, 10, 1, -8, Size.H)),
    ("atomic operation 0x70", atomic(0x70, 10, 1, -8)),
    ("xchg without fetch", atomic(0xE0, 10, 1, -8)),
    ("cmpxchg without fetch", atomic(0xF0, 10, 1, -8)),
    ("a write of r10", mov(10, 1)),
    ("a load into r10", load(10, 1)),
    ("a wide load into r10", wide(10, 1)),
    ("a fetch into r10", atomic(0x01, 10, 10, -8)),
    ("dst register 11", mov(11, 1)),
    ("src register 11", alu(_A.ADD, 0, 11)),
    ("add with an offset", alu(_A.ADD, 0, 1, offset=1)),
    ("div with offset 2", alu(_A.DIV, 0, 1, offset=2)),
    ("mov of an immediate with an offset", alu(_A.MOV, 0, imm=1, offset=8)),
    ("mov of 24 bits", alu(_A.MOV, 0, 1, offset=24)),
    ("mov of 32 bits to 32 bits", alu(_A.MOV, 0, 1, offset=32, bits=32)),
    ("a byte order of 24 bits", alu(_A.END, 0, imm=24)),
    ("an immediate beside a register", alu(_A.ADD, 0, 1, imm=1)),
    ("a register beside an immediate", Instruction(0x07, 0, 1, 0, 1)),
    ("an exit with an immediate", Instruction(0x95, imm=1)),
    ("a ja with an immediate", Instruction(0x05, imm=1)),
    ("a ja32 with an offset", Instruction(0x06, offset=1)),
    ("a load with an immediate", Instruction(0x79, 0, 1, 0, 1)),
    ("a call of kind 3", Instruction(0x85, src=3)),
    ("a call by BTF id", Instruction(0x85, src=2, imm=1)),
    ("a wide load of kind 7", wide(0, 1, kind=7)),
    ("a wide load of a variable", wide(0, 1, kind=3)),
    ("a wide load of a code address", wide(0, 1, kind=4)),
    ("a wide load of a map with an upper half", wide(0, 1 << 32, kind=1)),
)

#: Accesses that do not lie in one region.
_OUTSIDE: tuple[tuple[str, tuple[Instruction, ...]], ...] = (
    ("behind the context", (load(0, 1, 9),)),
    ("the context's end", (load(0, 1, 16, Size.B),)),
    ("before the context", (load(0, 1, -1, Size.B),)),
    ("a store behind the context", (store(1, 0, 15, Size.H),)),
    ("above the frame", (store(10, 0, 0, Size.B),)),
    ("across the top of the frame", (store(10, 0, -4),)),
    ("below the stack", (store(10, 0, -520),)),
    ("across the bottom of the stack", (load(0, 10, -513, Size.H),)),
    ("the next frame", (load(0, 10, 504),)),
    ("address 0", (mov(1, 0), load(0, 1))),
    ("a context address with bit 32", (wide(1, Region.CONTEXT + (1 << 32)), load(0, 1))),
    ("the last address", (mov(1, -1), load(0, 1, 0, Size.B))),
    ("an offset that wraps", (mov(1, 8), load(0, 1, -16))),
    ("a map that is not there", (wide(1, Region.MAP_VALUES), load(0, 1))),
    ("a map's handle", (wide(1, Region.MAP_HANDLES), load(0, 1))),
    ("an atomic behind the frame", (mov(2, 1), atomic(0, 10, 2, 0))),
)


def cases() -> Iterator[Case]:
    """All of them."""
    for name, instruction in _ILLEGAL:
        yield Case(
            name=f"illegal: {name}",
            program=(mov(0, 0), instruction, leave()),
            fault=_F.ILLEGAL_INSTRUCTION,
            slot=1,
        )
    yield Case(
        name="illegal: a jump into a wide load",
        program=(goto(1), wide(0, 1), leave()),
        fault=_F.ILLEGAL_INSTRUCTION,
        slot=2,
    )
    for name, program in _OUTSIDE:
        yield Case(
            name=f"out of bounds: {name}",
            program=(*program, leave()),
            context=bytes(16),
            fault=_F.OUT_OF_BOUNDS,
            slot=sum(instruction.slots for instruction in program[:-1]),
        )
    yield from _ends()
    yield from _helpers()
    yield from _values()


def _ends() -> Iterator[Case]:
    misaligned = ((Size.W, -6), (Size.DW, -4), (Size.DW, -9))
    for size, offset in misaligned:
        yield Case(
            name=f"an atomic operation on {size.bytes} bytes at offset {offset}",
            program=(atomic(0, 10, 1, offset - 8, size), leave()),
            fault=_F.MISALIGNED_ATOMIC,
            slot=0,
        )
    yield Case(
        name="misalignment is noticed before bounds",
        program=(mov(1, 1), atomic(0, 1, 1, 0), leave()),
        fault=_F.MISALIGNED_ATOMIC,
        slot=1,
    )
    yield Case(name="an endless loop", program=(goto(-1),), fault=_F.WATCHDOG, slot=0)
    loop = (*(mov(0, 0), alu(_A.ADD, 0, imm=1), jump(JumpOperation.JNE, 0, -2, imm=5), leave()),)
    yield Case(name="the last instruction may use up the budget", program=loop, r0=5, budget=12)
    yield Case(
        name="an exit beyond the budget",
        program=loop,
        fault=_F.WATCHDOG,
        slot=3,
        budget=11,
    )
    yield Case(name="running off the end", program=(mov(0, 0),), fault=_F.END_OF_PROGRAM, slot=1)
    yield Case(
        name="a jump behind the end", program=(goto(100),), fault=_F.END_OF_PROGRAM, slot=101
    )
    yield Case(
        name="a jump before the beginning", program=(goto(-5),), fault=_F.END_OF_PROGRAM, slot=-4
    )
    yield Case(name="a call behind the end", program=(call(7),), fault=_F.END_OF_PROGRAM, slot=8)
    yield Case(
        name="a fault leaves what was stored before",
        program=(store_imm(1, 7, 0, Size.B), load(0, 1, 8), leave()),
        context=bytes(8),
        context_after=b"\x07" + bytes(7),
        fault=_F.OUT_OF_BOUNDS,
        slot=1,
    )


def _helpers() -> Iterator[Case]:
    for number in (0, 4, 6, 181, 9999, -1):
        yield Case(
            name=f"helper {number} is unknown",
            program=(helper(number), leave()),
            fault=_F.UNKNOWN_HELPER,
            slot=0,
        )
    queue = MapSpec(name="q", kind=MapType.QUEUE, key_size=0, value_size=8, max_entries=2)
    for name, first in (
        ("address 0", mov(1, 0)),
        ("the context", copy(1, 1)),
        ("a map that is not there", map_of(1, 1)),
        ("a map of another type", map_of(1, 0)),
    ):
        yield Case(
            name=f"a lookup in {name}",
            program=(copy(2, 10), first, helper(1), leave()),
            maps=(queue,),
            fault=_F.BAD_MAP,
            slot=1 + first.slots,
        )
    yield Case(
        name="the map is looked at before the key",
        program=(mov(1, 0), mov(2, 0), helper(1), leave()),
        fault=_F.BAD_MAP,
        slot=2,
    )
    yield Case(
        name="a submit of what was not reserved",
        program=(copy(1, 10), helper(132), leave()),
        fault=_F.BAD_MAP,
        slot=1,
    )


def _values() -> Iterator[Case]:
    array = {"kind": MapType.ARRAY, "key_size": 4, "max_entries": 2}
    plain = MapSpec(name="a", value_size=5, **array)  # type: ignore[arg-type]
    value = wide(1, 0, kind=2)
    for name, access in (
        ("behind a value", load(0, 1, 4, Size.H)),
        ("between two values", load(0, 1, 5, Size.B)),
        ("behind the last value", load(0, 1, 13, Size.B)),
        ("before the first value", load(0, 1, -1, Size.B)),
    ):
        yield Case(
            name=f"out of bounds: {name}",
            program=(value, access, leave()),
            maps=(plain,),
            fault=_F.OUT_OF_BOUNDS,
            slot=2,
        )
    table = MapSpec(name="h", kind=MapType.HASH, key_size=4, value_size=9, max_entries=2)
    for name, place, fault in (
        ("the last byte of the last slot", 24, _F.NONE),
        ("behind the last slot's value", 25, _F.OUT_OF_BOUNDS),
        ("behind the last slot", 32, _F.OUT_OF_BOUNDS),
        ("before the first slot", -1, _F.OUT_OF_BOUNDS),
    ):
        yield Case(
            name=f"a hash map, {name}",
            program=(value, load(0, 1, place, Size.B), leave()),
            maps=(table,),
            fault=fault,
            slot=2 if fault is not _F.NONE else None,
        )
    for kind, size in ((MapType.QUEUE, 0), (MapType.STACK, 0), (MapType.PROG_ARRAY, 4)):
        hidden = MapSpec(name="m", kind=kind, key_size=size, value_size=4, max_entries=2)
        yield Case(
            name=f"{kind.name}: nothing of it can be reached",
            program=(value, load(0, 1, 0, Size.B), leave()),
            maps=(hidden,),
            fault=_F.OUT_OF_BOUNDS,
            slot=2,
        )
    for flag, name, access, fault in (
        (MapFlag.RDONLY_PROG, "a load from a read-only map", load(0, 1), _F.NONE),
        (MapFlag.RDONLY_PROG, "a store to a read-only map", store(1, 0), _F.FORBIDDEN),
        (MapFlag.RDONLY_PROG, "an atomic on a read-only map", atomic(0, 1, 0), _F.FORBIDDEN),
        (MapFlag.WRONLY_PROG, "a load from a write-only map", load(0, 1), _F.FORBIDDEN),
        (MapFlag.WRONLY_PROG, "a store to a write-only map", store_imm(1, 0), _F.NONE),
    ):
        spec = MapSpec(name="a", value_size=8, flags=flag, **array)  # type: ignore[arg-type]
        yield Case(
            name=name,
            program=(value, access, leave()),
            maps=(spec,),
            fault=fault,
            slot=2 if fault is not _F.NONE else None,
        )
