"""The core's last stage: registers and memories take results."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data

from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.golden.isa.ebpf_maps import Errno
from fanweave.hw.ebpf.alu import sign_extended
from fanweave.hw.ebpf.atomic import changed
from fanweave.hw.ebpf.bytes import bytes_of, low_bytes
from fanweave.hw.ebpf.helper_payloads import CopyWrite
from fanweave.hw.ebpf.late_results import LateKind, LateResults
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.ebpf.registers import RegisterFile
from fanweave.hw.ebpf.thread_memory import ThreadMemory
from fanweave.hw.ebpf.threads import Threads

__all__ = [
    "ThreadMemories",
    "copy_in",
    "executed_layout",
    "hold_back",
    "write_back",
    "write_late",
]

#: Cycles that a result or a copied word waits for a free one, before selection is held.
_PATIENCE = 8


class ThreadMemories:
    """Stack and context of all threads.

    Attributes
    ----------
    stack, context : ThreadMemory
    """

    def __init__(self, stack: ThreadMemory, context: ThreadMemory) -> None:
        self.stack = stack
        self.context = context

    def with_choice(self, in_stack: Signal) -> tuple[tuple[ThreadMemory, Signal], ...]:
        """Each with the condition under which it is meant."""
        return (self.stack, in_stack), (self.context, ~in_stack)


def executed_layout(threads: int) -> data.StructLayout:
    """What *execute* hands to *write back*."""
    return data.StructLayout(
        {
            "writes": 1,
            "stores": 1,
            "atomic": 1,
            "thread": range(threads),
            "frame": range(CALL_FRAMES),
            "register": 4,
            "value": 64,
            "source": 64,
            "r0": 64,
            "from_memory": 1,
            "in_stack": 1,
            "offset": 28,
            "size": 2,
            "extends_sign": 1,
            "atomic_operation": 8,
        }
    )


def write_back(
    m: Module, executed: data.View, registers: RegisterFile, memories: ThreadMemories
) -> None:
    """Store the result of the instruction that was executed in the cycle before."""
    memory_value = Signal(64)
    loaded = Signal(64)
    size = Signal(4)
    m.d.comb += [
        size.eq(bytes_of(executed.size)),
        memory_value.eq(
            Mux(executed.in_stack, memories.stack.read_data, memories.context.read_data)
        ),
        loaded.eq(low_bytes(memory_value, executed.size)),
    ]
    extended = Mux(executed.extends_sign, sign_extended(loaded, size << 3), loaded)
    m.d.comb += [
        registers.write_enable.eq(executed.writes),
        registers.write_thread.eq(executed.thread),
        registers.write_frame.eq(executed.frame),
        registers.write_register.eq(executed.register),
        registers.write_data.eq(Mux(executed.from_memory, extended, executed.value)),
    ]
    new = changed(
        m,
        operation=executed.atomic_operation,
        size=executed.size,
        old=loaded,
        source=executed.source,
        r0=executed.r0,
    )
    for memory, chosen in memories.with_choice(executed.in_stack):
        m.d.comb += [
            memory.write_enable.eq(executed.stores & chosen),
            memory.write_thread.eq(executed.thread),
            memory.write_offset.eq(executed.offset),
            memory.write_size.eq(size),
            memory.write_data.eq(Mux(executed.atomic, new, executed.source)),
        ]


def copy_in(
    m: Module, writes: data.View, thread: Signal, stores: Signal, memories: ThreadMemories
) -> None:
    """Store a word that a helper copies, when no instruction stores."""
    request: data.View[CopyWrite] = writes.payload
    m.d.comb += writes.ready.eq(~stores)
    with m.If(writes.valid & writes.ready):
        for memory, chosen in memories.with_choice(request.in_stack):
            m.d.comb += [
                memory.write_enable.eq(chosen),
                memory.write_thread.eq(thread),
                memory.write_offset.eq(request.offset),
                memory.write_size.eq(request.size),
                memory.write_data.eq(request.data),
            ]


def write_late(
    m: Module,
    late: LateResults,
    threads: Threads,
    registers: RegisterFile,
    *,
    free: Signal,
    call_valid: Signal,
    call_image: Signal,
    call_base: Signal,
) -> None:
    """Store a late result when no instruction writes a register; its thread goes on."""
    result = late.o.payload
    thread = Signal(threads.shape, name="late_thread")
    value = Signal(64, name="late_value")
    register = Signal(4, name="late_register")
    writes = Signal(name="late_writes")
    size = threads.size[thread]
    m.d.comb += [
        late.o.ready.eq(free),
        thread.eq(result.thread),
        value.eq(result.value),
        register.eq(threads.target[thread]),
    ]
    with m.If(late.o.valid & late.o.ready):
        m.d.sync += threads.ready[thread].eq(1)
        with m.If(result.cause != Cause.NONE):
            threads.end(thread, result.cause)
        with m.Elif(result.kind == LateKind.DIVISION):
            m.d.comb += writes.eq(1)
        with m.Elif(result.kind == LateKind.ACCESS):
            loaded = low_bytes(result.value, size)
            extended = sign_extended(loaded, bytes_of(size) << 3)
            m.d.comb += [
                writes.eq(threads.writes[thread]),
                value.eq(Mux(threads.extends_sign[thread], extended, loaded)),
            ]
        with m.Elif(~threads.ending[thread]):
            m.d.comb += [writes.eq(1), register.eq(0)]
            with m.If(result.goes_on_elsewhere):
                m.d.comb += value.eq(-Errno.NOENT)
                with m.If(call_valid & (threads.tail_calls[thread] != TAIL_CALLS)):
                    m.d.comb += writes.eq(0)
                    threads.go_on_in(thread, image=call_image, base=call_base)
    with m.If(writes):
        m.d.comb += [
            registers.write_enable.eq(1),
            registers.write_thread.eq(thread),
            registers.write_frame.eq(threads.frame[thread]),
            registers.write_register.eq(register),
            registers.write_data.eq(value),
        ]


def hold_back(m: Module, *waiting: Signal) -> Signal:
    """Whether selection is held, because something that is late found no free cycle for long."""
    patience = Signal(range(_PATIENCE + 1))
    with m.If(Cat(waiting).any()), m.If(patience != _PATIENCE):
        m.d.sync += patience.eq(patience + 1)
    with m.Else():
        m.d.sync += patience.eq(0)
    return patience == _PATIENCE
