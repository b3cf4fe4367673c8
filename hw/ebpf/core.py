"""The engine's core: one pipeline, shared by threads that each handle an event."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FRAME_BYTES
from fanweave.hw.ebpf.context_wait import ContextWait
from fanweave.hw.ebpf.core_blocks import CoreBlocks
from fanweave.hw.ebpf.divider import Divider, Division
from fanweave.hw.ebpf.egress import Egress, ended_layout
from fanweave.hw.ebpf.execute import Execute
from fanweave.hw.ebpf.fetch import Cancel, decode, select
from fanweave.hw.ebpf.helper_payloads import Call, CopyWrite, Reply
from fanweave.hw.ebpf.ingress import Ingress
from fanweave.hw.ebpf.late_results import LateResults
from fanweave.hw.ebpf.maps.payloads import Access, AccessResult
from fanweave.hw.ebpf.payloads import PROGRAM_BITS, Event, Verdict
from fanweave.hw.ebpf.program_payloads import LENGTH_BITS, SLOT_BITS
from fanweave.hw.ebpf.registers import ARGUMENTS, RegisterFile
from fanweave.hw.ebpf.return_stack import ReturnStack
from fanweave.hw.ebpf.thread_memory import ThreadMemory
from fanweave.hw.ebpf.threads import Threads
from fanweave.hw.ebpf.write_back import (
    ThreadMemories,
    copy_in,
    hold_back,
    write_back,
    write_late,
)
from fanweave.hw.stream.queue import Queue

__all__ = ["Core"]


class Core(wiring.Component):
    """Executes programs on events; all of RFC 9669, with helpers and maps outside.

    *Select* chooses a thread and reads its instruction, *decode* reads registers and gives the
    thread its next turn where it most likely goes on, *execute* computes, reads memory, and takes
    that turn back if it goes on elsewhere or not at all, *write back* stores the result. So a
    thread can be selected again every second cycle; with two or more at work an instruction
    completes in every cycle. What *write back* stores is seen by registers that are read in the
    same cycle, and nothing else is forwarded. A division, an access to a map's value and a call of
    a helper leave the pipeline; their thread waits for the result and the others go on.

    An event that ends before its time, by such a result, ends when its thread has the next turn.
    One that ends with records of ring buffers open has them discarded first, by a call of
    `CLEAN_UP`, and then has one more turn for its verdict.

    Why every wait ends: a thread that is ready is selected in its turn; the queues for divisions,
    accesses, calls and verdicts have a place for each thread, which has one of them at most; a
    result that finds no free cycle for long holds selection back until all results are stored.
    What a thread waits for outside ends as `MapUnit` and `HelperUnit` say. A context is filled in
    cycles without a store to contexts; events that store end by their budgets, and until it is
    filled no other begins.

    Parameters
    ----------
    config : EbpfConfig
        Parameters of the core.

    Members
    -------
    events : stream in of `Event`; contexts : stream in of 64-bit words
        An event's context follows it, 8 bytes a word.
    verdicts : stream out of `Verdict`
    contexts_after : stream out of 64-bit words
        With ``returns_context``: a verdict's context follows it, as the program left it.
    budget : In(32)
        Instructions an event may execute.
    busy : Out(1)
        An event is handled, or its verdict waits.
    instructions : Out(1)
        An instruction completes in this cycle; for a counter outside.
    fetch_slot, fetch_word, fetch_next_high, image_number, image_base, image_limit, in_use, \
event_program, event_valid, event_image, event_base, call_program, call_valid, call_image, call_base
        The other side of `ProgramStore`.
    accesses : stream out of `Access`; access_results : stream in of `AccessResult`
        To the map unit; ``in_record`` is left to be filled in.
    calls : stream out of `Call`; replies : stream in of `Reply`
    helper_thread : In
        Which thread the members below are about.
    helper_frames, helper_context_length, helper_time_ns : Out
        Frames of its stack in use, bytes of its context, time of its event; combinational.
    arguments_thread : In; arguments : array of Out(64)
        r1 to r5 of a thread, a cycle later.
    copy_in_stack : In(1); copy_offset : In(16); copy_data : Out(64)
        Eight bytes of its stack or context, a cycle later.
    writes : stream in of `CopyWrite`
    open : In(threads)
        Threads that have open records.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        thread, image = range(config.threads), range(config.images)
        contexts_after = Out(stream.Signature(64))
        super().__init__(
            {
                "events": In(stream.Signature(Event)),
                "contexts": In(stream.Signature(64)),
                "verdicts": Out(stream.Signature(Verdict)),
                **({"contexts_after": contexts_after} if config.returns_context else {}),
                "budget": In(32),
                "busy": Out(1),
                "instructions": Out(1),
                "fetch_slot": Out(SLOT_BITS),
                "fetch_word": In(64),
                "fetch_next_high": In(32),
                "image_number": Out(image),
                "image_base": In(SLOT_BITS),
                "image_limit": In(LENGTH_BITS),
                "in_use": Out(config.images),
                "event_program": Out(PROGRAM_BITS),
                "event_valid": In(1),
                "event_image": In(image),
                "event_base": In(SLOT_BITS),
                "call_program": Out(PROGRAM_BITS),
                "call_valid": In(1),
                "call_image": In(image),
                "call_base": In(SLOT_BITS),
                "accesses": Out(stream.Signature(Access)),
                "access_results": In(stream.Signature(AccessResult)),
                "calls": Out(stream.Signature(Call)),
                "replies": In(stream.Signature(Reply)),
                "helper_thread": In(thread),
                "helper_frames": Out(4),
                "helper_context_length": Out(16),
                "helper_time_ns": Out(64),
                "arguments_thread": In(thread),
                "arguments": Out(64).array(len(ARGUMENTS)),
                "copy_in_stack": In(1),
                "copy_offset": In(16),
                "copy_data": Out(64),
                "writes": In(stream.Signature(CopyWrite)),
                "open": In(config.threads),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._blocks = blocks = self._build(m)
        self._threads, self._registers = blocks.threads, blocks.registers
        self._memories = blocks.memories
        self._late_results(m)
        self._queues(m)
        self._ingress(m)
        self._egress(m)
        self._helper_ports(m)
        executed = self._pipeline(m)
        write_back(m, executed, self._registers, self._memories)
        copy_in(m, self.writes, self.helper_thread, executed.stores, self._memories)
        m.d.comb += self.call_program.eq(self._late.o.payload.value)
        write_late(
            m,
            self._late,
            self._threads,
            self._registers,
            free=~executed.writes,
            call_valid=self.call_valid,
            call_image=self.call_image,
            call_base=self.call_base,
        )
        return m

    def _build(self, m: Module) -> CoreBlocks:
        config = self.config
        threads = config.threads
        m.submodules.registers = registers = RegisterFile(threads=threads)
        m.submodules.stack = stack = ThreadMemory(
            threads=threads, size=CALL_FRAMES * FRAME_BYTES, clears=True
        )
        m.submodules.context = context = ThreadMemory(
            threads=threads, size=config.context_bytes, leaves=config.returns_context
        )
        m.submodules.returns = returns = ReturnStack(threads=threads, images=config.images)
        m.submodules.context_wait = wait = ContextWait(threads=threads)
        m.submodules.divisions = divisions = Queue(shape=Division, depth=threads)
        m.submodules.accesses = accesses = Queue(shape=Access, depth=threads)
        m.submodules.calls = calls = Queue(shape=Call, depth=threads)
        m.submodules.verdict_queue = verdicts = Queue(shape=ended_layout(threads), depth=threads)
        return CoreBlocks(
            threads=Threads(m, config=config),
            registers=registers,
            memories=ThreadMemories(stack, context),
            returns=returns,
            wait=wait,
            divisions=divisions,
            accesses=accesses,
            calls=calls,
            verdicts=verdicts,
        )

    def _late_results(self, m: Module) -> None:
        m.submodules.divider = divider = Divider()
        m.submodules.late_results = self._late = LateResults()
        wiring.connect(m, self._blocks.divisions.o, divider.i)
        wiring.connect(m, divider.o, self._late.divisions)
        wiring.connect(m, wiring.flipped(self.access_results), self._late.accesses)
        wiring.connect(m, wiring.flipped(self.replies), self._late.replies)

    def _queues(self, m: Module) -> None:
        wiring.connect(m, self._blocks.accesses.o, wiring.flipped(self.accesses))
        wiring.connect(m, self._blocks.calls.o, wiring.flipped(self.calls))
        m.d.comb += self.busy.eq(~self._threads.all_free)

    def _egress(self, m: Module) -> None:
        """Give verdicts; a thread is free when its own has left."""
        ended, context = self._blocks.verdicts.o, self._memories.context
        thread, freed = ended.payload.thread, Signal(name="freed")
        if self.config.returns_context:
            m.submodules.egress = egress = Egress(
                threads=self.config.threads, context_bytes=self.config.context_bytes
            )
            wiring.connect(m, ended, egress.ended)
            wiring.connect(m, egress.verdicts, wiring.flipped(self.verdicts))
            wiring.connect(m, egress.contexts, wiring.flipped(self.contexts_after))
            m.d.comb += [
                context.leave_thread.eq(egress.thread),
                context.leave_offset.eq(egress.read_offset),
                egress.read_data.eq(context.leave_data),
                freed.eq(egress.freed),
            ]
        else:
            m.d.comb += [
                self.verdicts.valid.eq(ended.valid),
                self.verdicts.payload.eq(ended.payload.verdict),
                ended.ready.eq(self.verdicts.ready),
                freed.eq(ended.valid & ended.ready),
            ]
        with m.If(freed):
            m.d.sync += self._threads.free[thread].eq(1)

    def _ingress(self, m: Module) -> None:
        """Give an event to a free thread, which starts while its context is filled."""
        threads, context = self._threads, self._memories.context
        m.submodules.ingress = ingress = Ingress(
            threads=self.config.threads, context_bytes=self.config.context_bytes
        )
        wiring.connect(m, wiring.flipped(self.events), ingress.events)
        wiring.connect(m, wiring.flipped(self.contexts), ingress.contexts)
        claimed, event = ingress.claimed, self.events.payload
        m.submodules.times = times = Memory(shape=64, depth=self.config.threads, init=[])
        time, time_write = times.read_port(domain="comb"), times.write_port()
        m.d.comb += [
            ingress.free.eq(Cat(threads.free)),
            self.event_program.eq(event.program),
            self.in_use.eq(threads.in_use),
            time_write.addr.eq(claimed),
            time_write.data.eq(event.time_ns),
            time_write.en.eq(ingress.claim),
            time.addr.eq(self.helper_thread),
            self.helper_time_ns.eq(time.data),
            context.fill_thread.eq(ingress.thread),
            context.fill_word.eq(ingress.fill_word),
            context.fill_data.eq(ingress.fill_data),
            context.fill_enable.eq(ingress.fill),
            ingress.fill_ready.eq(context.fill_ready),
            self._registers.start_thread.eq(claimed),
            self._registers.start_enable.eq(ingress.claim),
            self._memories.stack.clear_thread.eq(claimed),
            self._memories.stack.clear_enable.eq(ingress.claim),
        ]
        with m.If(ingress.claim):
            threads.claim(
                claimed, image=self.event_image, base=self.event_base, bound=self.event_valid
            )
            m.d.sync += [
                threads.length[claimed].eq(ingress.length),
                threads.tag[claimed].eq(event.tag),
            ]
        wait = self._blocks.wait
        m.d.comb += [
            wait.filling.eq(ingress.filling),
            wait.filled.eq(ingress.thread),
            wait.there.eq(ingress.there),
        ]
        with m.If(wait.wakes):
            m.d.sync += threads.ready[ingress.thread].eq(1)

    def _helper_ports(self, m: Module) -> None:
        """What the helper unit reads of a thread."""
        threads, registers = self._threads, self._registers
        in_stack = Signal()
        asked = Signal(threads.shape)
        m.d.sync += [in_stack.eq(self.copy_in_stack), asked.eq(self.arguments_thread)]
        m.d.comb += [
            self.helper_frames.eq(threads.frame[self.helper_thread] + 1),
            self.helper_context_length.eq(threads.length[self.helper_thread]),
            registers.arguments_thread.eq(self.arguments_thread),
            registers.arguments_length.eq(threads.length[asked]),
        ]
        for ours, theirs in zip(self.arguments, registers.arguments, strict=True):
            m.d.comb += ours.eq(theirs)
        stack, context = self._memories.stack, self._memories.context
        for memory in (stack, context):
            m.d.comb += [
                memory.copy_thread.eq(self.helper_thread),
                memory.copy_offset.eq(self.copy_offset[: len(memory.copy_offset)]),
            ]
        m.d.comb += self.copy_data.eq(Mux(in_stack, stack.copy_data, context.copy_data))

    def _pipeline(self, m: Module) -> data.View:
        """All stages but the last one; what they hand to it."""
        threads = self._threads
        hold = hold_back(
            m,
            self._late.o.valid & ~self._late.o.ready,
            self.writes.valid & ~self.writes.ready,
        )
        cancel = Cancel(threads)
        chosen, fetched = select(m, threads, hold=hold, cancel=cancel)
        m.d.comb += [
            self.fetch_slot.eq(threads.slot[chosen]),
            self.image_number.eq(threads.image[chosen]),
        ]
        slot = fetched.place.slot
        decoded = decode(
            m,
            self._blocks,
            fetched,
            word=self.fetch_word,
            high=self.fetch_next_high,
            within=(slot >= self.image_base) & (slot < self.image_limit),
            budget=self.budget,
        )
        execute = Execute(m, self._blocks, decoded, cancel=cancel, open_records=self.open)
        m.d.comb += self.instructions.eq(execute.completes)
        return execute.executed
