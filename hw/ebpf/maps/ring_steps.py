"""Steps of operations on ring buffers."""

from amaranth import Cat, Const, Mux, Signal, Value

from fanweave.golden.isa.ebpf_maps import Errno, RecordFlag, RingQuery
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Command
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["add_states", "consume", "finish_record", "query", "reserve"]

_HEADER_BYTES = 8
_POSITION_BITS = PLACE_BITS + 2  # what differences of positions need


def reserve(work: Work) -> None:
    """A new record, open or whole; its header is written in this step."""
    m, op, state = work.m, work.op, work.state
    outputs = op.command == Command.OUTPUT
    room = Signal()
    used = (state.producer - state.consumer)[:_POSITION_BITS]
    m.d.comb += room.eq(used + _taken(op.length) < work.descriptor.entries)
    start = _in_ring(work, state.producer)
    with m.If(room):
        _visit_header(work, start, op.length, Mux(outputs, 0, RecordFlag.BUSY), stores=1)
        with m.If(work.visit_ready):
            m.d.comb += [
                work.keep_state.eq(1),
                work.next_state.producer.eq(state.producer + _taken(op.length)),
            ]
            with m.If(outputs):
                work.copy((start >> 3) + 1, stores=1, length=op.length)
                work.finish(0)
            with m.Else():
                work.finish(work.address(start + _HEADER_BYTES), answered=1)
    with m.Elif(outputs):
        work.fail(Errno.AGAIN)
    with m.Else():
        work.finish(0)


def finish_record(work: Work) -> None:
    """Close an open record, of which the engine knows the length."""
    m, op = work.m, work.op
    discards = op.command == Command.DISCARD
    start = op.place - _HEADER_BYTES
    _visit_header(work, start, op.length, Mux(discards, RecordFlag.DISCARDED, 0), stores=1)
    with m.If(work.visit_ready):
        work.finish(0)


def query(work: Work) -> None:
    """One of the numbers of a ring; of a queue its count and its oldest place."""
    m, state = work.m, work.state
    with m.Switch(work.op.place):
        with m.Case(RingQuery.AVAILABLE):
            work.finish(state.producer - state.consumer)
        with m.Case(RingQuery.SIZE):
            work.finish(work.descriptor.entries)
        with m.Case(RingQuery.CONSUMER):
            work.finish(state.consumer)
        with m.Case(RingQuery.PRODUCER):
            work.finish(state.producer)
        with m.Default():
            work.finish(0)


def consume(work: Work) -> None:
    """Look at the oldest record; a discarded one is skipped."""
    m, state = work.m, work.state
    with m.If(state.producer == state.consumer):
        work.finish(0)
    with m.Else():
        _visit_header(work, _in_ring(work, state.consumer), Const(0, 1), Const(0, 1), stores=0)
        with m.If(work.visit_ready):
            m.next = "HEADER"


def add_states(work: Work) -> None:
    """States behind the first step."""
    m, state = work.m, work.state
    with m.State("HEADER"):
        word = work.words_read[:32]
        length = word[: PLACE_BITS + 1]
        with m.If(work.visit_ended):
            is_busy, is_discarded = word[31], word[30]
            with m.If(is_busy):
                work.finish(0)
            with m.Elif(is_discarded | (work.op.command == Command.ADVANCE)):
                m.d.comb += [
                    work.keep_state.eq(1),
                    work.next_state.consumer.eq(state.consumer + _taken(length)),
                ]
                with m.If(work.op.command == Command.ADVANCE):
                    work.finish(0, answered=1)
                with m.Else():
                    m.next = "START"
            with m.Else():
                place = _in_ring(work, state.consumer) + _HEADER_BYTES
                work.finish(Cat(length, Const(0, 32 - len(length)), place), answered=1)


def _visit_header(work: Work, start: Value, length: Value, flag: Value, *, stores: int) -> None:
    work.m.d.comb += [
        work.visit_valid.eq(1),
        work.visit.offset.eq(start >> 3),
        work.visit.data.eq(length | flag),
        work.visit.enables.eq(0xFF if stores else 0),
    ]


def _in_ring(work: Work, position: Value) -> Value:
    """Place of a position; the size is a power of two."""
    return (position & (work.descriptor.entries - 1))[: PLACE_BITS + 1]


def _taken(length: Value) -> Value:
    """Bytes of a record with its header."""
    return _HEADER_BYTES + (((length + 7) >> 3) << 3)
