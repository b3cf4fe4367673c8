"""Steps of operations on tries."""

from amaranth import Signal

from fanweave.golden.isa.ebpf_maps import Errno, UpdateFlag
from fanweave.hw.ebpf.maps.payloads import Command
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["add_states", "search"]

_LENGTH_BYTES = 4


def search(work: Work) -> None:
    """Any operation: first the prefix is looked for."""
    m, op = work.m, work.op
    bits = Signal(11)
    m.d.comb += bits.eq((work.descriptor.key_bytes - _LENGTH_BYTES) << 3)
    with m.If(op.key[:32] > bits):
        with m.If(work.is_lookup):
            work.finish(0)
        with m.Else():
            work.fail(Errno.INVALID)
    with m.Elif((op.command == Command.UPDATE) & (op.flags > UpdateFlag.EXIST)):
        work.fail(Errno.INVALID)
    with m.Else():
        m.d.comb += work.prefixes.start.eq(1)
        m.next = "SEARCH"


def add_states(work: Work) -> None:
    """States behind the first step."""
    m, op, prefixes = work.m, work.op, work.prefixes
    with m.State("SEARCH"), m.If(prefixes.done):
        m.d.sync += work.slot.eq(prefixes.slot)
        with m.If(work.is_lookup):
            place = work.first_word(prefixes.slot) << 3
            with m.If(prefixes.hit):
                work.finish(work.address(place))
            with m.Else():
                work.finish(0)
        with m.Elif(op.command == Command.DELETE):
            with m.If(prefixes.hit):
                m.next = "REMOVE_PREFIX"
            with m.Else():
                work.fail(Errno.NOENT)
        with m.Elif(prefixes.hit):
            with m.If(op.flags == UpdateFlag.NOEXIST):
                work.fail(Errno.EXIST)
            with m.Else():
                m.next = "STORE_PREFIX"
        with m.Elif(op.flags == UpdateFlag.EXIST):
            work.fail(Errno.NOENT)
        with m.Elif(work.has_room):
            m.d.sync += work.slot.eq(work.next_slot)
            work.take_slot()
            m.next = "STORE_PREFIX"
        with m.Else():
            work.fail(Errno.NO_SPACE)
    with m.State("STORE_PREFIX"):
        m.d.comb += [prefixes.write.eq(1), prefixes.taken.eq(1)]
        work.copy(work.first_word(work.slot), stores=1)
        work.finish(0)
    with m.State("REMOVE_PREFIX"):
        m.d.comb += prefixes.write.eq(1)
        work.free_slot(work.slot)
        work.finish(0)
