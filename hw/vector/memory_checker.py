"""Whether a vector access reaches all of its elements, before any of them moves."""

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.memory_extent import MemoryExtent, reaches_both
from fanweave.hw.vector.memory_operations import MemoryOperation
from fanweave.hw.vector.memory_payloads import memory_plan, memory_verdict
from fanweave.hw.vector.memory_walk import ElementWalk, IndexScan
from fanweave.hw.vector.payloads import read_port

__all__ = ["MemoryChecker"]

_O = MemoryOperation


class MemoryChecker(wiring.Component):
    """Answers at once where the ends of an access tell, and walks through its elements elsewhere.

    Unit-stride accesses from element 0 on, the common case, have their verdict in the cycle that
    offers them; strided ones in the next cycle, indexed ones after as many cycles as their
    indices have words. Only where these cannot vouch for all elements, each is looked at.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    checks : stream in of `vector_instruction`
        Transferred together with its verdict. While it is offered, v0 and the index registers
        are as the instruction has to see them.
    verdicts : stream out of `memory_verdict`
    plans : stream out of `memory_plan`, one for each verdict, also for traps
    mask : In(vlen)
    index : read port
        A value is looked at in its first cycle only.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "checks": In(stream.Signature(vector_instruction(config))),
                "verdicts": Out(stream.Signature(memory_verdict(config))),
                "plans": Out(stream.Signature(memory_plan(config))),
                "mask": In(config.vlen),
                "index": Out(read_port(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, instruction = self.config, self.checks.payload
        m.submodules.extent = self._extent = extent = MemoryExtent(config=config)
        m.submodules.scan = scan = IndexScan(config=config)
        m.submodules.walk = self._walk = walk = ElementWalk(config=config)
        m.d.comb += extent.instruction.eq(instruction)
        self._connect(m, scan, walk)
        operation = extent.controls.operation
        passes, answered = Signal(), Signal()
        self._refused = Signal()
        far, crooked = Signal(signed(46)), Signal()
        strides = (extent.length - 1) * instruction.rs2.as_signed()
        with m.FSM(name="check"):
            with m.State("START"):
                m.d.sync += [
                    far.eq(instruction.scalar + strides),
                    crooked.eq((instruction.rs2 & extent.low).any()),
                ]
                with m.If(self.checks.valid & self.plans.ready):
                    with m.If(extent.empty | extent.contiguous):
                        m.d.comb += passes.eq(1)
                    with m.Elif(instruction.bank):
                        # Accumulators move together or not at all.
                        m.d.comb += self._refused.eq(1)
                    with m.Elif(operation == _O.STRIDED):
                        m.next = "RANGE"
                    with m.Elif(operation == _O.INDEXED):
                        m.next = "SCAN"
                    with m.Else():
                        m.next = "WALK"
            with m.State("SCAN"):
                m.d.comb += scan.active.eq(1)
                m.d.sync += [far.eq(instruction.scalar + scan.most), crooked.eq(scan.crooked)]
                with m.If(scan.done):
                    m.next = "RANGE"
            with m.State("RANGE"):
                with m.If(crooked | ~self._within(far)):
                    m.next = "WALK"
                with m.Else():
                    m.d.comb += passes.eq(1)
                    with m.If(answered):
                        m.next = "START"
            with m.State("WALK"):
                m.d.comb += walk.active.eq(1)
                with m.If(answered):
                    m.next = "START"
        m.d.comb += [
            self.verdicts.valid.eq(passes | self._refused | walk.done),
            answered.eq(self.verdicts.valid & self.verdicts.ready),
            self.checks.ready.eq(answered),
            self.plans.valid.eq(answered),
        ]
        self._answer(m)
        return m

    def _connect(self, m: Module, scan: IndexScan, walk: ElementWalk) -> None:
        """Both look at the same access; one of them at a time."""
        instruction, extent = self.checks.payload, self._extent
        controls = extent.controls
        for part in (scan, walk):
            m.d.comb += [
                part.register.eq(instruction.word[20:25]),
                part.width.eq(controls.width),
                part.low.eq(extent.low),
                part.first.eq(instruction.vstart),
                part.length.eq(extent.length),
                part.masked.eq(controls.masked),
                part.mask.eq(self.mask),
                part.index.ready.eq(self.index.ready),
                part.index.value.eq(self.index.value),
            ]
        m.d.comb += [
            walk.base.eq(instruction.scalar),
            walk.stride.eq(
                Mux(
                    controls.operation == _O.STRIDED,
                    instruction.rs2,
                    extent.fields << extent.size,
                )
            ),
            walk.indexed.eq(controls.operation == _O.INDEXED),
            walk.size.eq(extent.size),
            walk.fields.eq(extent.fields),
            self.index.valid.eq(scan.index.valid | walk.index.valid),
            self.index.address.eq(Mux(scan.index.valid, scan.index.address, walk.index.address)),
        ]

    def _within(self, far: Value) -> Value:
        """Whether all segments between the first and the one that is farthest can be reached."""
        base, extent = self.checks.payload.scalar, self._extent
        segment = (extent.fields << extent.size) - 1
        return (
            ~far[32:].any()
            & ~(base & extent.low).any()
            & reaches_both(base, base + segment)
            & reaches_both(base, far[:32])
            & reaches_both(base, far[:32] + segment)
        )

    def _answer(self, m: Module) -> None:
        verdict, plan = self.verdicts.payload, self.plans.payload
        controls, walk = self._extent.controls, self._walk
        fault, spared, misaligned = Signal(), Signal(), Signal()
        m.d.comb += [
            fault.eq(self._refused | (walk.done & walk.fault)),
            spared.eq((controls.operation == _O.FAULT_FIRST) & (walk.element != 0)),
            misaligned.eq((walk.address & self._extent.low).any()),
            verdict.trap.eq(fault & ~spared),
            verdict.shortened.eq(fault & spared),
            verdict.value.eq(walk.address),
            verdict.cause.eq(
                Mux(
                    controls.store,
                    Mux(misaligned, Cause.STORE_MISALIGNED, Cause.STORE_FAULT),
                    Mux(misaligned, Cause.LOAD_MISALIGNED, Cause.LOAD_FAULT),
                )
            ),
            verdict.element.eq(walk.element),
            plan.store.eq(controls.store),
            plan.contiguous.eq(self._extent.contiguous & (self._extent.fields == 1)),
            plan.length.eq(Mux(fault, walk.element, self._extent.length)),
        ]
