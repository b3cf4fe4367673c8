"""Executes instructions in order; behind it, nothing traps any more."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import RoundingMode
from fanweave.hw.core.csr import CsrFile
from fanweave.hw.core.float_unit import FloatRequest
from fanweave.hw.core.flow import Flow
from fanweave.hw.core.integer_stage import IntegerStage
from fanweave.hw.core.issue import Issued, Pending, Write
from fanweave.hw.core.memory_stage import MemoryStage
from fanweave.hw.core.multiplier import IntegerOperands
from fanweave.hw.core.offload_port import OffloadPort
from fanweave.hw.core.operations import CsrOperation, SystemOperation, Unit
from fanweave.hw.core.payloads import Access, Halt, Offload, VectorBusy, Verdict
from fanweave.hw.core.results import Results
from fanweave.hw.core.traps import Traps

__all__ = ["Execute"]

_MEMORY_UNITS = (Unit.LOAD, Unit.STORE, Unit.ATOMIC)


class Execute(wiring.Component):
    """Holds one instruction until it completes, traps, or a unit has taken it.

    What it leaves to units and memory cannot trap: addresses are checked here, an access to a
    peripheral waits for its response, and an offloaded instruction for its verdict. So traps are
    precise although results come later.

    Parameters
    ----------
    hart : int
        ``mhartid``.

    Members
    -------
    issued : stream in of `Issued`
    x : Out of `Write`; ahead, begins : Out of `Pending`
        See `Issue`.
    redirect : Out(1); target : Out(32); update, taken : Out(1)
        See `Fetch`; ``update`` is about `pc` and `target`.
    retired, trapped : Out(1); pc, word : Out(32)
        What became of the instruction.
    accesses : stream out of `Access`; held_done, held_error, held_data, idle, stores_idle : In
        See `LoadStore`.
    multiplications, divisions : stream out of `IntegerOperands`
    numbers : stream out of `FloatRequest`; simple, simple_flags, float_busy : In
        See `FloatUnit`.
    offloads, verdicts, vector
        See `OffloadPort` and `VectorBusy`.
    flags : In(5)
        Exceptions of results that came later.
    rounding : Out(3)
        ``frm``.
    halt : Out of `Halt`
    waits_for_memory, waits_for_vector, waits_for_unit : Out(1)
        Why the instruction stays.
    """

    def __init__(self, *, hart: int) -> None:
        self._csrs = CsrFile(hart=hart)
        #: What CSRs hold, for observers.
        self.stored, self.status = self._csrs.stored, self._csrs.status
        super().__init__(
            {
                "issued": In(stream.Signature(Issued)),
                "x": Out(Write),
                "ahead": Out(Pending),
                "begins": Out(Pending),
                "redirect": Out(1),
                "target": Out(32),
                "update": Out(1),
                "taken": Out(1),
                "retired": Out(1),
                "trapped": Out(1),
                "pc": Out(32),
                "word": Out(32),
                "accesses": Out(stream.Signature(Access)),
                "held_done": In(1),
                "held_error": In(1),
                "held_data": In(32),
                "idle": In(1),
                "stores_idle": In(1),
                "multiplications": Out(stream.Signature(IntegerOperands)),
                "divisions": Out(stream.Signature(IntegerOperands)),
                "numbers": Out(stream.Signature(FloatRequest)),
                "simple": In(32),
                "simple_flags": In(5),
                "float_busy": In(1),
                "offloads": Out(stream.Signature(Offload)),
                "verdicts": In(stream.Signature(Verdict)),
                "vector": In(VectorBusy),
                "flags": In(5),
                "rounding": Out(3),
                "halt": Out(Halt),
                "waits_for_memory": Out(1),
                "waits_for_vector": Out(1),
                "waits_for_unit": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._valid, self._held = Signal(name="valid"), Signal(Issued, name="held")
        self._trap, self._cause = Signal(name="trap"), Signal(4, name="cause")
        self._trap_value = Signal(32, name="trap_value")
        self._done = Signal(name="done")
        #: No trap is known before units are asked.
        self._starts = Signal(name="starts")
        m.submodules.integer = self._integer = IntegerStage()
        m.d.comb += self._integer.instruction.eq(self._held)
        self._csr(m)
        self._traps(m)
        self._units(m)
        self._memory(m)
        self._offload(m)
        self._complete(m)
        self._results(m)
        self._leave(m)
        return m

    def _is(self, unit: Unit) -> Value:
        return self._held.controls.unit == unit

    def _does(self, operation: SystemOperation) -> Value:
        return self._is(Unit.SYSTEM) & (self._held.controls.operation == operation)

    def _units(self, m: Module) -> None:
        """Operands of units whose results come later."""
        held, request = self._held, self.numbers.payload
        controls, rd = held.controls, held.fetched.word[7:12]
        for unit, port in (
            (Unit.MULTIPLY, self.multiplications),
            (Unit.DIVIDE, self.divisions),
        ):
            m.d.comb += [
                port.valid.eq(self._starts & self._is(unit)),
                port.payload.operation.eq(controls.operation),
                port.payload.a.eq(held.rs1),
                port.payload.b.eq(held.rs2),
                port.payload.register.eq(rd),
            ]
        m.d.comb += [
            self.numbers.valid.eq(self._starts & self._is(Unit.FLOAT)),
            request.operation.eq(controls.operation),
            request.a.eq(held.fs1),
            request.b.eq(held.fs2),
            request.c.eq(held.fs3),
            request.x.eq(held.rs1),
            request.mode.eq(self._mode),
            request.register.eq(rd),
        ]

    def _csr(self, m: Module) -> None:
        held, csrs = self._held, self._csrs
        m.submodules.csrs = csrs
        word = held.fetched.word
        source = word[15:20]
        m.d.comb += [
            csrs.address.eq(word[20:32]),
            csrs.operation.eq(held.controls.operation),
            csrs.operand.eq(Mux(word[14], source, held.rs1)),
            csrs.writes.eq((held.controls.operation == CsrOperation.CSRRW) | source.any()),
            self.rounding.eq(csrs.rounding),
        ]

    def _traps(self, m: Module) -> None:
        held, csrs = self._held, self._csrs
        m.submodules.traps = self._early = early = Traps()
        rm = held.fetched.word[12:15]
        self._mode, self._address = Signal(3, name="mode"), Signal(32, name="address")
        m.d.comb += [
            self._mode.eq(Mux(rm == RoundingMode.DYN, csrs.rounding, rm)),
            self._address.eq(held.rs1 + held.immediate),
            early.instruction.eq(held),
            early.mode.eq(self._mode),
            early.csr_legal.eq(csrs.legal),
            early.float_off.eq(csrs.float_off),
            early.vector_off.eq(csrs.vector_off),
            early.address.eq(self._address),
            early.jumps.eq(self._integer.taken),
            early.target.eq(self._integer.target),
            self._starts.eq(self._valid & ~early.trap),
        ]

    def _memory(self, m: Module) -> None:
        m.submodules.memory = self._stage = stage = MemoryStage()
        wiring.connect(m, stage.accesses, wiring.flipped(self.accesses))
        m.d.comb += [
            stage.instruction.eq(self._held),
            stage.active.eq(self._starts),
            stage.address.eq(self._address),
            stage.peripheral.eq(self._early.peripheral),
            stage.vector.eq(self.vector),
            stage.forget.eq(self.trapped | self._csrs.ret),
            stage.held_done.eq(self.held_done),
            stage.held_error.eq(self.held_error),
            stage.held_data.eq(self.held_data),
        ]

    def _offload(self, m: Module) -> None:
        m.submodules.offload = self._port = port = OffloadPort()
        wiring.connect(m, port.offloads, wiring.flipped(self.offloads))
        wiring.connect(m, wiring.flipped(self.verdicts), port.verdicts)
        m.d.comb += [
            port.instruction.eq(self._held),
            port.active.eq(self._starts),
            port.csr_of_vector.eq(self._csrs.of_vector),
            port.idle.eq(self.idle),
            port.stores_idle.eq(self.stores_idle),
        ]

    def _complete(self, m: Module) -> None:
        """Whether the instruction is over in this cycle, by a trap or not."""
        controls, early, csrs = self._held.controls, self._early, self._csrs
        finished, late = Signal(), Signal()
        value, cause = Signal(32), Signal(4)
        settled = ~self.float_busy & ~self.vector.floats
        m.d.comb += [finished.eq(1), value.eq(self._address)]
        with m.Switch(controls.unit):
            with m.Case(*_MEMORY_UNITS):
                m.d.comb += [
                    finished.eq(self._stage.finished),
                    late.eq(self._stage.finished & self._stage.failed),
                    cause.eq(self._stage.cause),
                ]
            with m.Case(Unit.MULTIPLY):
                m.d.comb += finished.eq(self.multiplications.ready)
            with m.Case(Unit.DIVIDE):
                m.d.comb += finished.eq(self.divisions.ready)
            with m.Case(Unit.FLOAT):
                m.d.comb += finished.eq(self.numbers.ready)
            with m.Case(Unit.CSR):
                m.d.comb += finished.eq(~csrs.of_flags | settled)
            with m.Case(Unit.SYSTEM):
                fences = self._does(SystemOperation.FENCE) | self._does(SystemOperation.FENCE_I)
                quiet = self.idle & ~self.vector.loads & ~self.vector.stores
                m.d.comb += finished.eq(~fences | quiet)
        with m.If(self._port.offloaded):
            m.d.comb += [
                finished.eq(self._port.done),
                late.eq(self._port.done & self._port.verdict.trap),
                cause.eq(self._port.verdict.cause),
                value.eq(self._port.verdict.value),
            ]
        m.d.comb += [
            self._trap.eq(self._valid & (early.trap | late)),
            self._cause.eq(Mux(early.trap, early.cause, cause)),
            self._trap_value.eq(Mux(early.trap, early.value, value)),
            self._done.eq(self._valid & (early.trap | finished)),
            self.retired.eq(self._done & ~self._trap),
            self.trapped.eq(self._trap),
            self.pc.eq(self._held.fetched.pc),
            self.word.eq(self._held.fetched.word),
        ]

    def _results(self, m: Module) -> None:
        m.submodules.results = results = Results()
        m.d.comb += [
            results.instruction.eq(self._held),
            results.valid.eq(self._valid),
            results.retired.eq(self.retired),
            results.offloaded.eq(self._port.offloaded),
            results.answered.eq(self._stage.answered),
            results.integer.eq(self._integer.result),
            results.csr.eq(self._csrs.value),
            results.compared.eq(self.simple),
            results.atomic.eq(self._stage.result),
            self.x.eq(results.x),
            self.ahead.eq(results.ahead),
            self.begins.eq(results.begins),
        ]

    def _leave(self, m: Module) -> None:
        """What follows: CSRs, the next address, and the next instruction."""
        held, csrs, controls = self._held, self._csrs, self._held.controls
        m.submodules.flow = flow = Flow()
        simple = Mux(self._is(Unit.COMPARE) & self.retired, self.simple_flags, 0)
        used = self._done & self._early.legal
        writes_vector = self._is(Unit.CSR) & csrs.of_vector & csrs.writes & self._starts
        m.d.comb += [
            flow.fetched.eq(held.fetched),
            flow.retired.eq(self.retired),
            flow.trapped.eq(self._trap),
            flow.cause.eq(self._cause),
            flow.value.eq(self._trap_value),
            flow.jumps.eq(self._integer.taken),
            flow.jump_target.eq(self._integer.target),
            flow.returns.eq(self._does(SystemOperation.MRET)),
            flow.return_pc.eq(csrs.return_pc),
            flow.handler.eq(csrs.handler),
            flow.refetches.eq(self._does(SystemOperation.FENCE_I)),
            self.redirect.eq(flow.redirect),
            self.target.eq(flow.target),
            self.update.eq(flow.update),
            self.taken.eq(flow.taken),
            self.halt.eq(flow.halt),
            csrs.commit.eq(self.retired & self._is(Unit.CSR) & ~csrs.of_vector),
            csrs.retired.eq(self.retired),
            csrs.trap.eq(flow.takes_trap),
            csrs.ret.eq(self.retired & flow.returns),
            csrs.cause.eq(self._cause),
            csrs.pc.eq(held.fetched.pc),
            csrs.trap_value.eq(self._trap_value),
            csrs.float_used.eq(used & controls.floating),
            csrs.vector_used.eq((used & controls.vector) | (self._done & writes_vector)),
            csrs.flags.eq(self.flags | simple),
            self.issued.ready.eq((~self._valid | self._done) & ~flow.halt.halted),
        ]
        with m.If(self.issued.ready):
            m.d.sync += [
                self._valid.eq(self.issued.valid & ~self.redirect & ~self._trap),
                held.eq(self.issued.payload),
            ]
        stays = self._valid & ~self._done
        memory = controls.unit.matches(*_MEMORY_UNITS, Unit.SYSTEM)
        m.d.comb += [
            self.waits_for_memory.eq(stays & memory),
            self.waits_for_vector.eq(stays & self._port.offloaded),
            self.waits_for_unit.eq(stays & ~memory & ~self._port.offloaded),
        ]
