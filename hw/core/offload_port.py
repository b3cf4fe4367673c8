"""Gives instructions to the vector unit; and what stands there if there is none."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.payloads import Offload, OffloadResult, Verdict

__all__ = ["NoVectorUnit", "OffloadPort"]


class OffloadPort(wiring.Component):
    """Holds an instruction in the pipeline until it is known whether it traps.

    Members
    -------
    active : In(1)
        Such an instruction is there; it stays until ``done``.
    instruction : In of `Offload`
        ``id`` is left to be filled in.
    offloads : stream out of `Offload`; verdicts : stream in of `Verdict`, always ready
        One verdict for each instruction, at the earliest in the cycle that transfers it.
    done : Out(1); verdict : Out of `Verdict`
    """

    active: In(1)
    instruction: In(Offload)
    offloads: Out(stream.Signature(Offload))
    verdicts: In(stream.Signature(Verdict))
    done: Out(1)
    verdict: Out(Verdict)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sent, transfers, number = Signal(), Signal(), Signal(4)
        m.d.comb += [
            self.offloads.valid.eq(self.active & ~sent),
            self.offloads.payload.eq(self.instruction),
            self.offloads.payload.id.eq(number),
            transfers.eq(self.offloads.valid & self.offloads.ready),
            self.verdicts.ready.eq(1),
            self.done.eq(self.verdicts.valid & (sent | transfers)),
            self.verdict.eq(self.verdicts.payload),
        ]
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
