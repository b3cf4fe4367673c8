"""Address of a load or a store of the core, and whether it may be."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from fanweave.golden.isa.ebpf_machine import FRAME_BYTES, Region
from fanweave.hw.ebpf.bytes import bytes_of
from fanweave.hw.ebpf.core_blocks import CoreBlocks

__all__ = ["ACCESS", "start_access"]

#: What is known of an access in *execute*; ``in_values`` is memory of a map, which has its own
#: checks, and ``behind`` where it ends, if it is legal.
ACCESS = data.StructLayout(
    {
        "in_stack": 1,
        "in_context": 1,
        "in_values": 1,
        "legal": 1,
        "aligned": 1,
        "offset": 30,
        "behind": 16,
    }
)


def start_access(m: Module, blocks: CoreBlocks, decoded: data.View, base: Value) -> data.View:
    """Check an access, if the instruction is one, and start reading stack and context.

    Parameters
    ----------
    m : Module
        Of the core.
    blocks : CoreBlocks
        Of the core.
    decoded : View
        The instruction.
    base : Value
        Address that its offset is added to.
    """
    controls, thread = decoded.controls, decoded.thread
    access = Signal(ACCESS)
    address = Signal(64)
    size = Signal(4)
    behind = Signal(30)
    accesses = controls.is_load | controls.is_store | controls.is_atomic
    limit = (decoded.frame + 1) * FRAME_BYTES
    in_context = address[28:] == Region.CONTEXT >> 28
    in_values = address[30:] == Region.MAP_VALUES >> 30
    m.d.comb += [
        address.eq(base + decoded.word.offset.as_signed()),
        size.eq(bytes_of(controls.size)),
        behind.eq(address[:28] + size),
        access.offset.eq(address[:30]),
        access.behind.eq(behind),
        access.in_stack.eq(address[28:] == Region.STACK >> 28),
        access.in_context.eq(in_context & accesses),
        access.in_values.eq(in_values & accesses),
        access.legal.eq(
            Mux(
                accesses,
                (access.in_stack & (behind <= limit))
                | (in_context & (behind <= blocks.threads.length[thread]))
                | in_values,
                1,
            )
        ),
        access.aligned.eq((address[:3] & (size - 1)[:3]) == 0),
    ]
    for memory in (blocks.memories.stack, blocks.memories.context):
        m.d.comb += [
            memory.read_thread.eq(thread),
            memory.read_offset.eq(address[: len(memory.read_offset)]),
        ]
    return access
