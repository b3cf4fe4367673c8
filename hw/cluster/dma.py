"""The DMA: copies rows between outer memory, the L1 and the instruction memory."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import RegionName
from fanweave.hw.cluster.config import ClusterConfig
from fanweave.hw.cluster.dma_local import LANES, DmaLocal
from fanweave.hw.cluster.dma_reader import DmaReader
from fanweave.hw.cluster.dma_registers import DmaRegisters
from fanweave.hw.cluster.dma_rows import REACHED, DmaRows, Row
from fanweave.hw.cluster.dma_writer import DmaWriter
from fanweave.hw.cluster.payloads import OuterRequest, OuterResponse, WordRequest
from fanweave.hw.cluster.register_bus import REGISTER_BUS
from fanweave.hw.stream.arbiter import Arbiter
from fanweave.hw.stream.queue import Queue

__all__ = ["Dma"]

#: Transfers that may be on their way, beside those that wait.
_RUNNING = 4
#: Beats that have room between reads and writes.
_ROOM = 4
_OUTER = REACHED.index(RegionName.OUTER)
_CODE = REACHED.index(RegionName.INSTRUCTIONS)


class Dma(wiring.Component):
    """Up to 64 bytes a cycle.

    Reads run ahead of writes. What outer memory answers may wait there; what the cluster's
    memories answer has room here, and so has everything in a transfer from a memory to itself,
    so that writes never wait for reads that wait for writes.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    bus : In of `REGISTER_BUS`
    l1, l1_answers, code, code_answers
        See `DmaLocal`.
    outer : stream out of `OuterRequest`; outer_answers : stream in of `OuterResponse`
    busy : Out(1)
        A transfer waits or runs.
    writes : Out(1)
        A beat is written.
    """

    def __init__(self, *, config: ClusterConfig) -> None:
        self.config = config
        words, answers = stream.Signature(WordRequest), stream.Signature(unsigned(64))
        super().__init__(
            {
                "bus": In(REGISTER_BUS),
                "l1": Out(words).array(LANES),
                "l1_answers": In(answers).array(LANES),
                "code": Out(words),
                "code_answers": In(answers),
                "outer": Out(stream.Signature(OuterRequest)),
                "outer_answers": In(stream.Signature(OuterResponse)),
                "busy": Out(1),
                "writes": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.registers = registers = DmaRegisters(
            transfers=config.transfers, pending=config.transfers + _RUNNING
        )
        m.submodules.rows = self._rows = DmaRows()
        m.submodules.waiting = self._waiting = Queue(shape=Row, depth=config.rows)
        m.submodules.reader = self._reader = DmaReader(room=_ROOM, beats=config.beats)
        m.submodules.writer = self._writer = DmaWriter()
        m.submodules.local = self._local = DmaLocal()
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        wiring.connect(m, registers.transfers, self._rows.transfers)
        self._open = Signal(name="open")  # one more write may wait to be confirmed
        self._give_rows(m)
        self._requests(m)
        self._read(m)
        finished, idle = self._completion(m)
        m.d.comb += [
            registers.finished.eq(finished),
            registers.failed.eq(self._rows.failed),
            registers.address.eq(self._rows.address),
            self._rows.idle.eq(idle & ~self._waiting.o.valid & self._reader.asked),
            self.busy.eq(registers.pending != 0),
        ]
        return m

    def _give_rows(self, m: Module) -> None:
        """A row goes to the reader and into the queue of the writer."""
        source, reader, waiting = self._rows.rows, self._reader, self._waiting
        m.d.comb += [
            reader.rows.payload.eq(source.payload),
            waiting.i.payload.eq(source.payload),
            reader.rows.valid.eq(source.valid & waiting.i.ready),
            waiting.i.valid.eq(source.valid & reader.rows.ready),
            source.ready.eq(waiting.i.ready & reader.rows.ready),
        ]

    def _requests(self, m: Module) -> None:
        """Reads and writes take turns where both go to the same place."""
        chosen = data.StructLayout({"region": 2, "request": OuterRequest})
        m.submodules.to_outer = outer = Arbiter(shape=OuterRequest, sources=2)
        m.submodules.to_local = local = Arbiter(shape=chosen, sources=2)
        units: tuple[DmaReader | DmaWriter, ...] = (self._reader, self._writer)
        for number, unit in enumerate(units):
            away = unit.region == _OUTER
            goes = self._open if unit is self._writer else Const(1, 1)
            inside = data.View(chosen, local.sources[number].payload)
            m.d.comb += [
                outer.sources[number].payload.eq(unit.requests.payload),
                outer.sources[number].valid.eq(unit.requests.valid & away & goes),
                inside.request.eq(unit.requests.payload),
                inside.region.eq(unit.region),
                local.sources[number].valid.eq(unit.requests.valid & ~away),
                unit.requests.ready.eq(
                    Mux(away, outer.sources[number].ready & goes, local.sources[number].ready)
                ),
            ]
        beat = data.View(chosen, local.o.payload.payload)
        m.d.comb += [
            self.outer.valid.eq(outer.o.valid),
            self.outer.payload.eq(outer.o.payload.payload),
            outer.o.ready.eq(self.outer.ready),
            self._local.beats.valid.eq(local.o.valid),
            self._local.beats.payload.eq(beat.request),
            self._local.instructions.eq(beat.region == _CODE),
            local.o.ready.eq(self._local.beats.ready),
        ]

    def _read(self, m: Module) -> None:
        """What was read, part by part, until a beat is whole."""
        local, reader, writer = self._local, self._reader, self._writer
        wiring.connect(m, local.code, wiring.flipped(self.code))
        wiring.connect(m, wiring.flipped(self.code_answers), local.code_answers)
        answer = self.outer_answers.payload
        arrived, room = Signal(LANES), Signal(LANES)
        words = []
        for lane in range(LANES):
            wiring.connect(m, local.l1[lane], wiring.flipped(self.l1[lane]))
            wiring.connect(m, wiring.flipped(self.l1_answers[lane]), local.l1_answers[lane])
            m.submodules[f"part_{lane}"] = queue = Queue(shape=unsigned(64), depth=_ROOM)
            part = local.parts[lane]
            m.d.comb += [
                queue.i.valid.eq(
                    part.valid | (self.outer_answers.valid & ~answer.write & room.all())
                ),
                queue.i.payload.eq(
                    Mux(part.valid, part.payload, answer.data.word_select(lane, 64))
                ),
                part.ready.eq(1),
                room[lane].eq(queue.i.ready),
                arrived[lane].eq(queue.o.valid),
                queue.o.ready.eq(writer.beats.ready & arrived.all()),
            ]
            words.append(queue.o.payload)
        wiring.connect(m, self._waiting.o, writer.rows)
        m.d.comb += [
            self.outer_answers.ready.eq(answer.write | room.all()),
            writer.beats.valid.eq(arrived.all()),
            writer.beats.payload.eq(Cat(words)),
            writer.asked.eq(reader.asked),
            reader.taken.eq(writer.beats.valid & writer.beats.ready),
        ]

    def _completion(self, m: Module) -> tuple[Value, Value]:
        """Whether a transfer is over, and whether everything that was written is confirmed."""
        writer, answers = self._writer, self.outer_answers
        bits = 1 + self.config.beats.bit_length()
        made, confirmed = Signal(bits), Signal(bits)
        m.submodules.ends = ends = Queue(shape=bits, depth=self.config.transfers + _RUNNING)
        row = writer.rows
        wrote = writer.requests.valid & writer.requests.ready
        far = wrote & (writer.region == _OUTER)
        finished, idle = Signal(), Signal()
        m.d.comb += [
            self.writes.eq(wrote),
            ends.i.valid.eq(row.valid & row.ready & row.payload.last),
            ends.i.payload.eq(made + far),
            idle.eq(made == confirmed),
            self._open.eq((made - confirmed)[:bits] < self.config.beats),
            finished.eq(ends.o.valid & ~(confirmed - ends.o.payload)[bits - 1]),
            ends.o.ready.eq(finished),
        ]
        m.d.sync += [
            made.eq(made + far),
            confirmed.eq(confirmed + (answers.valid & answers.ready & answers.payload.write)),
        ]
        return finished, idle
