"""One bank of accumulators with its accumulate stage."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.accumulator import Accumulator
from fanweave.hw.ventaglio.payloads import entry_shape, routed_product_layout

__all__ = ["Bank"]


class Bank(wiring.Component):
    """``entries`` accumulators, an input register and one accumulate stage.

    Why no update is lost: a product starts only when no accumulation of its accumulator is in
    flight, so it always reads the latest sum; and each start writes exactly once,
    ``accumulate_latency - 1`` cycles later.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    writable : bool
        Whether accumulators can be written from outside.

    Members
    -------
    valid, ready, product, multiply, integer : In, Out, In, In, In
        The product for this bank. Ready does not depend on valid.
    idle : Out(1)
        Nothing waits or is in flight.
    hazard : Out(1)
        The input register waits for an accumulation of the same accumulator.
    clear : In(1)
        All accumulators become 0; only while idle.
    read_entry : In; read_data : Out(32)
        Combinational read for the drain; only while no accumulation of it is in flight.
    read_clear : In(1)
        The accumulator that is read becomes 0.
    write : In(1); write_data : In(32)
        If it is writable: the accumulator at ``read_entry`` becomes this; only while idle.
    """

    def __init__(self, *, config: VentaglioConfig, writable: bool = False) -> None:
        self.config = config
        self.writable = writable
        super().__init__(
            {
                "valid": In(1),
                "ready": Out(1),
                "product": In(routed_product_layout(config)),
                "multiply": In(1),
                "integer": In(1),
                "idle": Out(1),
                "hazard": Out(1),
                "clear": In(1),
                "read_entry": In(entry_shape(config)),
                "read_data": Out(32),
                "read_clear": In(1),
                **({"write": In(1), "write_data": In(32)} if writable else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.accumulator = accumulator = Accumulator(
            latency=config.accumulate_latency,
            integer=any(f.is_integer for f in config.formats),
        )
        self._held = held = Signal(routed_product_layout(config))
        self._held_multiply = held_multiply = Signal()
        self._held_integer = held_integer = Signal()
        self._held_valid = held_valid = Signal()
        start = Signal()
        self._stored = stored = [Signal(32, name=f"accumulator_{i}") for i in range(config.entries)]
        # An accumulator whose bit is not set reads as 0: that makes a clear one cycle long.
        self._written = written = Signal(config.entries)

        def value_of(entry: Signal) -> Mux:
            return Mux(written.bit_select(entry, 1), Array(stored)[entry], 0)

        m.d.comb += [
            self.ready.eq(~held_valid | start),
            accumulator.product.eq(held.product),
            accumulator.addend.eq(value_of(held.entry)),
            accumulator.multiply.eq(held_multiply),
            accumulator.integer.eq(held_integer),
            self.read_data.eq(value_of(self.read_entry)),
        ]
        with m.If(self.ready):
            m.d.sync += held_valid.eq(self.valid)
        with m.If(self.ready & self.valid):
            m.d.sync += [
                held.eq(self.product),
                held_multiply.eq(self.multiply),
                held_integer.eq(self.integer),
            ]

        end_valid, end_entry, conflicts, flying = self._track(m, start, held.entry)
        m.d.comb += [
            start.eq(held_valid & ~conflicts),
            self.hazard.eq(held_valid & conflicts),
            self.idle.eq(~held_valid & ~flying),
        ]
        for i, accumulated in enumerate(stored):
            with m.If(end_valid & (end_entry == i)):
                m.d.sync += [accumulated.eq(accumulator.sum), written[i].eq(1)]
            with m.Elif(self.read_clear & (self.read_entry == i)):
                m.d.sync += written[i].eq(0)
            if self.writable:
                with m.If(self.write & (self.read_entry == i)):
                    m.d.sync += [accumulated.eq(self.write_data), written[i].eq(1)]
        with m.If(self.clear):
            m.d.sync += written.eq(0)
        return m

    def _track(self, m: Module, start: Signal, entry: Signal) -> tuple:
        """Follow accumulations through the stage: the one that ends, and what is in flight."""
        self._stages: list[tuple[Signal, Signal]] = []
        stages = self._stages
        valid, at = start, entry
        for i in range(self.config.accumulate_latency - 1):
            next_valid = Signal(name=f"flying_{i}")
            next_at = Signal(entry_shape(self.config), name=f"flying_entry_{i}")
            m.d.sync += [next_valid.eq(valid), next_at.eq(at)]
            stages.append((next_valid, next_at))
            valid, at = next_valid, next_at
        conflicts = Signal()
        flying = Signal()
        for stage_valid, stage_at in stages:
            with m.If(stage_valid):
                m.d.comb += flying.eq(1)
                with m.If(stage_at == entry):
                    m.d.comb += conflicts.eq(1)
        return valid, at, conflicts, flying
