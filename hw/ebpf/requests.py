"""What leaves the core's pipeline: divisions, accesses to values of maps, calls of helpers."""

from amaranth import Module, Mux, Value
from amaranth.lib import data

from fanweave.hw.ebpf.bytes import bytes_of
from fanweave.hw.ebpf.core_blocks import CoreBlocks
from fanweave.hw.ebpf.helper_payloads import CLEAN_UP
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS

__all__ = ["call", "divide", "reach_values"]


def divide(
    m: Module, blocks: CoreBlocks, decoded: data.View, *, dst: Value, src: Value, enable: Value
) -> None:
    """A division or a modulo."""
    word, controls = decoded.word, decoded.controls
    division = blocks.divisions.i.payload
    m.d.comb += [
        blocks.divisions.i.valid.eq(enable),
        division.dst.eq(dst),
        division.src.eq(src),
        division.wide.eq(controls.wide),
        division.signed.eq(word.offset[0]),
        division.modulo.eq(controls.operation[3]),
        division.thread.eq(decoded.thread),
    ]


def reach_values(
    m: Module, blocks: CoreBlocks, decoded: data.View, access: data.View, src: Value, enable: Value
) -> None:
    """A load, a store or an atomic operation on a map's value."""
    word, controls = decoded.word, decoded.controls
    request = blocks.accesses.i.payload
    m.d.comb += [
        blocks.accesses.i.valid.eq(enable),
        request.thread.eq(decoded.thread),
        request.map.eq(access.offset[PLACE_BITS:]),
        request.place.eq(access.offset[:PLACE_BITS]),
        request.span.eq(bytes_of(controls.size)),
        request.size.eq(controls.size),
        request.stores.eq(controls.is_store | controls.is_atomic),
        request.loads.eq(controls.is_load | controls.is_atomic),
        request.atomic.eq(controls.is_atomic),
        request.atomic_operation.eq(word.imm[:8]),
        request.source.eq(src),
        request.r0.eq(blocks.registers.r0),
    ]


def call(
    m: Module, blocks: CoreBlocks, decoded: data.View, *, enable: Value, cleans: Value
) -> None:
    """Call a helper, or have records discarded that an event leaves open."""
    request = blocks.calls.i.payload
    m.d.comb += [
        blocks.calls.i.valid.eq(enable | cleans),
        request.thread.eq(decoded.thread),
        request.helper.eq(Mux(cleans, CLEAN_UP, decoded.word.imm[:8])),
    ]
