"""Counters of the engine that a host reads, 64 bits each."""

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_registers import COUNTERS
from fanweave.hw.ebpf.payloads import Cause

__all__ = ["HostCounters"]

_BITS = 64
_WORD_BITS = 32


class HostCounters(wiring.Component):
    """Counts for all engines together; a count shows two cycles after what is counted.

    The host reads 32 bits at a time. Reading a low word keeps the high one that belongs to it, and
    reading any high word gives the one that is kept: so the two halves are of one moment if the
    low one is read first.

    Parameters
    ----------
    engines : int
        Engines, 1 or more.

    Members
    -------
    event_taken, instructions : arrays of In(1)
        An engine takes an event, or completes an instruction.
    verdict_valid : array of In(1); verdict_cause : array of In(Cause)
        An engine gives a verdict.
    word : In; read : In(1); data : Out(32)
        Word ``2 n`` is the low half of counter n of `COUNTERS`; combinational. ``read`` says that
        the word is being read in this cycle.

    Attributes
    ----------
    counters : dict of str to Signal
        By name; for tests.
    """

    def __init__(self, *, engines: int) -> None:
        if engines < 1:
            raise ValueError(f"engines = {engines} must be at least 1")
        self.engines = engines
        self.counters = {name: Signal(_BITS, name=name) for name, _ in COUNTERS}
        super().__init__(
            {
                "event_taken": In(1).array(engines),
                "instructions": In(1).array(engines),
                "verdict_valid": In(1).array(engines),
                "verdict_cause": In(Cause).array(engines),
                "word": In(range(2 * len(COUNTERS))),
                "read": In(1),
                "data": Out(_WORD_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        counted: dict[str, list[Value]] = {
            "events": list(self.event_taken),
            "instructions": list(self.instructions),
        }
        for cause in FaultCause:
            counted[f"verdicts_{cause.name.lower()}"] = [
                valid & (given.as_value() == cause)
                for valid, given in zip(self.verdict_valid, self.verdict_cause, strict=True)
            ]
        for name, counter in self.counters.items():
            step = Signal(ceil_log2(self.engines) + 1, name=f"{name}_step")
            m.d.sync += [
                step.eq(sum(counted[name], start=Value.cast(0))),
                counter.eq(counter + step),
            ]
        number = self.word[1:]
        chosen = Signal(_BITS)
        kept = Signal(_WORD_BITS)
        m.d.comb += [
            chosen.eq(Array(self.counters.values())[number]),
            self.data.eq(Mux(self.word[0], kept, chosen[:_WORD_BITS])),
        ]
        with m.If(self.read & ~self.word[0]):
            m.d.sync += kept.eq(chosen[_WORD_BITS:])
        return m
