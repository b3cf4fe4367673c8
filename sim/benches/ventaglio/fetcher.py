"""Memory side of the bench: answers row requests from a table and two memories."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.stream.queue import Queue
from fanweave.hw.ventaglio.payloads import RowDescription, RowRequest
from fanweave.sim.benches.ventaglio.memory import BenchMemory

__all__ = ["BEAT_QUEUE", "Fetcher", "RowEntry"]

#: Beats that the memory may be ahead of the unit, on each stream.
BEAT_QUEUE = 8
_REQUEST_QUEUE = 16


class RowEntry(data.Struct):
    """A row in the table: where it stands in both memories, in beats and parts of a beat."""

    nnz: unsigned(16)
    lane: unsigned(8)
    index_word: unsigned(8)
    first_weight: unsigned(32)
    last_weight: unsigned(32)
    first_index: unsigned(32)
    last_index: unsigned(32)
    has_indices: unsigned(1)
    reserved: unsigned(31)


class BeatJob(data.Struct):
    """Beats to send, both included."""

    first: unsigned(32)
    last: unsigned(32)


class Fetcher(wiring.Component):
    """Sends each requested row after a settable latency.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    row_depth, beat_depth : int
        Rows of the table, and beats of either memory.

    Members
    -------
    fetch : stream in; rows, weights, indices : stream out
    latency : In(16)
        Cycles from a request to the earliest answer.
    shared_port : In(1)
        Weights and indices share one beat a cycle; else each has its own.
    """

    def __init__(self, *, config: VentaglioConfig, row_depth: int, beat_depth: int) -> None:
        self.config = config
        self.row_depth = row_depth
        self.beat_depth = beat_depth
        beat = stream.Signature(unsigned(config.beat_bits))
        super().__init__(
            {
                "fetch": In(stream.Signature(RowRequest)),
                "rows": Out(stream.Signature(RowDescription)),
                "weights": Out(beat),
                "indices": Out(beat),
                "latency": In(16),
                "shared_port": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self._delay(m)
        m.submodules.table = table = BenchMemory(
            width=RowEntry.as_shape().size, depth=self.row_depth, plusarg="row_table"
        )
        entry = data.View(RowEntry, table.data)
        m.submodules.row_queue = rows = Queue(shape=RowDescription, depth=4)
        m.submodules.weight_jobs = weight_jobs = Queue(shape=BeatJob, depth=8)
        m.submodules.index_jobs = index_jobs = Queue(shape=BeatJob, depth=8)
        wiring.connect(m, rows.o, wiring.flipped(self.rows))

        go = Signal()
        taken = Signal()
        m.d.comb += [
            table.address.eq(request.payload.row),
            go.eq(rows.i.ready & weight_jobs.i.ready & index_jobs.i.ready),
            request.ready.eq(go),
            taken.eq(request.valid & go),
            rows.i.valid.eq(taken),
            rows.i.payload.nnz.eq(entry.nnz),
            rows.i.payload.lane.eq(entry.lane),
            rows.i.payload.index_word.eq(entry.index_word),
        ]
        sends = taken & (entry.nnz != 0)
        for first, last, jobs, joined, wanted in (
            (entry.first_weight, entry.last_weight, weight_jobs, rows.i.payload.joined, sends),
            (
                entry.first_index,
                entry.last_index,
                index_jobs,
                rows.i.payload.index_joined,
                sends & entry.has_indices,
            ),
        ):
            sent = Signal(32)  # last beat sent for this operation
            any_sent = Signal()
            begin = Signal(32)
            m.d.comb += [
                joined.eq(any_sent & ~request.payload.first & (sent == first)),
                begin.eq(first + joined),
                jobs.i.payload.first.eq(begin),
                jobs.i.payload.last.eq(last),
                jobs.i.valid.eq(wanted & (begin <= last)),
            ]
            with m.If(wanted):
                m.d.sync += [sent.eq(last), any_sent.eq(1)]
            with m.Elif(taken & request.payload.first):
                m.d.sync += any_sent.eq(0)
        self._send(m, weight_jobs, index_jobs)
        return m

    def _delay(self, m: Module) -> stream.Interface:
        """Let each request wait for the latency."""
        stamped = data.StructLayout({"request": RowRequest, "stamp": unsigned(32)})
        m.submodules.requests = requests = Queue(shape=stamped, depth=_REQUEST_QUEUE)
        cycle = Signal(32)
        m.d.sync += cycle.eq(cycle + 1)
        ripe = stream.Signature(RowRequest).create(path=("ripe",))
        m.d.comb += [
            requests.i.valid.eq(self.fetch.valid),
            requests.i.payload.request.eq(self.fetch.payload),
            requests.i.payload.stamp.eq(cycle + self.latency),
            self.fetch.ready.eq(requests.i.ready),
            ripe.payload.eq(requests.o.payload.request),
            # Stamps ascend, so a difference below half the range means that the time has come.
            ripe.valid.eq(requests.o.valid & ~(cycle - requests.o.payload.stamp)[31]),
            requests.o.ready.eq(ripe.ready & ripe.valid),
        ]
        return ripe

    def _send(self, m: Module, weight_jobs: Queue, index_jobs: Queue) -> None:
        """Read the beats of the jobs; with a shared port, indices first while they have room."""
        beat_bits = self.config.beat_bits
        queues = {}
        sends = {}
        for name, jobs in (("weights", weight_jobs), ("indices", index_jobs)):
            memory = BenchMemory(width=beat_bits, depth=self.beat_depth, plusarg=name)
            m.submodules[f"{name}_memory"] = memory
            m.submodules[f"{name}_queue"] = queue = Queue(
                shape=unsigned(beat_bits), depth=BEAT_QUEUE
            )
            wiring.connect(m, queue.o, wiring.flipped(getattr(self, name)))
            offset = Signal(32, name=f"{name}_offset")
            at = Signal(32, name=f"{name}_at")
            send = Signal(name=f"{name}_send")
            m.d.comb += [
                at.eq(jobs.o.payload.first + offset),
                memory.address.eq(at),
                queue.i.payload.eq(memory.data),
                queue.i.valid.eq(send),
                jobs.o.ready.eq(send & (at == jobs.o.payload.last)),
            ]
            with m.If(send):
                m.d.sync += offset.eq(Mux(at == jobs.o.payload.last, 0, offset + 1))
            queues[name] = jobs.o.valid & queue.i.ready
            sends[name] = send
        m.d.comb += [
            sends["indices"].eq(queues["indices"]),
            sends["weights"].eq(queues["weights"] & ~(self.shared_port & queues["indices"])),
        ]
