"""Cases of queues, rings, tail calls, maps in maps, and what an engine says of itself."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import alu, copy, jump, leave, load, map_of, mov, store_imm
from fanweave.golden.ebpf.conformance.case import M64, Case, Entry
from fanweave.golden.ebpf.conformance.parts import call, entry, point_to_key, spec, word
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import TAIL_CALLS
from fanweave.golden.isa.ebpf_maps import Errno, MapType

__all__ = ["cases"]

_ADD = AluOperation.ADD
#: What xorshift32 makes of the first engine's seed, 0x2545f491.
_FIRST_RANDOM = 0xE124_B63A


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _queues()
    yield from _rings()
    yield from _tail_calls()
    yield from _inner_maps()
    yield from _engine()


def _queues() -> Iterator[Case]:
    def held(*values: int) -> tuple[Entry, ...]:
        return tuple(Entry(map=0, key=b"", value=word(value, 8)) for value in values)

    def at_stack(name: str, flags: int = 0) -> tuple[Instruction, ...]:
        return (
            *(store_imm(10, 9, -8), map_of(1, 0), copy(2, 10), alu(_ADD, 2, imm=-8)),
            *(mov(3, flags), call(name)),
        )

    taken = (load(0, 10, -8), leave())
    for kind, next_value, rest in ((MapType.QUEUE, 1, held(2)), (MapType.STACK, 2, held(1))):
        maps = (spec(kind, key=0),)
        two = held(1, 2)
        rows: tuple[
            tuple[str, tuple[Instruction, ...], int, tuple[Entry, ...], tuple[Entry, ...]], ...
        ] = (
            ("push", (*at_stack("map_push_elem"), leave()), 0, (), held(9)),
            ("push when full", (*at_stack("map_push_elem"), leave()), -Errno.TOO_BIG, two, two),
            ("push over the oldest", (*at_stack("map_push_elem", 2), leave()), 0, two, held(2, 9)),
            ("push with NOEXIST", (*at_stack("map_push_elem", 1), leave()), -Errno.INVALID, (), ()),
            ("pop", (*at_stack("map_pop_elem"), *taken), next_value, two, rest),
            ("pop of nothing", (*at_stack("map_pop_elem"), leave()), -Errno.NOENT, (), ()),
            ("pop of nothing gives zeros", (*at_stack("map_pop_elem"), *taken), 0, (), ()),
            ("peek", (*at_stack("map_peek_elem"), *taken), next_value, two, two),
            ("peek at nothing", (*at_stack("map_peek_elem"), leave()), -Errno.NOENT, (), ()),
        )
        for rule, program, result, before, after in rows:
            yield Case(
                name=f"{kind.name}: {rule}",
                program=program,
                r0=result & M64,
                maps=maps,
                before=before,
                after=after,
            )


def _rings() -> Iterator[Case]:
    maps = (spec(MapType.RINGBUF, key=0, value=0, entries=64),)

    def record(data: bytes) -> Entry:
        return Entry(map=0, key=b"", value=data)

    def reserve(length: int, flags: int = 0) -> tuple[Instruction, ...]:
        return (map_of(1, 0), mov(2, length), mov(3, flags), call("ringbuf_reserve"))

    def output(length: int, flags: int = 0) -> tuple[Instruction, ...]:
        return (
            *(store_imm(10, 0x0102_0304, -8), copy(2, 10), alu(_ADD, 2, imm=-8)),
            *(map_of(1, 0), mov(3, length), mov(4, flags), call("ringbuf_output")),
        )

    def finish(name: str) -> tuple[Instruction, ...]:
        return (
            *(jump(JumpOperation.JEQ, 0, 5, imm=0), store_imm(0, 5), copy(1, 0), mov(2, 0)),
            *(call(name), mov(0, 1), leave()),
        )

    query = (map_of(1, 0),)
    four = record(bytes([4, 3, 2, 1]))
    rows: tuple[tuple[str, tuple[Instruction, ...], int, tuple[Entry, ...]], ...] = (
        ("output", (*output(4), leave()), 0, (four,)),
        ("output of nothing", (*output(0), leave()), 0, (record(b""),)),
        ("output with wake-up flags", (*output(4, 3), leave()), 0, (four,)),
        ("output with flags 4", (*output(4, 4), leave()), -Errno.INVALID, ()),
        ("output without room", (*output(4) * 4, leave()), -Errno.AGAIN, (four,) * 3),
        ("reserve and submit", (*reserve(8), *finish("ringbuf_submit")), 1, (record(word(5, 8)),)),
        ("reserve and discard", (*reserve(8), *finish("ringbuf_discard")), 1, ()),
        ("the largest record", (*reserve(48), *finish("ringbuf_discard")), 1, ()),
        ("a record that is too large", (*reserve(49), *finish("ringbuf_discard")), 0, ()),
        ("a reservation with flags", (*reserve(8, 1), *finish("ringbuf_discard")), 0, ()),
        ("size", (*query, mov(2, 1), call("ringbuf_query"), leave()), 64, ()),
        ("an unknown question", (*query, mov(2, 9), call("ringbuf_query"), leave()), 0, ()),
        (
            "submit leaves 0",
            (
                *(*reserve(8), jump(JumpOperation.JEQ, 0, 5, imm=0), copy(1, 0), mov(2, 0)),
                *(mov(0, 7), call("ringbuf_submit"), leave(), mov(0, 1), leave()),
            ),
            0,
            (record(bytes(8)),),
        ),
        (
            "records left open are discarded",
            (*reserve(8), mov(0, 3), leave()),
            3,
            (),
        ),
    )
    for rule, program, result, after in rows:
        yield Case(
            name=f"RINGBUF: {rule}", program=program, r0=result & M64, maps=maps, after=after
        )
    for what, result in ((0, 16), (2, 0), (3, 16)):
        yield Case(
            name=f"RINGBUF: question {what} after a record",
            program=(*output(4), *query, mov(2, what), call("ringbuf_query"), leave()),
            r0=result,
            maps=maps,
            after=(four,),
        )


def _tail_calls() -> Iterator[Case]:
    maps = (spec(MapType.PROG_ARRAY, value=4),)
    before = (Entry(map=0, key=word(1), value=word(6)),)
    tail = (map_of(2, 0), mov(3, 1), call("tail_call"))
    other = (load(0, 1, 0, Size.B), alu(_ADD, 0, 7), leave())
    yield Case(
        name="a tail call goes on with all registers",
        program=(mov(7, 100), *tail, mov(0, 1), leave()),
        context=b"\x05",
        r0=105,
        maps=maps,
        before=before,
        after=before,
        others=((6, other),),
    )
    for index in (0, 2, -1):
        yield Case(
            name=f"a tail call to entry {index}, where nothing is",
            program=(map_of(2, 0), mov(3, index), call("tail_call"), leave()),
            r0=-Errno.NOENT & M64,
            maps=maps,
            before=before,
            after=before,
            others=((6, other),),
        )
    yield Case(
        name="only the low half of a tail call's index counts",
        program=(
            *(mov(7, 0), map_of(2, 0), mov(3, 1), alu(AluOperation.LSH, 3, imm=32)),
            *(alu(_ADD, 3, imm=1), call("tail_call"), leave()),
        ),
        context=b"\x05",
        r0=5,
        maps=maps,
        before=before,
        after=before,
        others=((6, other),),
    )
    again = (alu(_ADD, 7, imm=1), *tail, copy(0, 7), leave())
    yield Case(
        name="as many tail calls as there are",
        program=(mov(7, 0), *tail, mov(0, 0), leave()),
        r0=TAIL_CALLS,
        maps=maps,
        before=before,
        after=before,
        others=((6, again),),
    )


def _inner_maps() -> Iterator[Case]:
    maps = (spec(MapType.ARRAY_OF_MAPS, value=4), spec(MapType.ARRAY))
    before = (Entry(map=0, key=word(1), value=word(1)), entry(0, 1234, 1))
    inner = (
        *(*point_to_key(1), call("map_lookup_elem"), jump(JumpOperation.JEQ, 0, 7, imm=0)),
        *(copy(1, 0), store_imm(10, 0, -8, Size.W), copy(2, 10), alu(_ADD, 2, imm=-8)),
        *(call("map_lookup_elem"), jump(JumpOperation.JEQ, 0, 1, imm=0), load(0, 0), leave()),
    )
    yield Case(
        name="ARRAY_OF_MAPS: a lookup gives a map",
        program=inner,
        r0=1234,
        maps=maps,
        before=before,
        after=before,
    )
    for key in (0, 2):
        yield Case(
            name=f"ARRAY_OF_MAPS: entry {key}, where nothing is",
            program=(*point_to_key(key), call("map_lookup_elem"), leave()),
            r0=0,
            maps=maps,
            before=before,
            after=before,
        )


def _engine() -> Iterator[Case]:
    yield Case(
        name="the engine is a processor", program=(call("get_smp_processor_id"), leave()), r0=0
    )
    yield Case(
        name="time is the event's",
        program=(
            call("ktime_get_ns"),
            copy(6, 0),
            call("ktime_get_ns"),
            alu(AluOperation.SUB, 0, 6),
            leave(),
        ),
        r0=0,
    )
    yield Case(
        name="the first random number", program=(call("get_prandom_u32"), leave()), r0=_FIRST_RANDOM
    )
    yield Case(
        name="a helper leaves r1 to r9",
        program=(
            *(mov(register, register) for register in range(1, 10)),
            call("get_smp_processor_id"),
            *(alu(_ADD, 0, register) for register in range(1, 10)),
            leave(),
        ),
        r0=45,
    )
