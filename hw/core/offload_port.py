"""Gives instructions to the vector unit; and what stands there if there is none."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.issue import Issued
from fanweave.hw.core.operations import Unit
from fanweave.hw.core.payloads import Offload, OffloadResult, Verdict

__all__ = ["NoVectorUnit", "OffloadPort"]


class OffloadPort(wiring.Component):
    """Holds an instruction in the pipeline until it is known whether it traps.

    Members
    -------
    instruction : In of `Issued`; active : In(1)
        The instruction in execution; it is there and traps for no other reason.
    csr_of_vector : In(1)
        The CSR that it names belongs to the vector unit.
    idle, stores_idle : In(1)
        No scalar access, no scalar store, waits for a response.
    offloads : stream out of `Offload`; verdicts : stream in of `Verdict`, always ready
        One verdict for each instruction, at the earliest in the cycle that transfers it.
    offloaded : Out(1)
        The instruction is one for the vector unit.
    done : Out(1); verdict : Out of `Verdict`
        It is over; ``value`` is what goes to ``mtval``.
    """

    instruction: In(Issued)
    active: In(1)
    csr_of_vector: In(1)
    idle: In(1)
    stores_idle: In(1)
    offloads: Out(stream.Signature(Offload))
    verdicts: In(stream.Signature(Verdict))
    offloaded: Out(1)
    done: Out(1)
    verdict: Out(Verdict)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, controls = self.instruction, self.instruction.controls
        sent, transfers, number = Signal(), Signal(), Signal(4)
        given = self.offloads.payload
        # Scalar accesses before it come first, unless both only load.
        free = Mux(controls.writes_memory, self.idle, ~controls.reads_memory | self.stores_idle)
        m.d.comb += [
            self.offloaded.eq(
                (controls.unit == Unit.OFFLOAD) | ((controls.unit == Unit.CSR) & self.csr_of_vector)
            ),
            self.offloads.valid.eq(self.active & self.offloaded & free & ~sent),
            given.word.eq(held.fetched.word),
            given.id.eq(number),
            given.rs1.eq(held.rs1),
            given.rs2.eq(held.rs2),
            given.fs1.eq(held.fs1),
            transfers.eq(self.offloads.valid & self.offloads.ready),
            self.verdicts.ready.eq(1),
            self.done.eq(self.verdicts.valid & (sent | transfers)),
            self.verdict.eq(self.verdicts.payload),
        ]
        with m.If(self.verdicts.payload.cause == Cause.ILLEGAL_INSTRUCTION):
            m.d.comb += self.verdict.value.eq(held.fetched.word)
        with m.If(transfers):
            m.d.sync += number.eq(number + 1)
        with m.If(self.done):
            m.d.sync += sent.eq(0)
        with m.Elif(transfers):
            m.d.sync += sent.eq(1)
        return m


class NoVectorUnit(wiring.Component):
    """A core without a vector unit: every offloaded instruction is illegal.

    Members
    -------
    offloads : stream in of `Offload`
    verdicts : stream out of `Verdict`, always ready
    results : stream out of `OffloadResult`
        None ever comes.
    """

    offloads: In(stream.Signature(Offload))
    verdicts: Out(stream.Signature(Verdict))
    results: Out(stream.Signature(OffloadResult))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.offloads.ready.eq(1),
            self.verdicts.valid.eq(self.offloads.valid),
            self.verdicts.payload.trap.eq(1),
            self.verdicts.payload.cause.eq(Cause.ILLEGAL_INSTRUCTION),
        ]
        return m
