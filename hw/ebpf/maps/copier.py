"""Copies values between the memory of values and an operand buffer, four words a cycle."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_engine import BANK_WORDS, WORD_BYTES
from fanweave.hw.ebpf.maps.payloads import BEAT_BITS, PLACE_BITS
from fanweave.hw.ebpf.maps.value_store import StoreCommand

__all__ = ["ROW_BITS", "Copier", "CopierTask"]

_BEAT_BYTES = BANK_WORDS * WORD_BYTES
#: Bits of a row of an operand buffer.
ROW_BITS = 8


class CopierTask(data.Struct):
    """What is copied: ``length`` bytes at ``offset`` words behind ``base``.

    ``stores`` says that the operands go into the memory; with ``clears`` zeros do.
    """

    stores: 1
    clears: 1
    base: 16
    offset: 20
    mask: 20
    length: PLACE_BITS + 1


class Copier(wiring.Component):
    """Takes length / 32 cycles, rounded up, and two more to read.

    Members
    -------
    start : In(1); task : In(CopierTask)
        Begin; only while not `busy`. A task of no bytes ends at once.
    busy : Out(1)
    visits : stream out of `StoreCommand`
    visited : In(1); words_read : In(BEAT_BITS)
        A visit of this copier ended.
    operand_row : Out; operands : In(BEAT_BITS)
        Row that is stored next; combinational.
    result_write : Out(1); result_row : Out; result : Out(BEAT_BITS)
        A row that was read.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "task": In(CopierTask),
                "busy": Out(1),
                "visits": Out(stream.Signature(StoreCommand)),
                "visited": In(1),
                "words_read": In(BEAT_BITS),
                "operand_row": Out(ROW_BITS),
                "operands": In(BEAT_BITS),
                "result_write": Out(1),
                "result_row": Out(ROW_BITS),
                "result": Out(BEAT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        task = Signal(CopierTask)
        row = Signal(ROW_BITS)
        back = Signal(ROW_BITS)  # row of the next visit that ends
        flies = Signal()  # a visit has not ended
        visit = self.visits.payload
        whole = task.length >= _BEAT_BYTES
        taken = Signal()
        ones = Const((1 << _BEAT_BYTES) - 1, _BEAT_BYTES)
        m.d.comb += [
            self.visits.valid.eq(task.length != 0),
            visit.base.eq(task.base),
            visit.offset.eq(task.offset),
            visit.mask.eq(task.mask),
            visit.data.eq(Mux(task.clears, 0, self.operands)),
            visit.enables.eq(
                Mux(task.stores, Mux(whole, ones, ~(ones << task.length[:5])[:_BEAT_BYTES]), 0)
            ),
            taken.eq(self.visits.valid & self.visits.ready),
            self.operand_row.eq(row),
            self.busy.eq((task.length != 0) | (flies & ~task.stores)),
            self.result_write.eq(self.visited & ~task.stores),
            self.result_row.eq(back),
            self.result.eq(self.words_read),
        ]
        m.d.sync += flies.eq(taken | (flies & ~self.visited))
        with m.If(taken):
            m.d.sync += [
                row.eq(row + 1),
                task.offset.eq(task.offset + BANK_WORDS),
                task.length.eq(Mux(whole, task.length - _BEAT_BYTES, 0)),
            ]
        with m.If(self.visited):
            m.d.sync += back.eq(back + 1)
        with m.If(self.start):
            m.d.sync += [task.eq(self.task), row.eq(0), back.eq(0)]
        return m
