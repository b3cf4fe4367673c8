"""The helper unit of an engine: carries out what programs call."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import MAPS, Region, random_seed
from fanweave.golden.isa.ebpf_maps import HASHES, Errno, RingFlag
from fanweave.hw.ebpf.helper_payloads import CLEAN_UP, Call, CopyWrite, Reply
from fanweave.hw.ebpf.helper_plans import is_helper
from fanweave.hw.ebpf.helper_work import HelperWork
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorWrite
from fanweave.hw.ebpf.maps.payloads import (
    BEAT_BITS,
    PLACE_BITS,
    Access,
    AccessResult,
    OperationResult,
    is_kind,
    operation_layout,
)
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.ebpf.registers import ARGUMENTS

__all__ = ["HelperUnit"]

_RING_FLAGS = int(RingFlag.NO_WAKEUP | RingFlag.FORCE_WAKEUP)
_HANDLE_BITS = (MAPS - 1).bit_length()
#: What the addresses of values have above the map's number.
_VALUES = Region.MAP_VALUES >> PLACE_BITS + _HANDLE_BITS


class HelperUnit(wiring.Component):
    """Serves a call at a time up to its operation on a map; results come back on their own.

    *describe* has the arguments and reads the map's descriptor, *check* looks at map, flags and
    sizes and begins to gather the first argument, *value* gathers the second one of an update,
    *issue* gives the operation to the map unit. Of a look-up, a deletion, a query and of a record
    that is given back the result becomes the reply when it comes, and the next call is served
    already. What uses the operand buffer, and what reserves or cleans up records, *waits* for its
    result; *store* copies what a queue gave. A number that asks no map is replied in *describe*.

    Calls take effect in the order in which they are taken: the map unit takes operations in that
    order, and what goes on behind such an early end changes no byte that a later call copies.

    Why every wait ends: the queue of replies has a place for each thread, and each has one call
    under way at most, so it is never full; the map unit's results are held for one cycle, by a
    reply of this unit's own, and a call has one such reply. So the map unit never waits for this
    unit, takes each operation after at most one of each other source, and answers it, as
    `MapUnit` says; a move ends, as `Mover` says. A clean-up has a round for each open record,
    `OPEN_RECORDS` at most. The hash of a key takes a cycle for each of its words.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    engine : int
        Its number among those that share the maps.

    Members
    -------
    calls : stream in of `Call`; replies : stream out of `Reply`
        A thread has one call under way at most.
    descriptors : stream in of `DescriptorWrite`
        Always ready; the same that the map unit gets.
    thread : Out; frames : In(4); context_length : In(16); time_ns : In(64)
        The thread that is served, and of it, combinationally: frames of stack in use, bytes of the
        context, time of the event.
    arguments_thread : Out; arguments : array of In(64)
        r1 to r5 of that thread, a cycle later.
    copy_in_stack : Out(1); copy_offset : Out(16); copy_data : In(64)
        Eight bytes of the stack or the context of ``thread``, a cycle later.
    writes : stream out of `CopyWrite`
        Of ``thread``.
    accesses : stream out of `Access`; access_results : stream in of `AccessResult`
        One of the map unit's accessors, for what is copied from and to values.
    operations : stream out of `operation_layout`; results : stream in of `OperationResult`
        One of the map unit's sources.
    operand_row : In; operand : Out(BEAT_BITS)
        A row of what an operation stores; combinational.
    result_write : In(1); result_row : In; result_data : In(BEAT_BITS)
        A row of what an operation read.
    open : Out(threads)
        Threads that have open records.
    access_thread, access_map, access_place, access_span : In; access_inside : Out(1)
        Whether bytes lie in an open record of a thread, for the core's own accesses.

    Raises
    ------
    ValueError
        If there is no such engine.
    """

    def __init__(self, *, config: EbpfConfig, engine: int) -> None:
        if not 0 <= engine < config.engines:
            raise ValueError(f"engine = {engine} must be from 0 to {config.engines - 1}")
        self.config = config
        self.engine = engine
        self.operation = operation_layout(config)
        thread = range(config.threads)
        super().__init__(
            {
                "calls": In(stream.Signature(Call)),
                "replies": Out(stream.Signature(Reply)),
                "descriptors": In(stream.Signature(DescriptorWrite)),
                "thread": Out(thread),
                "frames": In(4),
                "context_length": In(16),
                "time_ns": In(64),
                "arguments_thread": Out(thread),
                "arguments": In(64).array(len(ARGUMENTS)),
                "copy_in_stack": Out(1),
                "copy_offset": Out(16),
                "copy_data": In(64),
                "writes": Out(stream.Signature(CopyWrite)),
                "accesses": Out(stream.Signature(Access)),
                "access_results": In(stream.Signature(AccessResult)),
                "operations": Out(stream.Signature(self.operation)),
                "results": In(stream.Signature(OperationResult)),
                "operand_row": In(ROW_BITS),
                "operand": Out(BEAT_BITS),
                "result_write": In(1),
                "result_row": In(ROW_BITS),
                "result_data": In(BEAT_BITS),
                "open": Out(config.threads),
                "access_thread": In(thread),
                "access_map": In(8),
                "access_place": In(PLACE_BITS),
                "access_span": In(16),
                "access_inside": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        work = HelperWork(m, self)
        self._operate(m, work)
        self._random = Signal(32, init=random_seed(self.engine))
        m.d.comb += self.arguments_thread.eq(self.thread)
        with m.FSM(name="helper"):
            with m.State("IDLE"):
                self._take(m, work)
            with m.State("DESCRIBE"):
                self._describe(m, work)
            with m.State("CHECK"):
                self._check(m, work)
            with m.State("VALUE"), work.moved():
                m.next = "ISSUE"
            with m.State("ISSUE"):
                self._issue(m, work)
            with m.State("WAIT"):
                self._wait(m, work)
            with m.State("STORE"):
                m.d.comb += work.stores.eq(1)
                with work.moved():
                    work.reply(value=work.given.value)
        return m

    def _operate(self, m: Module, work: HelperWork) -> None:
        """The operation, as it is issued."""
        operation, records = self.operations.payload, work.records
        first, second, third, fourth, _ = self.arguments
        flags = Mux(is_helper(work.helper, "map_push_elem"), third, fourth)
        m.d.comb += [
            records.wanted_map.eq(first[PLACE_BITS:]),
            records.wanted_place.eq(first[:PLACE_BITS]),
            work.descriptors.map.eq(operation.map),
            operation.command.eq(work.plan.command),
            operation.thread.eq(self.thread),
            operation.map.eq(first),
            operation.descriptor.eq(work.descriptor),
            operation.engine.eq(self.engine),
            operation.key.eq(work.key),
            operation.hash.eq(work.hash.hash),
            operation.flags.eq(_clipped(flags, 3)),
            operation.length.eq(_clipped(second, PLACE_BITS)),
            operation.place.eq(_clipped(second, PLACE_BITS)),
        ]
        with m.If(work.helper == CLEAN_UP):
            m.d.comb += [
                operation.map.eq(records.first.map),
                operation.place.eq(records.first.place),
                operation.length.eq(records.first.length),
            ]
        with m.Elif(work.plan.finishes):
            m.d.comb += [
                operation.map.eq(first[PLACE_BITS:]),
                operation.place.eq(first[:PLACE_BITS]),
                operation.length.eq(records.found_length),
            ]
        with m.Elif(is_helper(work.helper, "tail_call")):
            m.d.comb += [operation.map.eq(second), operation.key.eq(third[:32])]
        with m.Elif(is_helper(work.helper, "ringbuf_output")):
            m.d.comb += operation.length.eq(third)

    def _take(self, m: Module, work: HelperWork) -> None:
        call = self.calls.payload
        m.d.comb += [self.calls.ready.eq(1), self.arguments_thread.eq(call.thread)]
        with m.If(self.calls.valid):
            m.d.sync += [self.thread.eq(call.thread), work.helper.eq(call.helper)]
            m.next = "DESCRIBE"

    def _describe(self, m: Module, work: HelperWork) -> None:
        """Read the descriptor, or reply at once."""
        m.d.comb += work.descriptors.enable.eq(1)
        m.next = "CHECK"
        with m.If(is_helper(work.helper, "ktime_get_ns")):
            work.reply(value=self.time_ns)
        with m.If(is_helper(work.helper, "get_prandom_u32")):
            following = _next_random(m, self._random)
            m.d.sync += self._random.eq(following)
            work.reply(value=following)
        with m.If(is_helper(work.helper, "get_smp_processor_id")):
            work.reply(value=self.engine)
        with m.If((work.helper == CLEAN_UP) & ~self.open.bit_select(self.thread, 1)):
            work.reply()

    def _check(self, m: Module, work: HelperWork) -> None:
        """Look at map, flags and sizes, in this order, and gather the first argument."""
        plan, descriptor = work.plan, work.descriptor
        first, second, third, *_ = self.arguments
        handle = Mux(is_helper(work.helper, "tail_call"), second, first)
        names_map = (handle[_HANDLE_BITS:] == Region.MAP_HANDLES >> _HANDLE_BITS) & plan.fits
        is_record = (first[PLACE_BITS + _HANDLE_BITS :] == _VALUES) & work.records.found
        outputs = is_helper(work.helper, "ringbuf_output")
        copied = Mux(outputs, third, descriptor.value_bytes)
        m.d.comb += work.moves_key.eq(plan.keyed)
        with m.If(work.helper == CLEAN_UP):
            m.next = "ISSUE"
        with m.Elif(~Mux(plan.finishes, is_record, names_map & descriptor.valid)):
            work.reply(cause=Cause.BAD_MAP)
        with m.Elif((plan.reads & ~descriptor.readable) | (plan.writes & ~descriptor.writable)):
            work.reply(cause=Cause.FORBIDDEN)
        with m.Elif((plan.valued | plan.gives) & (copied > self.config.operand_bytes)):
            work.reply(cause=Cause.OPERAND_SIZE)
        with m.Elif(plan.keyed | plan.valued | plan.gives), work.moved():
            m.next = "ISSUE"
            with m.If(plan.keyed & plan.valued):
                m.next = "VALUE"
        with m.Else():
            m.next = "ISSUE"

    def _issue(self, m: Module, work: HelperWork) -> None:
        """Give the operation to the map unit, unless it is refused here."""
        plan, records = work.plan, work.records
        _, _, third, fourth, _ = self.arguments
        outputs = is_helper(work.helper, "ringbuf_output")
        reserves = is_helper(work.helper, "ringbuf_reserve")
        hashed = plan.keyed & is_kind(work.descriptor, *HASHES)
        with m.If(outputs & ((fourth & ~Const(_RING_FLAGS, 64)) != 0)):
            work.reply(value=Const(-Errno.INVALID, 64))
        with m.Elif(reserves & ((third != 0) | records.full)):
            work.reply()
        with m.Else():
            m.d.comb += self.operations.valid.eq(~hashed | work.hash.done)
        with m.If(self.operations.valid & self.operations.ready):
            work.issued()
            m.d.comb += [
                records.remove.eq(plan.finishes),
                records.chosen.eq(records.found_number),
            ]
            m.next = "IDLE"
            with m.If(plan.waits):
                m.next = "WAIT"

    def _wait(self, m: Module, work: HelperWork) -> None:
        """The result of this call; those of others pass by."""
        result, records = self.results.payload, work.records
        comes = self.results.valid & (result.thread == self.thread)
        with m.If(comes & (work.helper == CLEAN_UP)):
            m.d.comb += [
                work.keeps_result.eq(1),
                records.remove.eq(1),
                records.chosen.eq(records.first_number),
            ]
            m.next = "DESCRIBE"
        with m.Elif(comes & work.plan.gives):
            m.d.comb += work.keeps_result.eq(1)
            m.d.sync += work.given.eq(result)
            m.next = "STORE"
        with m.Elif(comes):
            reserves = is_helper(work.helper, "ringbuf_reserve")
            m.d.comb += [
                records.add.eq(reserves & result.found),
                records.record.map.eq(self.operations.payload.map),
                records.record.place.eq(result.value[:PLACE_BITS]),
                records.record.length.eq(self.operations.payload.length),
            ]
            m.next = "IDLE"


def _clipped(value: Value, bits: int) -> Value:
    """The low bits, and a bit that says whether there are others."""
    return Cat(value[:bits], value[bits:].any())


def _next_random(m: Module, state: Value) -> Value:
    """`next_random` of golden."""
    for shift in (13, -17, 5):
        following = Signal(32, name=f"random_{abs(shift)}")
        m.d.comb += following.eq(state ^ (state << shift if shift > 0 else state >> -shift))
        state = following
    return state
