"""The unit with everything around it in RTL, so that Python only starts a run and waits."""

from amaranth import ClockDomain, ClockSignal, Instance, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.stream.checker import StreamChecker
from fanweave.hw.stream.stall import StallInjector
from fanweave.hw.ventaglio.payloads import Command, activations_layout
from fanweave.hw.ventaglio.unit import Ventaglio
from fanweave.sim.benches.ventaglio.fetcher import Fetcher
from fanweave.sim.benches.ventaglio.memory import BenchMemory
from fanweave.sim.benches.ventaglio.settings import (
    ACTIVATION_DEPTH,
    BEAT_DEPTH,
    COMMAND_DEPTH,
    ROW_DEPTH,
    STREAMS,
)

__all__ = ["Harness"]

#: Ports that hold still during a run.
_SETTINGS = (
    "command_count",
    "activation_count",
    "latency",
    "shared_port",
    "stall_probability",
    "stall_seed",
    "cycle_limit",
)


class Harness(wiring.Component):
    """Plays a program, answers fetches, and logs results with their cycles.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    clk, rst : In(1)
        Clock and synchronous reset; the reset takes effect an edge later.
    command_count, activation_count : In(32)
        What the memories hold.
    latency, shared_port : In
        See `Fetcher`.
    stall_probability : In(8); stall_seed : In(32)
        Every stream is held back with this chance in 1/256 a cycle.
    cycle_limit : In(32)
        The run expires when it takes longer.
    done, expired : Out(1)
        The program ended, or expired; ``done`` rises in both cases.
    cycles : Out(32)
        Cycles from the first command to the last result.
    violations : Out
        Streams on which the protocol was broken.
    read_address : In(8); read_data : Out(32)
        Registers of the unit.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "clk": In(1),
                "rst": In(1),
                "command_count": In(32),
                "activation_count": In(32),
                "latency": In(16),
                "shared_port": In(1),
                "stall_probability": In(8),
                "stall_seed": In(32),
                "cycle_limit": In(32),
                "done": Out(1),
                "expired": Out(1),
                "cycles": Out(32),
                "violations": Out(len(STREAMS)),
                "read_address": In(8),
                "read_data": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        self._clock_and_reset(m)
        self._settings = {name: self._sampled(m, name) for name in _SETTINGS}
        m.submodules.unit = unit = Ventaglio(config=config)
        m.submodules.fetcher = fetcher = Fetcher(
            config=config, row_depth=ROW_DEPTH, beat_depth=BEAT_DEPTH
        )
        commands, commands_left = self._player(
            m, "commands", Command, COMMAND_DEPTH, self._settings["command_count"], element_bits=64
        )
        activations, _ = self._player(
            m,
            "activations",
            activations_layout(config),
            ACTIVATION_DEPTH,
            self._settings["activation_count"],
            element_bits=32 * config.max_outputs,
        )
        for name in ("rows", "weights", "indices"):
            self._link(m, name, getattr(fetcher, name), getattr(unit, name))
        self._link(m, "commands", commands, unit.commands)
        self._link(m, "activations", activations, unit.activations)
        self._link(m, "fetch", unit.fetch, fetcher.fetch)
        results = wiring.flipped(unit.results.signature.create(path=("logged",)))
        self._link(m, "results", unit.results, results)
        self._log(m, results)
        m.d.comb += [
            fetcher.latency.eq(self._settings["latency"]),
            fetcher.shared_port.eq(self._settings["shared_port"]),
            unit.read_address.eq(self.read_address),
            self.read_data.eq(unit.read_data),
        ]
        self._finish(m, unit, commands_left)
        return m

    def _clock_and_reset(self, m: Module) -> None:
        """Register the reset: Amaranth's Verilog feeds it to the logic before each register.

        Verilator evaluates whatever an input port reaches without a register again at each edge
        of the clock, which here would be the whole design.
        """
        m.domains.port = port = ClockDomain(reset_less=True)
        m.domains.sync = sync = ClockDomain()
        reset = Signal(init=1)
        m.d.port += reset.eq(self.rst)
        m.d.comb += [port.clk.eq(self.clk), sync.clk.eq(self.clk), sync.rst.eq(reset)]

    def _sampled(self, m: Module, name: str) -> Signal:
        """A port behind a register, for the same reason; it is sampled during reset as well."""
        sampled = Signal.like(getattr(self, name), name=f"sampled_{name}")
        m.d.port += sampled.eq(getattr(self, name))
        return sampled

    def _player(
        self, m: Module, name: str, shape: object, depth: int, count: Value, *, element_bits: int
    ) -> tuple[stream.Interface, Signal]:
        """A stream that plays a memory; returns it with the words that are left."""
        memory = BenchMemory(width=element_bits, depth=depth, plusarg=name)
        m.submodules[f"{name}_memory"] = memory
        played = stream.Signature(shape).create(path=(name,))
        position = Signal(32, name=f"{name}_position")
        left = Signal(32, name=f"{name}_left")
        m.d.comb += [
            left.eq(count - position),
            memory.address.eq(position),
            Value.cast(played.payload).eq(memory.data),
            played.valid.eq(left != 0),
        ]
        with m.If(played.valid & played.ready):
            m.d.sync += position.eq(position + 1)
        return played, left

    def _link(self, m: Module, name: str, source: stream.Interface, sink: stream.Interface) -> None:
        """Connect two ends through a stall injector, under a checker's eyes."""
        shape = source.payload.shape()
        number = STREAMS.index(name)
        m.submodules[f"{name}_stall"] = stall = StallInjector(shape=shape, seed=number + 1)
        m.submodules[f"{name}_checker"] = checker = StreamChecker(shape=shape)
        before = StreamChecker(shape=shape)
        m.submodules[f"{name}_source_checker"] = before
        started = Signal(name=f"{name}_started")
        m.d.sync += started.eq(1)
        m.d.comb += [
            stall.i.payload.eq(source.payload),
            stall.i.valid.eq(source.valid),
            source.ready.eq(stall.i.ready),
            sink.payload.eq(stall.o.payload),
            sink.valid.eq(stall.o.valid),
            stall.o.ready.eq(sink.ready),
            stall.probability.eq(self._settings["stall_probability"]),
            stall.seed_value.eq(self._settings["stall_seed"]),
            stall.seed_load.eq(~started),
            self.violations[number].eq(checker.violation | before.violation),
        ]
        checker.watch(m, stall.o)
        before.watch(m, stall.i)

    def _log(self, m: Module, results: stream.Interface) -> None:
        m.d.comb += results.ready.eq(1)
        m.submodules.sink = Instance(
            "fanweave_bench_sink",
            p_WIDTH=self.config.beat_bits,
            i_clk=ClockSignal(),
            i_valid=results.valid & results.ready,
            i_cycle=self.cycles,
            i_elements=results.payload.elements,
            i_last=results.payload.last,
            i_data=results.payload.data,
            i_close=self.done,
        )

    def _finish(self, m: Module, unit: Ventaglio, commands_left: Signal) -> None:
        over = Signal()
        m.d.comb += [
            over.eq((commands_left == 0) & ~unit.busy),
            self.expired.eq(self.cycles == self._settings["cycle_limit"]),
        ]
        with m.If(~self.done & ~(over | self.expired)):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        with m.If(over | self.expired):
            m.d.sync += self.done.eq(1)
