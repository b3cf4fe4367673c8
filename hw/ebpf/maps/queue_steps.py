"""Steps of operations on queues and stacks."""

from amaranth import Mux, Signal

from fanweave.golden.isa.ebpf_maps import Errno, MapType, UpdateFlag
from fanweave.hw.ebpf.maps.payloads import Command, is_kind
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["pop", "push"]


def push(work: Work) -> None:
    """Append a value; a full map may drop its oldest one."""
    m, state, flags = work.m, work.state, work.op.flags
    full = state.producer[:24] == work.descriptor.entries
    with m.If((flags != UpdateFlag.ANY) & (flags != UpdateFlag.EXIST)):
        work.fail(Errno.INVALID)
    with m.Elif(full & (flags != UpdateFlag.EXIST)):
        work.fail(Errno.TOO_BIG)
    with m.Else():
        with m.If(full):
            m.d.comb += work.next_state.consumer.eq(_around(work, state.consumer[:24] + 1))
        with m.Else():
            m.d.comb += work.next_state.producer.eq(state.producer + 1)
        m.d.comb += work.keep_state.eq(1)
        # Of a full map that is the place of the oldest value.
        slot = _around(work, state.consumer[:24] + state.producer[:24])
        work.copy(work.first_word(slot), stores=1)
        work.finish(0)


def pop(work: Work) -> None:
    """Read the value that leaves next, and let it go unless it is only looked at."""
    m, state = work.m, work.state
    is_stack = is_kind(work.descriptor, MapType.STACK)
    with m.If(state.producer == 0):
        work.fail(Errno.NOENT)
    with m.Else():
        youngest = _around(work, state.consumer[:24] + state.producer[:24] - 1)
        slot = Mux(is_stack, youngest, state.consumer[:24])
        with m.If(work.op.command == Command.POP):
            m.d.comb += [
                work.keep_state.eq(1),
                work.next_state.producer.eq(state.producer - 1),
            ]
            with m.If(~is_stack):
                m.d.comb += work.next_state.consumer.eq(_around(work, state.consumer[:24] + 1))
        work.copy(work.first_word(slot), stores=0)
        work.finish(0, answered=1)


def _around(work: Work, number: Signal) -> Signal:
    """A place that may be behind the last one."""
    entries = work.descriptor.entries
    return Mux(number >= entries, number - entries, number)[:24]
