"""What the helper unit works with: its registers, and the blocks beside it."""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from fanweave.golden.isa.ebpf_maps import Errno
from fanweave.hw.ebpf.helper_payloads import Reply
from fanweave.hw.ebpf.helper_plans import is_helper, plan_of
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorMemory
from fanweave.hw.ebpf.maps.key_hash import KeyHash
from fanweave.hw.ebpf.maps.payloads import OperationResult
from fanweave.hw.ebpf.mover import Mover
from fanweave.hw.ebpf.operands import OperandBuffer
from fanweave.hw.ebpf.payloads import PROGRAM_BITS, Cause
from fanweave.hw.ebpf.records import Records
from fanweave.hw.stream.queue import Queue

__all__ = ["HelperWork"]


class HelperWork:
    """Registers of the call that is served, and what its steps can ask for.

    Parameters
    ----------
    m : Module
        Of the unit.
    unit : HelperUnit
        Its members are joined to the blocks.

    Attributes
    ----------
    helper : Signal
        The number that was called.
    plan, descriptor : data.View
        What it does, and the descriptor of its map.
    key : Signal
        The key that was gathered, zeros behind its end.
    moves_key, stores : Signal
        A step says what `moved` moves: a key, or the operand back; otherwise a value.
    keeps_result : Signal
        A step says that the result that comes is no reply.
    given : Signal
        The result of an operation whose value is to be stored.
    """

    def __init__(self, m: Module, unit: wiring.Component) -> None:
        self.m = m
        self.unit = unit
        config = unit.config
        self.helper = Signal(8)
        self.key = Signal(8 * config.key_bytes)
        self.moves_key = Signal()
        self.stores = Signal()
        self.keeps_result = Signal()
        self.given = Signal(OperationResult)
        m.submodules.descriptors_by_map = self.descriptors = DescriptorMemory(maps=config.maps)
        m.submodules.mover = self.mover = Mover()
        m.submodules.operands = self.operands = OperandBuffer(size=config.operand_bytes)
        m.submodules.records = self.records = Records(threads=config.threads)
        m.submodules.key_hash = self.hash = KeyHash(key_bytes=config.key_bytes)
        self.descriptor = self.descriptors.descriptor
        self.plan = plan_of(m, self.helper, self.descriptor)
        wiring.connect(m, wiring.flipped(unit.descriptors), self.descriptors.writes)
        self._join_records()
        self._join_operands()
        self._join_mover()
        self._gather_key()
        self._reply_path()

    def _join_records(self) -> None:
        unit, records = self.unit, self.records
        access = self.mover.accesses.payload
        self.m.d.comb += [
            records.thread.eq(unit.thread),
            records.helper_thread.eq(unit.thread),
            records.helper_map.eq(access.map),
            records.helper_place.eq(access.place),
            records.helper_span.eq(access.span),
            records.access_thread.eq(unit.access_thread),
            records.access_map.eq(unit.access_map),
            records.access_place.eq(unit.access_place),
            records.access_span.eq(unit.access_span),
            unit.access_inside.eq(records.access_inside),
            unit.open.eq(records.open),
        ]

    def _join_operands(self) -> None:
        """Words from and to the mover, rows from and to the map unit."""
        unit, operands, mover = self.unit, self.operands, self.mover
        self.m.d.comb += [
            operands.row.eq(unit.operand_row),
            unit.operand.eq(operands.beat),
            operands.row_write.eq(unit.result_write),
            operands.row_number.eq(unit.result_row),
            operands.row_data.eq(unit.result_data),
            operands.word.eq(mover.word),
            operands.word_value.eq(mover.word_value),
            operands.word_write.eq(mover.word_write & ~self.moves_key),
            # Where there was no value, zeros are stored.
            mover.word_data.eq(Mux(self.given.found, operands.word_data, 0)),
        ]

    def _join_mover(self) -> None:
        """What is moved next: a key, or else a value or a record."""
        m, unit, mover, plan = self.m, self.unit, self.mover, self.plan
        _, second, third, *_ = unit.arguments
        self._begins = Signal()
        self._moving = Signal()
        move = mover.move
        wiring.connect(m, mover.writes, wiring.flipped(unit.writes))
        wiring.connect(m, wiring.flipped(unit.access_results), mover.access_results)
        m.d.comb += [
            unit.accesses.valid.eq(mover.accesses.valid),
            unit.accesses.payload.eq(mover.accesses.payload),
            unit.accesses.payload.in_record.eq(self.records.helper_inside),
            mover.accesses.ready.eq(unit.accesses.ready),
            mover.start.eq(self._begins & ~self._moving),
            mover.thread.eq(unit.thread),
            mover.frames.eq(unit.frames),
            mover.context_length.eq(unit.context_length),
            mover.copy_data.eq(unit.copy_data),
            unit.copy_in_stack.eq(mover.copy_in_stack),
            unit.copy_offset.eq(mover.copy_offset),
            move.address.eq(second),
            move.length.eq(self.descriptor.value_bytes),
            move.stores.eq(self.stores),
            move.probes.eq(plan.gives & ~self.stores),
        ]
        with m.If(self.moves_key):
            m.d.comb += move.length.eq(self.descriptor.key_bytes)
        with m.Elif(plan.keyed):
            m.d.comb += move.address.eq(third)
        with m.Elif(is_helper(self.helper, "ringbuf_output")):
            m.d.comb += move.length.eq(third)

    def _gather_key(self) -> None:
        m, mover, key_hash = self.m, self.mover, self.hash
        words = Signal.like(key_hash.words)
        m.d.comb += [
            key_hash.start.eq(mover.start & self.moves_key),
            key_hash.length.eq(self.descriptor.key_bytes),
            key_hash.key.eq(self.key),
            key_hash.words.eq(words),
        ]
        with m.If(key_hash.start):
            m.d.sync += [self.key.eq(0), words.eq(0)]
        with m.Elif(mover.word_write & self.moves_key):
            m.d.sync += [
                self.key.word_select(mover.word, 64).eq(mover.word_value),
                words.eq(words + 2),
            ]

    def _reply_path(self) -> None:
        """Replies of the unit itself before results that become replies."""
        m, unit = self.m, self.unit
        m.submodules.reply_queue = queue = Queue(shape=Reply, depth=unit.config.threads)
        wiring.connect(m, queue.o, wiring.flipped(unit.replies))
        self._own, self._replies = Signal(Reply), Signal()
        self._tail_calls = Signal(unit.config.threads)  # threads whose result is a program
        result, entry = unit.results.payload, queue.i.payload
        names = self._tail_calls.bit_select(result.thread, 1)
        m.d.comb += [
            queue.i.valid.eq(self._replies | (unit.results.valid & ~self.keeps_result)),
            unit.results.ready.eq(self.keeps_result | (~self._replies & queue.i.ready)),
            entry.thread.eq(result.thread),
            entry.value.eq(result.value),
        ]
        with m.If(self._replies):
            m.d.comb += entry.eq(self._own)
        with m.Elif(names & result.found & (result.value[PROGRAM_BITS:] == 0)):
            m.d.comb += entry.goes_on_elsewhere.eq(1)
        with m.Elif(names):
            m.d.comb += entry.value.eq(Const(-Errno.NOENT, 64))

    def issued(self) -> None:
        """The operation was taken; remember what its result will be."""
        names = is_helper(self.helper, "tail_call")
        for thread in range(self.unit.config.threads):
            with self.m.If(self.unit.thread == thread):
                self.m.d.sync += self._tail_calls[thread].eq(names)

    def reply(self, *, value: Value | int = 0, cause: Value | Cause = Cause.NONE) -> None:
        """End the call that is served."""
        self.m.d.comb += [
            self._replies.eq(1),
            self._own.thread.eq(self.unit.thread),
            self._own.value.eq(value),
            self._own.cause.eq(cause),
        ]
        self.m.next = "IDLE"

    @contextmanager
    def moved(self) -> Iterator[None]:
        """Move; what is inside happens in the cycle in which it ended well."""
        m, mover = self.m, self.mover
        m.d.comb += self._begins.eq(1)
        m.d.sync += self._moving.eq(~mover.done)
        with m.If(mover.done & (mover.cause != Cause.NONE)):
            self.reply(cause=mover.cause)
        with m.Elif(mover.done):
            yield
