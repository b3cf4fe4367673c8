"""Cases of loads, stores, atomic operations and 64-bit immediates."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import atomic, copy, leave, load, mov, store, store_imm, wide
from fanweave.golden.ebpf.conformance.case import M64, Case
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf import AtomicOperation, Size, WideKind
from fanweave.golden.isa.ebpf_machine import MAP_SPAN, Region
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["cases"]

_T = AtomicOperation
_CONTEXT = bytes(range(0x80, 0x90))

#: Size, value at the context's second byte, the same with its sign extended.
_LOADS = (
    (Size.B, 0x81, -0x7F & M64),
    (Size.H, 0x8281, 0xFFFF_FFFF_FFFF_8281),
    (Size.W, 0x8483_8281, 0xFFFF_FFFF_8483_8281),
    (Size.DW, 0x8887_8685_8483_8281, None),
)
#: Size, what a store of 0x1122334455667788 and one of -2 leave in 9 bytes of zeros.
_STORES = (
    (Size.B, "88 00 00 00 00 00 00 00 00", "fe 00 00 00 00 00 00 00 00"),
    (Size.H, "88 77 00 00 00 00 00 00 00", "fe ff 00 00 00 00 00 00 00"),
    (Size.W, "88 77 66 55 00 00 00 00 00", "fe ff ff ff 00 00 00 00 00"),
    (Size.DW, "88 77 66 55 44 33 22 11 00", "fe ff ff ff ff ff ff ff 00"),
)
#: Operation on 0xff and 0x0f, or for carries on all ones.
_ATOMICS = (
    (_T.ADD, 0xFF, 0x0F, 0x10E),
    (_T.ADD, M64, 1, 0),
    (_T.OR, 0xF0, 0x0F, 0xFF),
    (_T.AND, 0xFC, 0x0F, 0x0C),
    (_T.XOR, 0xFF, 0x0F, 0xF0),
    (_T.XCHG, 0xFF, 0x0F, 0x0F),
)


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _loads()
    yield from _stores()
    yield from _atomics()
    yield from _exchanges()
    yield from _wide_loads()


def _loads() -> Iterator[Case]:
    for size, plain, extended in _LOADS:
        yield Case(
            name=f"a load of {size.bytes} bytes at an odd address",
            program=(mov(0, -1), load(0, 1, 1, size), leave()),
            context=_CONTEXT,
            r0=plain,
        )
        if extended is not None:
            yield Case(
                name=f"a load of {size.bytes} bytes that extends the sign",
                program=(load(0, 1, 1, size, signed=True), leave()),
                context=_CONTEXT,
                r0=extended,
            )
            yield Case(
                name=f"a load of {size.bytes} bytes without a sign to extend",
                program=(load(0, 1, 0, size, signed=True), leave()),
                context=bytes([1, 0, 0, 0]),
                r0=1,
            )
    yield Case(
        name="r2 is the length of the context",
        program=(copy(0, 2), leave()),
        context=_CONTEXT,
        r0=16,
    )
    yield Case(
        name="a load may overwrite its address",
        program=(load(1, 1, 0, Size.B), copy(0, 1), leave()),
        context=_CONTEXT,
        r0=0x80,
    )
    yield Case(name="the stack begins as zeros", program=(load(0, 10, -512), leave()), r0=0)
    yield Case(
        name="the least and the greatest offset",
        program=(
            *(wide(3, Region.CONTEXT + 0x8000), wide(4, Region.CONTEXT - 0x7FFF)),
            *(load(0, 3, -0x8000, Size.B), load(5, 4, 0x7FFF, Size.B)),
            *(store(1, 5, 1, Size.B), leave()),
        ),
        context=b"\x2a\x00",
        context_after=b"\x2a\x2a",
        r0=0x2A,
    )


def _stores() -> Iterator[Case]:
    for size, from_register, from_immediate in _STORES:
        yield Case(
            name=f"a store of {size.bytes} bytes",
            program=(wide(2, 0x1122_3344_5566_7788), store(1, 2, 0, size), leave()),
            context=bytes(9),
            context_after=bytes.fromhex(from_register),
        )
        yield Case(
            name=f"a store of an immediate, {size.bytes} bytes",
            program=(store_imm(1, -2, 0, size), leave()),
            context=bytes(9),
            context_after=bytes.fromhex(from_immediate),
        )
    yield Case(
        name="a store across words, loaded in parts",
        program=(
            *(wide(2, 0x0807_0605_0403_0201), store(10, 2, -13), load(0, 10, -8, Size.B)),
            leave(),
        ),
        r0=6,
    )


def _atomics() -> Iterator[Case]:
    for operation, old, src, new in _ATOMICS:
        for size, bits in ((Size.W, 32), (Size.DW, 64)):
            mask = (1 << bits) - 1
            for fetch in (0, _T.FETCH):
                if operation is _T.XCHG and not fetch:
                    continue
                imm = operation | fetch
                kind = f"{'fetch ' if fetch else ''}{operation.name.lower()} to {old:#x}"
                program = (
                    *(wide(3, old), store(10, 3, -8), wide(2, src)),
                    atomic(imm, 10, 2, -8, size),
                )
                yield Case(
                    name=f"atomic {kind}, {bits} bits: memory",
                    program=(*program, load(0, 10, -8, size), leave()),
                    r0=new & mask,
                )
                yield Case(
                    name=f"atomic {kind}, {bits} bits: register",
                    program=(*program, copy(0, 2), leave()),
                    r0=old & mask if fetch else src,
                )
    setup = (wide(2, 0xAAAA_BBBB_0000_0001), wide(3, M64), store(10, 3, -8))
    fetched = (*setup, atomic(_T.ADD | _T.FETCH, 10, 2, -8, Size.W))
    yield Case(
        name="an atomic word leaves its neighbour",
        program=(*fetched, load(0, 10, -8), leave()),
        r0=0xFFFF_FFFF_0000_0000,
    )
    yield Case(
        name="an atomic word is fetched with zeros above",
        program=(*fetched, copy(0, 2), leave()),
        r0=0xFFFF_FFFF,
    )


def _exchanges() -> Iterator[Case]:
    #: Size, r0 before, in memory after; 0x1_0000_0007 is in memory before, r2 is 9.
    rows = (
        (Size.DW, 0x1_0000_0007, 9),
        (Size.DW, 7, 0x1_0000_0007),
        (Size.W, 7, 0x1_0000_0009),
        (Size.W, 0x5_0000_0007, 0x1_0000_0009),
        (Size.W, 8, 0x1_0000_0007),
    )
    for size, expected, stored in rows:
        program = (
            *(wide(3, 0x1_0000_0007), store(10, 3, -8), mov(2, 9), wide(0, expected)),
            atomic(_T.CMPXCHG, 10, 2, -8, size),
        )
        name = f"cmpxchg of {size.bytes} bytes with {expected:#x}"
        seen = 7 if size is Size.W else 0x1_0000_0007
        yield Case(name=f"{name}: r0", program=(*program, leave()), r0=seen)
        yield Case(name=f"{name}: memory", program=(*program, load(0, 10, -8), leave()), r0=stored)
        yield Case(name=f"{name}: src", program=(*program, copy(0, 2), leave()), r0=9)


def _wide_loads() -> Iterator[Case]:
    array = MapSpec(name="a", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=2)
    handle, values = Region.MAP_HANDLES + 1, Region.MAP_VALUES + MAP_SPAN
    yield Case(
        name="lddw has both halves",
        program=(wide(0, 0x8899_AABB_CCDD_EEFF), leave()),
        r0=0x8899_AABB_CCDD_EEFF,
    )
    for kind, value, result in (
        (WideKind.MAP_FD, 1, handle),
        (WideKind.MAP_INDEX, 1, handle),
        (WideKind.MAP_VALUE, 1 | 8 << 32, values + 8),
        (WideKind.MAP_INDEX_VALUE, 1 | 8 << 32, values + 8),
    ):
        yield Case(
            name=f"lddw of a {kind.name.lower()}",
            program=(wide(0, value, kind=kind), leave()),
            maps=(array, array),
            r0=result,
        )
