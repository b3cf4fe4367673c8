"""Steps of operations on arrays of programs and of maps."""

from amaranth import Cat, Const, Mux, Signal

from fanweave.golden.isa.ebpf_machine import Region
from fanweave.golden.isa.ebpf_maps import Errno, MapType
from fanweave.hw.ebpf.maps.payloads import Command, is_kind
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["access", "add_states"]

#: An entry is a word: a number, and whether it is one.
_NUMBER_BITS = 32


def access(work: Work) -> None:
    """Any operation: a bad number ends it, otherwise the entry is read."""
    m, op = work.m, work.op
    updates = op.command == Command.UPDATE
    changes = updates | (op.command == Command.DELETE)
    with m.If(updates & (op.flags != 0)):
        work.fail(Errno.INVALID)
    with m.Elif(op.key[:_NUMBER_BITS] >= work.descriptor.entries):
        with m.If(changes):
            work.fail(Errno.TOO_BIG)
        with m.Else():
            work.finish(0)
    with m.Else():
        m.d.comb += [
            work.visit_valid.eq(1),
            work.visit.offset.eq(op.key[:20]),
            work.visit.enables.eq(Mux(changes, 0xFF, 0)),
            work.visit.data.eq(Cat(op.length, Const(0, _NUMBER_BITS - len(op.length)), updates)),
        ]
        with m.If(work.visit_ready):
            m.next = "ENTRY"


def add_states(work: Work) -> None:
    """States behind the first step."""
    m, op = work.m, work.op
    with m.State("ENTRY"):
        number = work.words_read[:_NUMBER_BITS]
        exists = work.words_read[_NUMBER_BITS]
        value = Signal(64)
        is_map = is_kind(work.descriptor, MapType.ARRAY_OF_MAPS)
        m.d.comb += value.eq(Mux(is_map, Region.MAP_HANDLES + number, number))
        with m.If(work.visit_ended):
            with m.If(op.command == Command.UPDATE):
                work.finish(0)
            with m.Elif(op.command == Command.DELETE):
                work.finish(Mux(exists, Const(0, 64), Const(-Errno.NOENT, 64)))
            with m.Else():
                work.finish(Mux(exists, value, 0), answered=exists)
