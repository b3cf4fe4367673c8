"""Takes instructions from the core, answers whether they trap, and gives them to the units."""

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause, RoundingMode
from fanweave.golden.isa.riscv_ventaglio import VectorFault
from fanweave.hw.core.payloads import Offload, OffloadResult, Verdict
from fanweave.hw.stream.queue import Queue
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.configuration import Configuration
from fanweave.hw.vector.decoder import VectorDecoder
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.legality import ArithmeticLegality
from fanweave.hw.vector.memory_legality import MemoryLegality
from fanweave.hw.vector.memory_payloads import memory_verdict
from fanweave.hw.vector.planner import Planner
from fanweave.hw.vector.plans import VectorUnitName, slot_ranges, vector_plan
from fanweave.hw.vector.sequencer import dispatch
from fanweave.hw.vector.ventaglio_state import VentaglioState
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["Front"]

_SYSTEM = 0b1110011


class Front(wiring.Component):
    """Gives its verdict in the cycle that an instruction comes in, unless that has to wait.

    It waits for a slot; a load or store for the verdict of the memory unit, and before that for
    its mask and indices; a CSR with ``vxsat`` in it for what may still saturate; Ventaglio's
    error register, and what is noted there, for the products before.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    offloads : stream in of `Offload`; verdicts : stream out of `Verdict`
        Transferred together.
    results : stream out of `OffloadResult`
        Of what changes the configuration.
    dispatches : stream out of `dispatch`
    asked : Out of `slot_ranges`; asked_blocked : In(1)
        See `SlotTable`.
    checks : stream out of `vector_instruction`; answers : stream in of `memory_verdict`
        See `MemoryUnit`.
    rounding : In(3)
        ``frm``.
    saturates, saturated : In(1)
        Something in flight may saturate; something did.
    quiet : In(1); fault : In of `VectorFault`; element : In(16)
        Ventaglio has nothing to do that may be wrong; what was wrong.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "offloads": In(stream.Signature(Offload)),
                "verdicts": Out(stream.Signature(Verdict)),
                "results": Out(stream.Signature(OffloadResult)),
                "dispatches": Out(stream.Signature(dispatch(config))),
                "asked": Out(slot_ranges(config)),
                "asked_blocked": In(1),
                "checks": Out(stream.Signature(vector_instruction(config))),
                "answers": In(stream.Signature(memory_verdict(config))),
                "rounding": In(3),
                "saturates": In(1),
                "saturated": In(1),
                "quiet": In(1),
                "fault": In(VectorFault),
                "element": In(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, word = self.offloads.payload, self.offloads.payload.word
        m.submodules.decoder = self._decoder = VectorDecoder()
        m.submodules.configuration = self._state = Configuration(config=self.config)
        m.submodules.planner = self._planner = planner = Planner(config=self.config)
        m.submodules.results = results = Queue(shape=OffloadResult, depth=2)
        wiring.connect(m, results.o, wiring.flipped(self.results))
        state, controls = self._state, self._decoder.controls
        #: Apart from what is dispatched, which depends on the verdict on it.
        self._plan = Signal(vector_plan(self.config))
        self._products = self._connect_products(m)
        legal = self._legal(m)
        m.d.comb += [
            self._decoder.word.eq(word),
            state.word.eq(word),
            state.rs1.eq(given.rs1),
            state.rs2.eq(given.rs2),
            state.saturated.eq(self.saturated),
            planner.word.eq(word),
            planner.rs1.eq(given.rs1),
            planner.rs2.eq(given.rs2),
            planner.fs1.eq(given.fs1),
            planner.controls.eq(controls),
            planner.sew.eq(Mux(state.vtype.illegal, 0, state.vtype.sew)),
            planner.lmul.eq(Mux(state.vtype.illegal, 0, state.vtype.lmul)),
            planner.vl.eq(state.vl),
            planner.vstart.eq(state.vstart),
            planner.frm.eq(self.rounding),
            planner.vxrm.eq(state.vxrm),
            self._plan.eq(planner.plan),
            self.dispatches.payload.plan.eq(self._plan),
            self.dispatches.payload.ranges.eq(planner.ranges),
            self.asked.eq(planner.ranges),
            self.checks.payload.eq(self._plan.instruction),
            results.i.payload.register.eq(word[7:12]),
            results.i.payload.value.eq(state.value),
        ]
        if self._products is not None:
            with m.If(self._products.mine):
                m.d.comb += results.i.payload.value.eq(self._products.value)
            self._plan_products(m, self._products)
        self._answer(m, legal, results)
        return m

    def _connect_products(self, m: Module) -> VentaglioState | None:
        """Ventaglio's part, if there is one."""
        if self.config.ventaglio is None:
            return None
        m.submodules.ventaglio = products = VentaglioState(config=self.config)
        given, state = self.offloads.payload, self._state
        m.d.comb += [
            products.word.eq(given.word),
            products.rs1.eq(given.rs1),
            products.fs1.eq(given.fs1),
            products.controls.eq(self._decoder.controls),
            products.vtype.eq(state.vtype),
            products.vl.eq(state.vl),
            products.vstart.eq(state.vstart),
            products.changes.eq(state.commit | state.shortened),
            products.fault.eq(self.fault),
            products.element.eq(self.element),
        ]
        return products

    def _plan_products(self, m: Module, products: VentaglioState) -> None:
        """What Ventaglio has to do, and what its CSRs say of loads and stores."""
        given, instruction = self.dispatches.payload, self._plan.instruction
        turn = products.bank & ~self.answers.payload.trap & (products.length != 0)
        m.d.comb += given.product.eq(products.plan)
        with m.If(self._decoder.controls.unit == VectorUnitName.VENTAGLIO):
            m.d.comb += [given.ranges.vs2.eq(products.vs2), given.ranges.vs1.eq(products.vs1)]
        with m.If(turn):
            m.d.comb += given.product.marker.eq(Marker.DRAIN)
        with m.If(products.packed | products.bank):
            m.d.comb += [
                instruction.vl.eq(products.length),
                given.ranges.vd.eq(products.vd),
                given.ranges.vs1.eq(0),
            ]
        with m.If(products.bank):
            m.d.comb += [instruction.bank.eq(1), instruction.rs2.eq(products.bank_word)]

    def _legal(self, m: Module) -> Value:
        """Whether a unit may execute the instruction."""
        state, controls = self._state, self._decoder.controls
        word = self.offloads.payload.word
        m.submodules.arithmetic = arithmetic = ArithmeticLegality()
        m.submodules.memory = memory = MemoryLegality(segments=self.config.segments)
        for part in (arithmetic, memory):
            m.d.comb += [
                part.word.eq(word),
                part.sew.eq(state.vtype.sew),
                part.lmul.eq(state.vtype.lmul),
                part.illegal_type.eq(state.vtype.illegal),
            ]
        allowed = Mux(controls.unit == VectorUnitName.MEMORY, memory.legal, arithmetic.legal)
        refused = (controls.from_zero & (state.vstart != 0)) | (
            controls.rounds & (self.rounding > RoundingMode.RMM)
        )
        products = self._products
        if products is None:
            return controls.known & allowed & ~refused & ~controls.ventaglio
        allowed = Mux(products.decides, products.legal, allowed & ~products.refuses)
        return controls.known & allowed & ~refused

    def _answer(self, m: Module, legal: Value, results: Queue) -> None:
        state, controls = self._state, self._decoder.controls
        products = self._products
        # What there is without Ventaglio: nothing of its, so nothing to wait for.
        waits, noted, idle, other_csr = (Const(0, 1) for _ in range(4))
        if products is not None:
            waits, noted, idle = products.waits, products.notes, products.idle
            other_csr = products.mine
        offers, word, verdict = Signal(), self.offloads.payload.word, Signal(Verdict)
        answer = self.answers.payload
        decided, needs_slot, goes = Signal(), Signal(), Signal()
        lanes = (controls.unit == VectorUnitName.INTEGER) | (controls.unit == VectorUnitName.FLOAT)
        to_memory = controls.unit == VectorUnitName.MEMORY
        saturation = self._names_saturation(word)
        # Lanes have nothing to do without elements; the other units decide that themselves.
        m.d.comb += [
            offers.eq(self.offloads.valid & ~waits),
            needs_slot.eq((~lanes | (state.vstart < state.vl)) & ~idle),
        ]
        if products is not None:
            with m.If(products.mine):
                m.d.comb += [
                    decided.eq(results.i.ready & (self.quiet | ~products.of_error)),
                    products.commit.eq(offers & decided),
                    results.i.valid.eq(offers & decided & (word[7:12] != 0)),
                ]
            with m.If(noted & ~legal):
                m.d.comb += products.note.eq(offers & self.quiet)
        with m.If(state.mine):
            m.d.comb += [
                decided.eq(results.i.ready & ~(saturation & self.saturates)),
                state.commit.eq(offers & decided),
                results.i.valid.eq(offers & decided & (word[7:12] != 0)),
            ]
        with m.Elif(~legal & ~other_csr):
            m.d.comb += [
                decided.eq(~noted | self.quiet),
                verdict.trap.eq(1),
                verdict.cause.eq(Cause.ILLEGAL_INSTRUCTION),
            ]
        with m.Elif(to_memory):
            m.d.comb += [
                self.checks.valid.eq(offers & self.dispatches.ready & ~self.asked_blocked),
                self.answers.ready.eq(self.checks.valid),
                decided.eq(self.checks.valid & self.checks.ready),
                verdict.trap.eq(answer.trap),
                verdict.cause.eq(answer.cause),
                verdict.value.eq(answer.value),
                # What comes before the element that traps is executed.
                self.dispatches.valid.eq(decided),
                state.finished.eq(decided & ~answer.trap),
                state.stopped.eq(decided & answer.trap),
                state.shortened.eq(decided & answer.shortened & ~answer.trap),
                state.element.eq(answer.element),
            ]
        with m.Elif(legal):
            m.d.comb += [
                decided.eq(~needs_slot | self.dispatches.ready),
                self.dispatches.valid.eq(offers & needs_slot),
                state.finished.eq(offers & decided),
            ]
        m.d.comb += [
            goes.eq(offers & decided),
            self.verdicts.valid.eq(goes),
            self.verdicts.payload.eq(verdict),
            self.offloads.ready.eq(decided & ~waits),
        ]

    def _names_saturation(self, word: Value) -> Value:
        """Whether the instruction accesses a CSR that holds ``vxsat``."""
        addresses = [CSR_BY_NAME[name].address for name in ("vxsat", "vcsr")]
        return (word[:7] == _SYSTEM) & word[20:].matches(*addresses)
