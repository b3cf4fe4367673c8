"""Reads accumulators in order, converts them and packs them into result beats."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.converter import AccumulatorConverter
from fanweave.hw.stream.queue import Queue
from fanweave.hw.ventaglio.payloads import OperationConfig, results_layout

__all__ = ["Drain"]

_QUEUE_DEPTH = 8
#: With a register between the read of a bank and the multiplication, and one within rounding.
_CONVERTER_LATENCY = 5


class Drain(wiring.Component):
    """Reads ``drain_lanes`` neighbouring accumulators a cycle.

    A read is made only when the output queue will have a place for its beat, so the pipeline
    between them never stalls.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    start : In(1); operation : In(OperationConfig)
        Begin; only while not ``busy``.
    abort : In(1)
        Stop reading. Beats that were filled by then still leave, without a last one.
    busy : Out(1)
        Accumulators from ``read_from`` up to ``read_to`` have still to be read.
    active : Out(1)
        There are reads or results on their way out.
    read : Out(1); read_from, read_to : Out; read_clear : Out(1)
        The read of this cycle, at ``read_from``.
    read_data : In(drain_lanes x 32)
    results : stream out
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        address = range(config.accumulators + 1)
        super().__init__(
            {
                "start": In(1),
                "operation": In(OperationConfig),
                "abort": In(1),
                "busy": Out(1),
                "active": Out(1),
                "read": Out(1),
                "read_from": Out(address),
                "read_to": Out(address),
                "read_clear": Out(1),
                "read_data": In(config.beat_bits),
                "results": Out(stream.Signature(results_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.queue = queue = Queue(shape=results_layout(config), depth=_QUEUE_DEPTH)
        operation = Signal(OperationConfig)
        flying = Signal(range(_QUEUE_DEPTH + 1))  # reads on their way to the queue
        remaining = Signal.like(self.read_to)
        last = Signal()
        m.d.comb += [
            remaining.eq(self.read_to - self.read_from),
            self.busy.eq(remaining != 0),
            self.read.eq(self.busy & ~self.abort & (queue.level + flying < _QUEUE_DEPTH)),
            self.read_clear.eq(self.read & operation.clear),
            last.eq(remaining <= config.drain_lanes),
            self.active.eq(self.busy | (flying != 0) | queue.o.valid),
        ]
        with m.If(self.abort):
            m.d.sync += self.read_from.eq(self.read_to)
        with m.Elif(self.start):
            m.d.sync += [
                operation.eq(self.operation),
                self.read_from.eq(self.operation.base),
                self.read_to.eq(self.operation.base + self.operation.count),
            ]
        with m.Elif(self.read):
            m.d.sync += self.read_from.eq(
                Mux(last, self.read_to, self.read_from + config.drain_lanes)
            )
        elements = Signal(range(config.drain_lanes + 1))
        m.d.comb += elements.eq(Mux(last, remaining, config.drain_lanes))
        arrives, tag = self._pipeline(m, operation, elements, last)
        m.d.sync += flying.eq(flying + self.read - arrives)
        # A beat that an aborted drain began must not become the head of the next one.
        aborted = Signal()
        with m.If(self.abort):
            m.d.sync += aborted.eq(1)
        with m.Elif(flying == 0):
            m.d.sync += aborted.eq(0)
        self._pack(m, arrives, tag, queue, forget=aborted & (flying == 0))
        wiring.connect(m, queue.o, wiring.flipped(self.results))
        return m

    def _pipeline(
        self, m: Module, operation: Signal, elements: Signal, last: Signal
    ) -> tuple[Signal, dict[str, Signal]]:
        """Convert, and carry along what the packer must know."""
        config = self.config
        is_integer = Signal()
        element_bytes = Signal(3)
        m.d.comb += [
            is_integer.eq(
                Cat(operation.element == f for f in config.formats if f.is_integer).any()
            ),
            element_bytes.eq(4),
        ]
        with m.If(~operation.raw), m.Switch(operation.target):
            for target in ElementFormat:
                with m.Case(target):
                    m.d.comb += element_bytes.eq(target.bits // 8)
        self._converted = []
        for lane in range(config.drain_lanes):
            m.submodules[f"converter_{lane}"] = converter = AccumulatorConverter(
                targets=tuple(ElementFormat), latency=_CONVERTER_LATENCY
            )
            m.d.comb += [
                converter.accumulator.eq(self.read_data[32 * lane : 32 * lane + 32]),
                converter.scale.eq(operation.scale),
                converter.source_integer.eq(is_integer),
                converter.target.eq(operation.target),
                converter.raw.eq(operation.raw),
            ]
            self._converted.append(converter.bits)
        valid = self.read
        tag = {"elements": elements, "last": last, "element_bytes": element_bytes}
        for stage in range(_CONVERTER_LATENCY - 1):
            delayed = Signal(name=f"read_{stage}")
            m.d.sync += delayed.eq(valid)
            following = {
                key: Signal.like(value, name=f"{key}_{stage}") for key, value in tag.items()
            }
            m.d.sync += [following[key].eq(value) for key, value in tag.items()]
            valid, tag = delayed, following
        return valid, tag

    def _pack(
        self, m: Module, arrives: Signal, tag: dict[str, Signal], queue: Queue, *, forget: Value
    ) -> None:
        """Collect reads of narrow elements until a beat is full or the drain ends."""
        config = self.config
        place = Signal(range(4))  # reads in the beat so far
        kept = Signal(config.beat_bits)
        kept_elements = Signal(8)
        beat = Signal(config.beat_bits)
        part = Signal(config.beat_bits)
        full = Signal()
        lanes = config.drain_lanes
        with m.Switch(tag["element_bytes"]):
            for size in (1, 2, 4):
                with m.Case(size):
                    packed = Cat(
                        Mux(lane < tag["elements"], bits[: 8 * size], 0)
                        for lane, bits in enumerate(self._converted)
                    )
                    m.d.comb += full.eq(place == 4 // size - 1)
                    with m.Switch(place):
                        for at in range(4 // size):
                            with m.Case(at):
                                m.d.comb += part.eq(packed << (at * lanes * 8 * size))
        m.d.comb += [
            beat.eq(kept | part),
            queue.i.payload.data.eq(beat),
            queue.i.payload.elements.eq(kept_elements + tag["elements"]),
            queue.i.payload.last.eq(tag["last"]),
            queue.i.payload.element_bytes.eq(tag["element_bytes"]),
            queue.i.valid.eq(arrives & (full | tag["last"])),
        ]
        with m.If(forget):
            m.d.sync += [place.eq(0), kept.eq(0), kept_elements.eq(0)]
        with m.Elif(arrives):
            with m.If(full | tag["last"]):
                m.d.sync += [place.eq(0), kept.eq(0), kept_elements.eq(0)]
            with m.Else():
                m.d.sync += [
                    place.eq(place + 1),
                    kept.eq(beat),
                    kept_elements.eq(kept_elements + tag["elements"]),
                ]
