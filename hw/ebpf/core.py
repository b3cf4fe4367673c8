"""The engine's core: one pipeline, shared by threads that each handle an event."""

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf import AtomicOperation, WideKind
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FRAME_BYTES, MAP_SPAN, Region
from fanweave.hw.ebpf.alu import Alu, Comparator
from fanweave.hw.ebpf.bytes import bytes_of
from fanweave.hw.ebpf.context_wait import ContextWait
from fanweave.hw.ebpf.decoder import Controls, Decoder, InstructionWord
from fanweave.hw.ebpf.divider import Divider, Division
from fanweave.hw.ebpf.egress import Egress, ended_layout
from fanweave.hw.ebpf.helper_payloads import CLEAN_UP, Call, CopyWrite, Reply
from fanweave.hw.ebpf.ingress import Ingress
from fanweave.hw.ebpf.late_results import LateResults
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Access, AccessResult
from fanweave.hw.ebpf.payloads import PROGRAM_BITS, Cause, Event, Verdict
from fanweave.hw.ebpf.program_payloads import LENGTH_BITS, SLOT_BITS
from fanweave.hw.ebpf.registers import ARGUMENTS, RegisterFile
from fanweave.hw.ebpf.thread_memory import ThreadMemory
from fanweave.hw.ebpf.threads import Threads
from fanweave.hw.ebpf.write_back import (
    ThreadMemories,
    copy_in,
    executed_layout,
    hold_back,
    write_back,
    write_late,
)
from fanweave.hw.stream.queue import Queue

__all__ = ["Core"]


class Core(wiring.Component):
    """Executes programs on events; all of RFC 9669, with helpers and maps outside.

    A thread has one instruction in the pipeline at a time, so nothing is ever forwarded or
    stalled: *select* chooses a thread and reads its instruction, *decode* reads registers,
    *execute* computes, decides where to go on and reads memory, *write back* stores the result. A
    thread can be selected again every third cycle; with three or more at work an instruction
    completes in every cycle. A division, an access to a map's value and a call of a helper leave
    the pipeline; their thread waits for the result and the others go on.

    An event that ends before its time, by such a result, ends when its thread has the next turn.
    One that ends with records of ring buffers open has them discarded first, by a call of
    `CLEAN_UP`, and then has one more turn for its verdict.

    Why every wait ends: a thread that is ready is selected in its turn; the queues for divisions,
    accesses, calls and verdicts have a place for each thread, which has one of them at most; a
    result that finds no free cycle for long holds selection back until all results are stored.
    What a thread waits for outside ends as `MapUnit` and `HelperUnit` say.

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
        self._threads = Threads(m, config=self.config)
        self._blocks(m)
        self._queues(m)
        self._ingress(m)
        self._egress(m)
        self._helper_ports(m)
        fetched = self._select(m)
        decoded = self._decode(m, fetched)
        executed = self._execute(m, decoded)
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

    def _blocks(self, m: Module) -> None:
        config = self.config
        m.submodules.registers = self._registers = RegisterFile(threads=config.threads)
        m.submodules.stack = stack = ThreadMemory(
            threads=config.threads, size=CALL_FRAMES * FRAME_BYTES, clears=True
        )
        m.submodules.context = context = ThreadMemory(
            threads=config.threads, size=config.context_bytes, leaves=config.returns_context
        )
        self._memories = ThreadMemories(stack, context)
        m.submodules.divider = divider = Divider()
        m.submodules.late_results = self._late = LateResults()
        wiring.connect(m, divider.o, self._late.divisions)
        wiring.connect(m, wiring.flipped(self.access_results), self._late.accesses)
        wiring.connect(m, wiring.flipped(self.replies), self._late.replies)
        self._divider = divider

    def _queues(self, m: Module) -> None:
        """A place for each thread in all of them, so none is ever full."""
        depth = self.config.threads
        m.submodules.divisions = self._divisions = Queue(shape=Division, depth=depth)
        m.submodules.accesses = self._accesses = Queue(shape=Access, depth=depth)
        m.submodules.calls = self._calls = Queue(shape=Call, depth=depth)
        m.submodules.verdict_queue = self._verdicts = Queue(shape=ended_layout(depth), depth=depth)
        wiring.connect(m, self._divisions.o, self._divider.i)
        wiring.connect(m, self._accesses.o, wiring.flipped(self.accesses))
        wiring.connect(m, self._calls.o, wiring.flipped(self.calls))
        m.d.comb += self.busy.eq(~self._threads.all_free)

    def _egress(self, m: Module) -> None:
        """Give verdicts; a thread is free when its own has left."""
        ended, context = self._verdicts.o, self._memories.context
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
        m.submodules.context_wait = self._wait = wait = ContextWait(threads=self.config.threads)
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

    def _select(self, m: Module) -> data.View:
        """Choose a thread that can go on, in turn, and read two slots from its own on."""
        threads = self._threads
        hold = hold_back(
            m,
            self._late.o.valid & ~self._late.o.ready,
            self.writes.valid & ~self.writes.ready,
        )
        chosen, found = threads.choose(hold)
        fetched = Signal(
            data.StructLayout(
                {"valid": 1, "thread": threads.shape, "slot": SLOT_BITS, "outside": 1}
            )
        )
        m.d.sync += [
            fetched.valid.eq(found),
            fetched.thread.eq(chosen),
            fetched.slot.eq(threads.slot[chosen]),
            fetched.outside.eq(threads.outside[chosen]),
        ]
        m.d.comb += [
            self.fetch_slot.eq(threads.slot[chosen]),
            self.image_number.eq(threads.image[chosen]),
        ]
        return fetched

    def _decode(self, m: Module, fetched: data.View) -> data.View:
        m.submodules.decoder = decoder = Decoder()
        high = self.fetch_next_high
        names_map = decoder.controls.is_wide_load & decoder.word.src.matches(
            WideKind.MAP_FD, WideKind.MAP_INDEX
        )
        frame = self._threads.frame[fetched.thread]
        registers = self._registers
        m.d.comb += [
            Value.cast(decoder.word).eq(self.fetch_word),
            registers.read_thread.eq(fetched.thread),
            registers.read_frame.eq(frame),
            registers.read_dst.eq(decoder.word.dst),
            registers.read_src.eq(decoder.word.src),
        ]
        where = data.StructLayout({"slot": SLOT_BITS, "image": range(self.config.images)})
        m.submodules.returns = returns = Memory(
            shape=where, depth=self.config.threads * CALL_FRAMES, init=[]
        )
        self._return_write = returns.write_port()
        self._return_read = returns.read_port()
        m.d.comb += [
            self._return_read.en.eq(1),
            self._return_read.addr.eq(Cat(frame, fetched.thread)),
        ]
        decoded = Signal(
            data.StructLayout(
                {
                    "valid": 1,
                    "thread": self._threads.shape,
                    "slot": SLOT_BITS,
                    "outside": 1,
                    "frame": range(CALL_FRAMES),
                    "word": InstructionWord,
                    "high": 32,
                    "controls": Controls,
                }
            )
        )
        within = (fetched.slot >= self.image_base) & (fetched.slot < self.image_limit)
        m.d.sync += [
            decoded.valid.eq(fetched.valid),
            decoded.thread.eq(fetched.thread),
            decoded.slot.eq(fetched.slot),
            decoded.outside.eq(fetched.outside | ~within),
            decoded.frame.eq(frame),
            decoded.word.eq(decoder.word),
            decoded.high.eq(high),
            decoded.controls.eq(decoder.controls),
        ]
        # The one field of an instruction that the decoder does not see.
        with m.If(names_map & (high != 0)):
            m.d.sync += decoded.controls.legal.eq(0)
        return decoded

    def _execute(self, m: Module, decoded: data.View) -> data.View:
        word, controls, thread = decoded.word, decoded.controls, decoded.thread
        threads = self._threads
        m.submodules.alu = alu = Alu()
        m.submodules.comparator = comparator = Comparator()
        dst, src, imm = Signal(64), Signal(64), Signal(64)
        m.d.comb += [
            self._registers.length.eq(threads.length[thread]),
            dst.eq(self._registers.dst),
            imm.eq(word.imm.as_signed()),
            src.eq(Mux(controls.register_source, self._registers.src, imm)),
            alu.operation.eq(controls.operation),
            alu.wide.eq(controls.wide),
            alu.dst.eq(dst),
            alu.src.eq(src),
            alu.extend.eq(word.offset[:6]),
            alu.bits.eq(word.imm[:7]),
            alu.swap.eq(controls.wide | controls.register_source),
            comparator.operation.eq(controls.operation),
            comparator.wide.eq(controls.wide),
            comparator.dst.eq(dst),
            comparator.src.eq(src),
        ]
        access = self._access(m, decoded, dst)
        cause, executes = self._causes(m, decoded, access)
        goes_on = Signal()
        ends = Signal()
        leaves = threads.ending[thread] | (controls.is_exit & (decoded.frame == 0))
        stays = (cause == Cause.NONE) & ~leaves
        wait = self._wait
        done = decoded.valid & ~wait.waits
        m.d.comb += [
            wait.executes.eq(decoded.valid),
            wait.thread.eq(thread),
            wait.whole.eq(~stays | controls.is_helper_call),
            wait.touches.eq(access.in_context),
            wait.behind.eq(access.behind),
            goes_on.eq(done & stays),
            ends.eq(done & ~stays),
            self.instructions.eq(done & executes),
        ]
        # For waveforms: the slot that is executed, under a bit that says whether there is one.
        executing = Signal(SLOT_BITS + 1)
        m.d.comb += executing.eq(Mux(done, Cat(decoded.slot, 1), 0))
        self._go_on(m, decoded, access, comparator.taken, goes_on)
        self._divide(m, decoded, dst, src, goes_on & controls.is_division)
        self._reach_values(m, decoded, access, src, goes_on & access.in_values)
        self._end(m, decoded, cause, done & executes, ends)
        self._call(m, decoded, goes_on & controls.is_helper_call, ends)
        return self._hand_on(m, decoded, access, goes_on, src, alu.result)

    def _hand_on(
        self,
        m: Module,
        decoded: data.View,
        access: data.View,
        goes_on: Value,
        src: Value,
        result: Value,
    ) -> data.View:
        """What *write back* needs."""
        word, controls = decoded.word, decoded.controls
        executed = Signal(executed_layout(self.config.threads))
        loads = (controls.is_load | (controls.is_atomic & word.imm[0])) & ~access.in_values
        stores = (controls.is_store | controls.is_atomic) & ~access.in_values
        m.d.sync += [
            executed.writes.eq(goes_on & (controls.is_alu | controls.is_wide_load | loads)),
            executed.stores.eq(goes_on & stores),
            executed.atomic.eq(controls.is_atomic),
            executed.thread.eq(decoded.thread),
            executed.frame.eq(decoded.frame),
            executed.register.eq(_loaded_register(word, controls)),
            executed.value.eq(
                Mux(controls.is_wide_load, _wide_value(m, word, decoded.high), result)
            ),
            executed.source.eq(src),
            executed.r0.eq(self._registers.r0),
            executed.from_memory.eq(controls.is_load | controls.is_atomic),
            executed.in_stack.eq(access.in_stack),
            executed.offset.eq(access.offset),
            executed.size.eq(controls.size),
            executed.extends_sign.eq(controls.extends_sign),
            executed.atomic_operation.eq(word.imm[:8]),
        ]
        return executed

    def _access(self, m: Module, decoded: data.View, dst: Value) -> data.View:
        """Address of a load or a store, and whether all of its bytes are there; starts reading."""
        controls = decoded.controls
        address = Signal(64)
        size = Signal(4)
        behind = Signal(30)
        access = Signal(
            data.StructLayout(
                {
                    "in_stack": 1,
                    "in_context": 1,
                    "in_values": 1,  # of a map, which has its own checks
                    "legal": 1,
                    "aligned": 1,
                    "offset": 30,
                    "behind": 16,  # where it ends, of one that is legal
                }
            )
        )
        base = Mux(controls.is_load, self._registers.src, dst)
        limit = (decoded.frame + 1) * FRAME_BYTES
        in_context = address[28:] == Region.CONTEXT >> 28
        accesses = controls.is_load | controls.is_store | controls.is_atomic
        in_values = address[30:] == Region.MAP_VALUES >> 30
        m.d.comb += [
            address.eq(base + decoded.word.offset.as_signed()),
            size.eq(bytes_of(controls.size)),
            behind.eq(address[:28] + size),
            access.offset.eq(address[:30]),
            access.in_stack.eq(address[28:] == Region.STACK >> 28),
            access.in_context.eq(in_context & accesses),
            access.in_values.eq(in_values & accesses),
            access.behind.eq(behind),
            access.legal.eq(
                (access.in_stack & (behind <= limit))
                | (in_context & (behind <= self._threads.length[decoded.thread]))
                | in_values
            ),
            access.aligned.eq((address[:3] & (size - 1)[:3]) == 0),
        ]
        for memory in (self._memories.stack, self._memories.context):
            m.d.comb += [
                memory.read_thread.eq(decoded.thread),
                memory.read_offset.eq(address[: len(memory.read_offset)]),
            ]
        return access

    def _causes(self, m: Module, decoded: data.View, access: data.View) -> tuple[Signal, Signal]:
        """Why the event ends here, if it does, and whether the instruction counts as executed."""
        controls, threads = decoded.controls, self._threads
        cause = Signal(Cause)
        executes = Signal()
        m.d.comb += executes.eq(1)
        with m.If(threads.ending[decoded.thread]):
            m.d.comb += [cause.eq(threads.cause[decoded.thread]), executes.eq(0)]
        with m.Elif(decoded.outside):
            m.d.comb += [cause.eq(Cause.END_OF_PROGRAM), executes.eq(0)]
        with m.Elif(threads.count[decoded.thread] == self.budget):
            m.d.comb += [cause.eq(Cause.WATCHDOG), executes.eq(0)]
        with m.Elif(~controls.legal):
            m.d.comb += cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(controls.is_atomic & ~access.aligned):
            m.d.comb += cause.eq(Cause.MISALIGNED_ATOMIC)
        with m.Elif((controls.is_load | controls.is_store | controls.is_atomic) & ~access.legal):
            m.d.comb += cause.eq(Cause.OUT_OF_BOUNDS)
        with m.Elif(controls.is_local_call & (decoded.frame == CALL_FRAMES - 1)):
            m.d.comb += cause.eq(Cause.CALL_DEPTH)
        with m.Elif(controls.is_helper_call & ~decoded.word.imm.matches(*HELPERS)):
            m.d.comb += cause.eq(Cause.UNKNOWN_HELPER)
        return cause, executes

    def _go_on(
        self, m: Module, decoded: data.View, access: data.View, taken: Value, enable: Value
    ) -> None:
        """Where the thread goes on, and whether it can at once."""
        word, controls, thread = decoded.word, decoded.controls, decoded.thread
        threads = self._threads
        distance = Signal(signed(32))
        target = Signal(signed(34))
        jumps = controls.is_goto | controls.is_local_call | (controls.is_conditional & taken)
        m.d.comb += [
            distance.eq(
                Mux(controls.distance_in_imm, word.imm.as_signed(), word.offset.as_signed())
            ),
            target.eq(decoded.slot + 1 + Mux(jumps, distance, Mux(controls.is_wide_load, 1, 0))),
        ]
        registers = self._registers
        m.d.comb += [
            self._return_write.addr.eq(Cat((decoded.frame + 1)[:3], thread)),
            self._return_write.data.slot.eq(decoded.slot + 1),
            self._return_write.data.image.eq(threads.image[thread]),
            self._return_write.en.eq(enable & controls.is_local_call),
            registers.call_enable.eq(enable & controls.is_local_call),
            registers.call_thread.eq(thread),
            registers.call_frame.eq(decoded.frame + 1),
        ]
        waits = controls.is_division | controls.is_helper_call | access.in_values
        with m.If(enable):
            threads.go_to(thread, target)
            m.d.sync += threads.ready[thread].eq(~waits)
            with m.If(controls.is_local_call):
                m.d.sync += threads.frame[thread].eq(decoded.frame + 1)
            with m.If(controls.is_exit):
                back = self._return_read.data
                threads.go_back(thread, slot=back.slot, image=back.image, frame=decoded.frame - 1)
            with m.If(waits):
                m.d.sync += [
                    threads.target[thread].eq(_loaded_register(word, controls)),
                    threads.writes[thread].eq(
                        controls.is_load | (controls.is_atomic & word.imm[0])
                    ),
                    threads.size[thread].eq(controls.size),
                    threads.extends_sign[thread].eq(controls.extends_sign),
                ]

    def _divide(self, m: Module, decoded: data.View, dst: Value, src: Value, enable: Value) -> None:
        word, controls = decoded.word, decoded.controls
        division = self._divisions.i.payload
        m.d.comb += [
            self._divisions.i.valid.eq(enable),
            division.dst.eq(dst),
            division.src.eq(src),
            division.wide.eq(controls.wide),
            division.signed.eq(word.offset[0]),
            division.modulo.eq(controls.operation[3]),
            division.thread.eq(decoded.thread),
        ]

    def _reach_values(
        self, m: Module, decoded: data.View, access: data.View, src: Value, enable: Value
    ) -> None:
        """A load, a store or an atomic operation on a map's value."""
        word, controls = decoded.word, decoded.controls
        request = self._accesses.i.payload
        m.d.comb += [
            self._accesses.i.valid.eq(enable),
            request.thread.eq(decoded.thread),
            request.map.eq(access.offset[PLACE_BITS:]),
            request.place.eq(access.offset[:PLACE_BITS]),
            request.span.eq(bytes_of(controls.size)),
            request.size.eq(controls.size),
            request.stores.eq(controls.is_store | controls.is_atomic),
            request.loads.eq(controls.is_load | controls.is_atomic),
            request.atomic.eq(controls.is_atomic),
            request.atomic_operation.eq(word.imm[:8]),
            request.source.eq(src),
            request.r0.eq(self._registers.r0),
        ]

    def _call(self, m: Module, decoded: data.View, enable: Value, ends: Value) -> None:
        """Call a helper, or have records discarded that an event leaves open."""
        call = self._calls.i.payload
        cleans = ends & self.open.bit_select(decoded.thread, 1)
        m.d.comb += [
            self._calls.i.valid.eq(enable | cleans),
            call.thread.eq(decoded.thread),
            call.helper.eq(Mux(ends, CLEAN_UP, decoded.word.imm[:8])),
        ]

    def _end(
        self, m: Module, decoded: data.View, cause: Value, executes: Value, ends: Value
    ) -> None:
        """Count the instruction; give the verdict if it was the last one."""
        thread, threads = decoded.thread, self._threads
        count = Signal(32)
        m.d.comb += count.eq(threads.count[thread] + executes)
        with m.If(executes):
            m.d.sync += threads.count[thread].eq(count)
        with m.If(ends):
            threads.end(thread, cause)
        entry = self._verdicts.i.payload
        m.d.comb += [
            self._verdicts.i.valid.eq(ends & ~self.open.bit_select(thread, 1)),
            entry.thread.eq(thread),
            entry.length.eq(threads.length[thread]),
            entry.verdict.r0.eq(self._registers.r0),
            entry.verdict.cause.eq(cause),
            entry.verdict.tag.eq(threads.tag[thread]),
            entry.verdict.instructions.eq(count),
        ]


def _loaded_register(word: data.View, controls: data.View) -> Value:
    """Register that an instruction writes, if it writes one."""
    exchange = word.imm[:8] == AtomicOperation.CMPXCHG
    return Mux(controls.is_atomic, Mux(exchange, 0, word.src), word.dst)


def _wide_value(m: Module, word: data.View, high: Value) -> Value:
    """What a 64-bit immediate load gives."""
    handle, address = Signal(64, name="handle"), Signal(64, name="map_address")
    number = word.imm.as_signed()
    # Through signals, which extend the sign of what is narrower.
    m.d.comb += [
        handle.eq(Region.MAP_HANDLES + number),
        address.eq(Region.MAP_VALUES + number * MAP_SPAN + high),
    ]
    is_handle = word.src.matches(WideKind.MAP_FD, WideKind.MAP_INDEX)
    return Mux(word.src == WideKind.IMMEDIATE, Cat(word.imm, high), Mux(is_handle, handle, address))
