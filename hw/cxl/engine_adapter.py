"""Between the switch and the policy engine: events to engines that are free, verdicts back."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cxl_event import EVENT_BYTES
from fanweave.hw.cxl.payloads import PolicyEvent, PolicyVerdict
from fanweave.hw.ebpf.payloads import Cause, Event, Verdict
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["EngineAdapter"]

_WORD_BITS = 64
_WORDS = 8 * EVENT_BYTES // _WORD_BITS


class _Feeder(wiring.Component):
    """Holds an event for one engine: first what it is, then its context word by word.

    Members
    -------
    i : stream in of `PolicyEvent`
        Taken when the last word of the one before leaves, or later.
    time_ns : In(64)
        Becomes the time of an event that is taken.
    event : stream out of `Event`; context : stream out of 64-bit words
    """

    i: In(stream.Signature(PolicyEvent))
    time_ns: In(64)
    event: Out(stream.Signature(Event))
    context: Out(stream.Signature(_WORD_BITS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        context, left = Signal(8 * EVENT_BYTES), Signal(range(_WORDS + 1))
        came = Value.cast(self.i.payload.event)
        leaves = self.context.valid & self.context.ready
        m.d.comb += [
            self.i.ready.eq(~self.event.valid & ((left == 0) | (leaves & (left == 1)))),
            self.context.valid.eq((left != 0) & ~self.event.valid),
            self.context.payload.eq(context[:_WORD_BITS]),
        ]
        with m.If(leaves):
            m.d.sync += [context.eq(context >> _WORD_BITS), left.eq(left - 1)]
        with m.If(self.event.ready):
            m.d.sync += self.event.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.event.valid.eq(1),
                self.event.payload.length.eq(EVENT_BYTES),
                self.event.payload.tag.eq(self.i.payload.tag),
                self.event.payload.program.eq(self.i.payload.program),
                self.event.payload.time_ns.eq(self.time_ns),
                context.eq(came),
                left.eq(_WORDS),
            ]
        return m


class EngineAdapter(wiring.Component):
    """Gives each event to the first engine that can hold it, and collects verdicts in turn.

    An event that ends before its time has a verdict that says so; then the rule that raised it
    says what becomes of the message.

    Parameters
    ----------
    engines : int
        How many there are, 1 or more.
    clock_ns : int
        Nanoseconds of a cycle, for the time that programs see.

    Members
    -------
    policy_events : stream in of `PolicyEvent`; policy_verdicts : stream out of `PolicyVerdict`
        The switch's side.
    events, contexts, verdicts : arrays of streams
        The engines' side; see `PolicyEngine`.
    set_time : In(1); new_time : In(32)
        The time that programs see in the next cycle.
    """

    def __init__(self, *, engines: int, clock_ns: int) -> None:
        if engines < 1:
            raise ValueError(f"engines = {engines} must be at least 1")
        if clock_ns < 1:
            raise ValueError(f"clock_ns = {clock_ns} must be at least 1")
        self.engines = engines
        self.clock_ns = clock_ns
        super().__init__(
            {
                "set_time": In(1),
                "new_time": In(32),
                "policy_events": In(stream.Signature(PolicyEvent)),
                "policy_verdicts": Out(stream.Signature(PolicyVerdict)),
                "events": Out(stream.Signature(Event)).array(engines),
                "contexts": Out(stream.Signature(_WORD_BITS)).array(engines),
                "verdicts": In(stream.Signature(Verdict)).array(engines),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        time_ns = Signal(64)
        m.d.sync += time_ns.eq(Mux(self.set_time, self.new_time, time_ns + self.clock_ns))
        m.submodules.arbiter = arbiter = Arbiter(shape=PolicyVerdict, sources=self.engines)
        can_hold = Signal(self.engines)
        first = can_hold & (~can_hold + 1)
        for number in range(self.engines):
            m.submodules[f"feeder_{number}"] = feeder = _Feeder()
            wiring.connect(m, feeder.event, wiring.flipped(self.events[number]))
            wiring.connect(m, feeder.context, wiring.flipped(self.contexts[number]))
            m.d.comb += [
                can_hold[number].eq(feeder.i.ready),
                feeder.i.valid.eq(self.policy_events.valid & first[number]),
                feeder.i.payload.eq(self.policy_events.payload),
                feeder.time_ns.eq(time_ns),
            ]
            came, told = self.verdicts[number], arbiter.sources[number]
            m.d.comb += [
                told.valid.eq(came.valid),
                came.ready.eq(told.ready),
                told.payload.tag.eq(came.payload.tag),
                told.payload.failed.eq(came.payload.cause != Cause.NONE),
                told.payload.r0.eq(came.payload.r0),
            ]
        m.d.comb += [
            self.policy_events.ready.eq(can_hold.any()),
            self.policy_verdicts.valid.eq(arbiter.o.valid),
            self.policy_verdicts.payload.eq(arbiter.o.payload.payload),
            arbiter.o.ready.eq(self.policy_verdicts.ready),
        ]
        return m
