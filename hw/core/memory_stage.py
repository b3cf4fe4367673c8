"""Loads, stores and atomic instructions while they execute."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.atomic import Atomic
from fanweave.hw.core.issue import Issued
from fanweave.hw.core.operations import AtomicOperation, Unit
from fanweave.hw.core.payloads import Access, VectorBusy

__all__ = ["MemoryStage"]


class MemoryStage(wiring.Component):
    """A load or store is over when it is asked for; an access to a peripheral when it is answered.

    Members
    -------
    instruction : In of `Issued`
    active : In(1)
        It is there, and traps for no other reason.
    address : In(32); peripheral : In(1)
        Of its access, and whether that is to a peripheral.
    vector : In of `VectorBusy`
        Accesses of the vector unit, which come first if one of both stores.
    forget : In(1)
        See `Atomic`.
    accesses : stream out of `Access`; held_done, held_error, held_data : In
        See `LoadStore`.
    finished, failed : Out(1); cause : Out(4)
        It is over, and with ``failed`` by a trap.
    answered : Out(1)
        The response has come with it, so nothing is left for later.
    result : Out(32)
        Of an atomic instruction.
    """

    instruction: In(Issued)
    active: In(1)
    address: In(32)
    peripheral: In(1)
    vector: In(VectorBusy)
    forget: In(1)
    accesses: Out(stream.Signature(Access))
    held_done: In(1)
    held_error: In(1)
    held_data: In(32)
    finished: Out(1)
    failed: Out(1)
    cause: Out(4)
    answered: Out(1)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, access = self.instruction, self.accesses.payload
        controls = held.controls
        is_store, is_atomic = controls.unit == Unit.STORE, controls.unit == Unit.ATOMIC
        plain = is_store | (controls.unit == Unit.LOAD)
        reserves = is_atomic & (controls.operation == AtomicOperation.LR)
        free = ~self.vector.stores & ~(controls.writes_memory & self.vector.loads)
        m.submodules.atomic = atomic = Atomic()
        asked, transfers = Signal(), Signal()  # asked: the response is still to come
        m.d.comb += [
            atomic.active.eq(self.active & is_atomic & free),
            atomic.operation.eq(controls.operation),
            atomic.address.eq(self.address),
            atomic.operand.eq(held.rs2),
            atomic.response.eq(self.held_done),
            atomic.error.eq(self.held_error),
            atomic.word.eq(self.held_data),
            atomic.forget.eq(self.forget),
            atomic.accesses.ready.eq(is_atomic & self.accesses.ready),
            self.result.eq(atomic.result),
            transfers.eq(self.accesses.valid & self.accesses.ready),
            self.answered.eq(asked & self.held_done),
            self.cause.eq(
                Mux(is_store | (is_atomic & ~reserves), Cause.STORE_FAULT, Cause.LOAD_FAULT)
            ),
        ]
        with m.If(is_atomic):
            m.d.comb += [
                self.accesses.valid.eq(atomic.accesses.valid),
                access.eq(atomic.accesses.payload),
                self.finished.eq(atomic.done),
                self.failed.eq(atomic.failed),
            ]
        with m.Else():
            m.d.comb += [
                self.accesses.valid.eq(self.active & plain & free & ~asked),
                access.address.eq(self.address),
                access.write.eq(is_store),
                access.size.eq(controls.operation[:2]),
                access.extends_zero.eq(controls.operation[2]),
                access.floating.eq(controls.writes_f),
                access.register.eq(held.fetched.word[7:12]),
                access.held.eq(self.peripheral),
                access.data.eq(Mux(controls.floating, held.fs2, held.rs2)),
                self.finished.eq(self.answered | (transfers & ~self.peripheral)),
                self.failed.eq(self.answered & self.held_error),
            ]
            with m.If(self.answered):
                m.d.sync += asked.eq(0)
            with m.Elif(transfers & self.peripheral):
                m.d.sync += asked.eq(1)
        return m
