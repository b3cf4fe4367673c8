"""The map unit: every operation on the maps of all engines, and every access to their values."""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_engine import WORD_BYTES
from fanweave.golden.isa.ebpf_maps import ARRAYS, HASHES, TABLES, MapType
from fanweave.hw.ebpf.maps import (
    hash_steps,
    host_steps,
    prefix_steps,
    queue_steps,
    ring_steps,
    table_steps,
)
from fanweave.hw.ebpf.maps.access import AccessUnit
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorWrite
from fanweave.hw.ebpf.maps.payloads import (
    BEAT_BITS,
    Access,
    AccessResult,
    Command,
    OperationResult,
    is_command,
    is_kind,
    operation_layout,
)
from fanweave.hw.ebpf.maps.value_store import StoreCommand, ValueStore
from fanweave.hw.ebpf.maps.work import Work, value_address
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["MapUnit"]


class MapUnit(wiring.Component):
    """Operations take effect one after the other, in the order in which they are taken.

    Look-ups in arrays and hash maps follow each other through `HashIndex`, one a cycle. What
    changes a map, or takes many cycles, has the unit for itself: it is taken last, and the next
    operation waits for its end. Such an operation ends in a bounded time: its steps are a walk
    through a chain, a search through a map's prefixes, a copy of a value, a change of an order, or
    the skipping of discarded records, each as long as the map at most; and the memory of values
    serves operations and accesses in turn.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    sources : int
        Streams of operations.
    accessors : int
        Streams of accesses.
    hosts : int
        How many of the last streams of accesses are of hosts; see `AccessUnit`.

    Members
    -------
    descriptors : stream in of `DescriptorWrite`
    operations : array of streams in of `operation_layout`
    results : array of streams out of `OperationResult`
        In the order of the source's operations.
    accesses, access_results : arrays of streams
    operand_row : Out; operands : array of In(BEAT_BITS)
        What an operation stores, a row of 32 bytes at a time, of all sources; combinational.
    result_rows : array of Out(1); result_row : Out; result_data : Out(BEAT_BITS)
        A row of what an operation read, for one of the sources.
    """

    def __init__(self, *, config: EbpfConfig, sources: int, accessors: int, hosts: int = 0) -> None:
        self.config = config
        self.count = sources
        self.accessors = accessors
        self.hosts = hosts
        self.operation = operation_layout(config)
        super().__init__(
            {
                "descriptors": In(stream.Signature(DescriptorWrite)),
                "operations": In(stream.Signature(self.operation)).array(sources),
                "results": Out(stream.Signature(OperationResult)).array(sources),
                "accesses": In(stream.Signature(Access)).array(accessors),
                "access_results": Out(stream.Signature(AccessResult)).array(accessors),
                "operand_row": Out(ROW_BITS),
                "operands": In(BEAT_BITS).array(sources),
                "result_rows": Out(1).array(sources),
                "result_row": Out(ROW_BITS),
                "result_data": Out(BEAT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = self._arbiter = Arbiter(shape=self.operation, sources=self.count)
        for outer, inner in zip(self.operations, self._arbiter.sources, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        work = Work(m, config=self.config, sources=self.count)
        self._values(m, work)
        self._accept(m, work)
        self._steps(m, work)
        return m

    def _values(self, m: Module, work: Work) -> None:
        """The memory of values and who visits it: accesses, and the operation's own steps."""
        m.submodules.store = store = ValueStore(words=self.config.value_bytes // WORD_BYTES)
        m.submodules.access = access = AccessUnit(
            maps=self.config.maps,
            sources=self.accessors,
            outstanding=self.config.threads,
            hosts=self.hosts,
        )
        m.submodules.visits = visits = Arbiter(shape=StoreCommand, sources=2)
        wiring.connect(m, wiring.flipped(self.descriptors), access.descriptors)
        for outer, inner in zip(self.accesses, access.sources, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        for outer, inner in zip(self.access_results, access.results, strict=True):
            wiring.connect(m, inner, wiring.flipped(outer))
        wiring.connect(m, access.visits, visits.sources[0])
        copier, own = work.copier, visits.sources[1]
        ended_is_own = Signal()
        of_copier = Signal()
        m.d.comb += [
            store.i.valid.eq(visits.o.valid),
            store.i.payload.as_value().eq(visits.o.payload.payload),
            visits.o.ready.eq(store.i.ready),
            own.valid.eq(work.visit_valid | copier.visits.valid),
            own.payload.eq(Mux(work.visit_valid, work.visit, copier.visits.payload)),
            work.visit_ready.eq(work.visit_valid & own.ready),
            copier.visits.ready.eq(own.ready & ~work.visit_valid),
            access.visited.eq(store.done & ~ended_is_own),
            access.value_read.eq(store.value_read),
            work.visit_ended.eq(store.done & ended_is_own & ~of_copier),
            work.words_read.eq(store.words_read),
            copier.visited.eq(store.done & ended_is_own & of_copier),
            copier.words_read.eq(store.words_read),
            self.operand_row.eq(copier.operand_row),
            copier.operands.eq(Array(self.operands)[work.found.source]),
        ]
        m.d.sync += [
            ended_is_own.eq(own.valid & own.ready),
            of_copier.eq(~work.visit_valid),
        ]
        rows = work.key_read.word_select(work.counter[:3], BEAT_BITS)
        m.d.comb += [
            self.result_row.eq(Mux(work.key_write, work.counter, copier.result_row)),
            self.result_data.eq(Mux(work.key_write, rows, copier.result)),
        ]
        for number, row in enumerate(self.result_rows):
            chosen = work.found.source == number
            m.d.comb += row.eq((work.key_write | copier.result_write) & chosen)

    def _accept(self, m: Module, work: Work) -> None:
        """Take operations while none has the unit for itself."""
        index, offered = work.index, self._arbiter.o
        operation = Signal(self.operation)
        indexed = is_kind(operation.descriptor, *ARRAYS, *HASHES) & is_command(
            operation, Command.LOOKUP, Command.READ, Command.UPDATE, Command.DELETE
        )
        self._claimed = Signal()  # an operation has the unit, or will
        self._idle = Signal()
        direct = Signal()
        m.d.comb += [
            operation.as_value().eq(offered.payload.payload),
            direct.eq(offered.valid & ~indexed & ~self._claimed & index.empty),
        ]
        with m.If(~self._claimed):
            m.d.comb += [
                index.i.valid.eq(offered.valid & indexed),
                index.i.payload.source.eq(offered.payload.source),
                index.i.payload.operation.eq(operation),
                offered.ready.eq(Mux(indexed, index.i.ready, index.empty)),
            ]
        with m.If(offered.valid & offered.ready & _is_exclusive(operation)):
            m.d.sync += self._claimed.eq(1)
        with m.If(direct):
            m.d.sync += [
                work.found.source.eq(offered.payload.source),
                work.found.operation.eq(operation),
            ]
        self._direct = direct

    def _steps(self, m: Module, work: Work) -> None:
        index = work.index
        found = index.o.payload
        busy = Signal()  # the order is changing
        with m.If(work.order.start):
            m.d.sync += busy.eq(1)
        with m.Elif(work.order.done):
            m.d.sync += busy.eq(0)
            m.d.comb += [work.keep_state.eq(1), work.next_state.ends.eq(work.order.ends_after)]
        result = Signal(OperationResult)
        target = Signal.like(found.source)
        answers = Signal()
        with m.FSM(name="steps"):
            with m.State("IDLE"):
                exclusive = _is_exclusive(found.operation)
                with m.If(index.o.valid & ~exclusive):
                    m.d.comb += [
                        answers.eq(1),
                        target.eq(found.source),
                        result.thread.eq(found.operation.thread),
                        result.found.eq(found.hit),
                        result.value.eq(
                            Mux(found.hit, value_address(found.operation.map, found.place), 0)
                        ),
                        index.o.ready.eq(Array(r.ready for r in self.results)[found.source]),
                    ]
                with m.If(index.o.valid & exclusive):
                    m.d.comb += index.o.ready.eq(1)
                    m.d.sync += work.found.eq(found)
                    m.next = "START"
                with m.If(self._direct):
                    m.next = "START"
            with m.State("START"):
                self._start(m, work)
            hash_steps.add_states(work)
            prefix_steps.add_states(work)
            ring_steps.add_states(work)
            table_steps.add_states(work)
            host_steps.add_states(work)
            with m.State("RESULT"):
                m.d.comb += [
                    answers.eq(~busy & ~work.copier.busy),
                    target.eq(work.found.source),
                    result.thread.eq(work.op.thread),
                    result.found.eq(work.answered),
                    result.value.eq(work.value),
                ]
                with m.If(answers & Array(r.ready for r in self.results)[work.found.source]):
                    m.d.sync += self._claimed.eq(0)
                    m.next = "IDLE"
        # For waveforms: the command that has the unit, under a bit that says whether one has.
        working = Signal(5)
        m.d.comb += working.eq(Mux(self._claimed, Cat(work.op.command, 1), 0))
        for number, out in enumerate(self.results):
            m.d.comb += [out.valid.eq(answers & (target == number)), out.payload.eq(result)]

    def _start(self, m: Module, work: Work) -> None:
        """The first step of an operation that has the unit for itself."""
        descriptor, command = work.descriptor, work.op.command
        with m.Switch(command):
            with m.Case(Command.PUSH):
                queue_steps.push(work)
            with m.Case(Command.POP, Command.PEEK):
                queue_steps.pop(work)
            with m.Case(Command.OUTPUT, Command.RESERVE):
                ring_steps.reserve(work)
            with m.Case(Command.SUBMIT, Command.DISCARD):
                ring_steps.finish_record(work)
            with m.Case(Command.QUERY):
                ring_steps.query(work)
            with m.Case(Command.CONSUME, Command.ADVANCE):
                ring_steps.consume(work)
            with m.Case(Command.CREATE):
                host_steps.create(work)
            with m.Case(Command.KEY):
                host_steps.read_key(work)
            with m.Default():
                with m.If(is_kind(descriptor, MapType.LPM_TRIE)):
                    prefix_steps.search(work)
                with m.Elif(is_kind(descriptor, *TABLES)):
                    table_steps.access(work)
                with m.Elif(is_kind(descriptor, *HASHES)):
                    self._start_hash(m, work)
                with m.Elif(is_kind(descriptor, *ARRAYS)):
                    self._start_array(m, work)
                with m.Else():
                    work.finish(0)

    @staticmethod
    def _start_hash(m: Module, work: Work) -> None:
        with m.Switch(work.op.command):
            with m.Case(Command.UPDATE):
                hash_steps.update(work)
            with m.Case(Command.DELETE):
                hash_steps.delete(work)
            with m.Default():
                hash_steps.lookup(work)

    @staticmethod
    def _start_array(m: Module, work: Work) -> None:
        with m.If(work.op.command == Command.UPDATE):
            hash_steps.update_array(work)
        with m.Else():
            hash_steps.delete_array(work)


def _is_exclusive(operation: Value) -> Value:
    """Whether an operation needs the unit for itself: all but look-ups that change nothing."""
    kind = operation.descriptor
    counts_as_use = is_kind(kind, MapType.LRU_HASH) & (operation.command == Command.LOOKUP)
    plain = is_command(operation, Command.LOOKUP, Command.READ)
    return ~(plain & is_kind(kind, *ARRAYS, *HASHES) & ~counts_as_use)
