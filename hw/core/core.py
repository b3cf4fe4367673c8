"""The scalar core: fetch, issue, execute, and the units whose results come later."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.divider import IntegerDivider
from fanweave.hw.core.execute import Execute
from fanweave.hw.core.fetch import Fetch
from fanweave.hw.core.float_unit import FloatUnit
from fanweave.hw.core.issue import Issue
from fanweave.hw.core.load_store import LoadStore
from fanweave.hw.core.multiplier import IntegerMultiplier
from fanweave.hw.core.payloads import (
    DataRequest,
    DataResponse,
    Halt,
    Offload,
    OffloadResult,
    Stalls,
    Trace,
    VectorBusy,
    Verdict,
)

__all__ = ["Core"]


class Core(wiring.Component):
    """RV32IMAF with Zicsr, Zifencei, Zfhmin and post-increment loads, in order.

    Three stages: *fetch* runs ahead along the predicted way, *issue* decodes and reads registers,
    *execute* computes and decides. An instruction that leaves execute can no longer trap. Results
    of loads, multiplications, divisions, floating-point operations and vector instructions come
    later; a scoreboard holds back what needs them, and nothing else.

    Why every wait ends: execute waits for a unit only while that has a result, and results always
    find a port in the end, for loads, which go first, are bounded by the instructions before. The
    memories and the vector unit must answer each request.

    Parameters
    ----------
    config : ScalarConfig

    Members
    -------
    run : In(1); boot : In(32)
        The first cycle with ``run`` starts the program at ``boot``.
    fetches : stream out of 32 bits; fetched : stream in of 32 bits, always ready
        Addresses of instructions, and the instructions, in order and at the earliest a cycle
        later.
    requests : stream out of `DataRequest`; responses : stream in of `DataResponse`, always ready
        Data, in order and at the earliest a cycle later.
    offloads : stream out of `Offload`; verdicts : stream in of `Verdict`, always ready
        Instructions for a vector unit and whether they trap. A verdict may come in the cycle of
        its instruction.
    results : stream in of `OffloadResult`
        For instructions that have an integer or floating-point destination; at the earliest in
        the cycle after the verdict.
    vector : In of `VectorBusy`; vector_flags : In(5)
        What the vector unit still does, and exceptions to accrue.
    rounding : Out(3)
        ``frm``.
    halt : Out of `Halt`
    observed : Out of `Trace`; stalls : Out of `Stalls`
        For observers and counters.
    """

    def __init__(self, *, config: ScalarConfig) -> None:
        self.config = config
        self._execute = Execute(hart=config.hart)
        #: What CSRs hold, for observers.
        self.stored, self.status = self._execute.stored, self._execute.status
        super().__init__(
            {
                "run": In(1),
                "boot": In(32),
                "fetches": Out(stream.Signature(32)),
                "fetched": In(stream.Signature(32)),
                "requests": Out(stream.Signature(DataRequest)),
                "responses": In(stream.Signature(DataResponse)),
                "offloads": Out(stream.Signature(Offload)),
                "verdicts": In(stream.Signature(Verdict)),
                "results": In(stream.Signature(OffloadResult)),
                "vector": In(VectorBusy),
                "vector_flags": In(5),
                "rounding": Out(3),
                "halt": Out(Halt),
                "observed": Out(Trace),
                "stalls": Out(Stalls),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fetch = self._fetch = Fetch(predicted_jumps=self.config.predicted_jumps)
        m.submodules.issue = self._issue = Issue()
        m.submodules.execute = self._execute
        m.submodules.load_store = self._memory = LoadStore(accesses=self.config.accesses)
        m.submodules.multiplier = self._multiplier = IntegerMultiplier()
        m.submodules.divider = self._divider = IntegerDivider()
        m.submodules.float_unit = self._float = FloatUnit()
        self._front(m)
        self._units(m)
        self._late(m)
        self._observe(m)
        return m

    def _front(self, m: Module) -> None:
        """Fetch to issue to execute, and back."""
        fetch, issue, execute = self._fetch, self._issue, self._execute
        wiring.connect(m, fetch.requests, wiring.flipped(self.fetches))
        wiring.connect(m, wiring.flipped(self.fetched), fetch.responses)
        wiring.connect(m, fetch.instructions, issue.instructions)
        wiring.connect(m, issue.issued, execute.issued)
        m.d.comb += [
            fetch.run.eq(self.run),
            fetch.boot.eq(self.boot),
            fetch.redirect.eq(execute.redirect),
            fetch.target.eq(execute.target),
            fetch.update.eq(execute.update),
            fetch.update_pc.eq(execute.pc),
            fetch.update_target.eq(execute.target),
            fetch.taken.eq(execute.taken),
            issue.x.eq(execute.x),
            issue.ahead.eq(execute.ahead),
            issue.begins.eq(execute.begins),
        ]

    def _units(self, m: Module) -> None:
        execute, memory, numbers = self._execute, self._memory, self._float
        wiring.connect(m, execute.accesses, memory.i)
        wiring.connect(m, memory.requests, wiring.flipped(self.requests))
        wiring.connect(m, wiring.flipped(self.responses), memory.responses)
        wiring.connect(m, execute.multiplications, self._multiplier.i)
        wiring.connect(m, execute.divisions, self._divider.i)
        wiring.connect(m, execute.numbers, numbers.i)
        wiring.connect(m, execute.offloads, wiring.flipped(self.offloads))
        wiring.connect(m, wiring.flipped(self.verdicts), execute.verdicts)
        finished = numbers.o.valid & numbers.o.ready
        m.d.comb += [
            execute.held_done.eq(memory.held_done),
            execute.held_error.eq(memory.held_error),
            execute.held_data.eq(memory.held_data),
            execute.idle.eq(memory.idle),
            execute.stores_idle.eq(memory.stores_idle),
            execute.simple.eq(numbers.simple),
            execute.simple_flags.eq(numbers.simple_flags),
            execute.float_busy.eq(numbers.busy),
            execute.vector.eq(self.vector),
            execute.flags.eq(self.vector_flags | Mux(finished, numbers.o.payload.flags, 0)),
            self.rounding.eq(execute.rounding),
            self.halt.eq(execute.halt),
        ]

    def _late(self, m: Module) -> None:
        """One write a cycle into each register file: loads first, then units in their order."""
        loaded, valid = self._memory.loaded, self._memory.loaded_valid
        result = self.results.payload
        for write, loads, floating, sources in (
            (
                self._issue.late_x,
                valid & ~loaded.floating,
                0,
                (self._multiplier.o, self._divider.o),
            ),
            (self._issue.late_f, valid & loaded.floating, 1, (self._float.o,)),
        ):
            with m.If(loads):
                m.d.comb += [
                    write.enable.eq(1),
                    write.register.eq(loaded.register),
                    write.value.eq(loaded.value),
                ]
            for source in sources:
                with m.Elif(source.valid):
                    m.d.comb += [
                        source.ready.eq(1),
                        write.enable.eq((source.payload.register != 0) | floating),
                        write.register.eq(source.payload.register),
                        write.value.eq(source.payload.value),
                    ]
            with m.Elif(self.results.valid & (result.floating == floating)):
                m.d.comb += [
                    self.results.ready.eq(1),
                    write.enable.eq((result.register != 0) | result.floating),
                    write.register.eq(result.register),
                    write.value.eq(result.value),
                ]

    def _observe(self, m: Module) -> None:
        execute, issue, trace, stalls = self._execute, self._issue, self.observed, self.stalls
        free, redirect = Signal(), execute.redirect
        m.d.comb += [
            trace.retired.eq(execute.retired),
            trace.trapped.eq(execute.trapped),
            trace.pc.eq(execute.pc),
            trace.word.eq(execute.word),
            free.eq(execute.issued.ready & ~redirect),
            stalls.redirect.eq(redirect),
            stalls.memory.eq(execute.waits_for_memory),
            stalls.offload.eq(execute.waits_for_vector),
            stalls.unit.eq(execute.waits_for_unit),
            stalls.load.eq(free & issue.waits_for_load),
            stalls.operand.eq(free & issue.waits_for_unit),
            stalls.fetch.eq(free & ~self._fetch.instructions.valid),
        ]
        for name, write in (("x", issue.x), ("late_x", issue.late_x), ("late_f", issue.late_f)):
            m.d.comb += [
                trace[f"{name}_write"].eq(write.enable),
                trace[f"{name}_register"].eq(write.register),
                trace[f"{name}_value"].eq(write.value),
            ]
