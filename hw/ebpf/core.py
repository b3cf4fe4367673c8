"""The engine's core: one pipeline, shared by threads that each handle an event."""

from amaranth import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf import AtomicOperation, WideKind
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FRAME_BYTES, MAP_SPAN, Region
from fanweave.hw.ebpf.alu import Alu, Comparator, sign_extended
from fanweave.hw.ebpf.atomic import changed
from fanweave.hw.ebpf.bytes import bytes_of, low_bytes
from fanweave.hw.ebpf.decoder import Controls, Decoder, InstructionWord
from fanweave.hw.ebpf.divider import Divider, Division
from fanweave.hw.ebpf.payloads import Cause, Event, HostWrite, Verdict
from fanweave.hw.ebpf.registers import RegisterFile
from fanweave.hw.ebpf.thread_memory import ThreadMemory
from fanweave.hw.stream.queue import Queue

__all__ = ["Core"]

_SLOT_BITS = 16


class Core(wiring.Component):
    """Executes a program on events; all of RFC 9669 but helper calls, which end the event.

    A thread has one instruction in the pipeline at a time, so nothing is ever forwarded or
    stalled: *select* chooses a thread and reads its instruction, *decode* reads registers,
    *execute* computes, decides where to go on and reads memory, *write back* stores the result. A
    thread can be selected again every third cycle; with three or more at work an instruction
    completes in every cycle. A division waits in a queue and lets the others go on.

    Why every wait ends: a thread that is ready is selected in its turn; the queues for divisions
    and verdicts have a place for each thread; a finished division holds selection back until
    write back is free, which takes two cycles at most.

    Parameters
    ----------
    config : EbpfConfig
        Parameters of the core.

    Members
    -------
    events : stream in of `Event`; contexts : stream in of 64-bit words
        An event's context follows it, 8 bytes a word.
    verdicts : stream out of `Verdict`
    program : stream in of `HostWrite`
        Always ready. The program may only change while no event is handled.
    program_slots : In(17)
        Slots of the program.
    budget : In(32)
        Instructions an event may execute.
    busy : Out(1)
        An event is handled, or its verdict waits.
    instructions : Out(1)
        An instruction completes in this cycle; for a counter outside.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        self.threads = config.threads
        self.slots = config.slots
        self.context_bytes = config.context_bytes
        super().__init__(
            {
                "events": In(stream.Signature(Event)),
                "contexts": In(stream.Signature(64)),
                "verdicts": Out(stream.Signature(Verdict)),
                "program": In(stream.Signature(HostWrite)),
                "program_slots": In(_SLOT_BITS + 1),
                "budget": In(32),
                "busy": Out(1),
                "instructions": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._state(m)
        self._blocks(m)
        fetched = self._select(m)
        decoded = self._decode(m, fetched)
        executed = self._execute(m, decoded)
        self._write_back(m, executed)
        self._ingress(m)
        return m

    def _state(self, m: Module) -> None:
        """What each thread keeps."""
        numbers = range(self.threads)

        def each(name: str, shape: object) -> Array:
            return Array(Signal(shape, name=f"{name}_{t}") for t in numbers)

        self._free = Array(Signal(name=f"free_{t}", init=1) for t in numbers)
        self._ready = each("ready", 1)
        self._slot = each("slot", _SLOT_BITS)
        self._outside = each("outside", 1)  # the next slot is no slot at all
        self._frame = each("frame", range(CALL_FRAMES))
        self._count = each("count", 32)
        self._length = each("length", 16)
        self._tag = each("tag", 16)
        self._quotient = each("quotient", 4)  # where a division's result goes
        self._thread_shape = range(self.threads)

    def _blocks(self, m: Module) -> None:
        m.submodules.registers = self._registers = RegisterFile(threads=self.threads)
        m.submodules.stack = self._stack = ThreadMemory(
            threads=self.threads, size=CALL_FRAMES * FRAME_BYTES, clears=True
        )
        m.submodules.context = self._context = ThreadMemory(
            threads=self.threads, size=self.context_bytes
        )
        m.submodules.divisions = self._divisions = Queue(shape=Division, depth=self.threads)
        m.submodules.divider = self._divider = Divider()
        wiring.connect(m, self._divisions.o, self._divider.i)
        verdict = data.StructLayout({"verdict": Verdict, "thread": 4})
        m.submodules.verdict_queue = self._verdicts = Queue(shape=verdict, depth=self.threads)
        m.d.comb += [
            self.verdicts.valid.eq(self._verdicts.o.valid),
            self.verdicts.payload.eq(self._verdicts.o.payload.verdict),
            self._verdicts.o.ready.eq(self.verdicts.ready),
            self.busy.eq(~Cat(self._free).all()),
        ]
        with m.If(self.verdicts.valid & self.verdicts.ready):
            m.d.sync += self._free[self._verdicts.o.payload.thread].eq(1)

    def _select(self, m: Module) -> data.View:
        """Choose a thread that can go on, in turn, and read two slots from its own on."""
        last = Signal(self._thread_shape)
        chosen = Signal(self._thread_shape)
        found = Signal()
        # From the least urgent on, so that the next in turn has the last word.
        for distance in reversed(range(self.threads)):
            thread = (last + 1 + distance)[: len(last)]
            with m.If(self._ready[thread]):
                m.d.comb += [chosen.eq(thread), found.eq(1)]
        waiting = self._divider.o.valid
        fetched = Signal(
            data.StructLayout(
                {"valid": 1, "thread": self._thread_shape, "slot": _SLOT_BITS, "outside": 1}
            )
        )
        m.d.comb += self.program.ready.eq(1)
        m.d.sync += fetched.valid.eq(found & ~waiting)
        with m.If(found & ~waiting):
            m.d.sync += [
                last.eq(chosen),
                self._ready[chosen].eq(0),
                fetched.thread.eq(chosen),
                fetched.slot.eq(self._slot[chosen]),
                fetched.outside.eq(self._outside[chosen]),
            ]
        self._words = []
        rows = self.slots // 2
        slot = self._slot[chosen]
        for odd in (0, 1):
            memory = Memory(shape=64, depth=rows, init=[])
            m.submodules[f"program_{('even', 'odd')[odd]}"] = memory
            read, write = memory.read_port(), memory.write_port()
            host = self.program.payload
            m.d.comb += [
                read.en.eq(1),
                read.addr.eq((slot if odd else slot + 1) >> 1),
                write.addr.eq(host.slot >> 1),
                write.data.eq(host.word),
                write.en.eq(self.program.valid & (host.slot[0] == odd)),
            ]
            self._words.append(read.data)
        return fetched

    def _decode(self, m: Module, fetched: data.View) -> data.View:
        m.submodules.decoder = decoder = Decoder()
        odd = fetched.slot[0]
        high = Signal(32)
        names_map = decoder.controls.is_wide_load & decoder.word.src.matches(
            WideKind.MAP_FD, WideKind.MAP_INDEX
        )
        even_word, odd_word = self._words
        frame = self._frame[fetched.thread]
        registers = self._registers
        m.d.comb += [
            high.eq(Mux(odd, even_word, odd_word)[32:]),
            Value.cast(decoder.word).eq(Mux(odd, odd_word, even_word)),
            registers.read_thread.eq(fetched.thread),
            registers.read_frame.eq(frame),
            registers.read_dst.eq(decoder.word.dst),
            registers.read_src.eq(decoder.word.src),
        ]
        m.submodules.returns = returns = Memory(
            shape=_SLOT_BITS, depth=self.threads * CALL_FRAMES, init=[]
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
                    "thread": self._thread_shape,
                    "slot": _SLOT_BITS,
                    "outside": 1,
                    "frame": range(CALL_FRAMES),
                    "word": InstructionWord,
                    "high": 32,
                    "controls": Controls,
                }
            )
        )
        m.d.sync += [
            decoded.valid.eq(fetched.valid),
            decoded.thread.eq(fetched.thread),
            decoded.slot.eq(fetched.slot),
            decoded.outside.eq(fetched.outside | (fetched.slot >= self.program_slots)),
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
        m.submodules.alu = alu = Alu()
        m.submodules.comparator = comparator = Comparator()
        dst, src, imm = Signal(64), Signal(64), Signal(64)
        m.d.comb += [
            self._registers.length.eq(self._length[thread]),
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
        leaves = controls.is_exit & (decoded.frame == 0)
        m.d.comb += [
            goes_on.eq(decoded.valid & (cause == Cause.NONE)),
            ends.eq(decoded.valid & ((cause != Cause.NONE) | leaves)),
            self.instructions.eq(decoded.valid & executes),
        ]
        self._go_on(m, decoded, comparator.taken, goes_on & ~leaves)
        self._divide(m, decoded, dst, src, goes_on & controls.is_division)
        self._end(m, decoded, cause, executes, ends)

        executed = Signal(
            data.StructLayout(
                {
                    "writes": 1,
                    "stores": 1,
                    "atomic": 1,
                    "thread": self._thread_shape,
                    "frame": range(CALL_FRAMES),
                    "register": 4,
                    "value": 64,
                    "source": 64,
                    "r0": 64,
                    "from_memory": 1,
                    "in_stack": 1,
                    "offset": 28,
                    "size": 2,
                    "extends_sign": 1,
                    "atomic_operation": 8,
                }
            )
        )
        fetches = controls.is_atomic & word.imm[0]
        writes = controls.is_alu | controls.is_wide_load | controls.is_load | fetches
        exchange = word.imm[:8] == AtomicOperation.CMPXCHG
        m.d.sync += [
            executed.writes.eq(goes_on & writes),
            executed.stores.eq(goes_on & (controls.is_store | controls.is_atomic)),
            executed.atomic.eq(controls.is_atomic),
            executed.thread.eq(thread),
            executed.frame.eq(decoded.frame),
            executed.register.eq(Mux(controls.is_atomic, Mux(exchange, 0, word.src), word.dst)),
            executed.value.eq(
                Mux(controls.is_wide_load, self._wide_value(m, word, decoded.high), alu.result)
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

    @staticmethod
    def _wide_value(m: Module, word: data.View, high: Value) -> Value:
        handle, address = Signal(64, name="handle"), Signal(64, name="map_address")
        number = word.imm.as_signed()
        # Through signals, which extend the sign of what is narrower.
        m.d.comb += [
            handle.eq(Region.MAP_HANDLES + number),
            address.eq(Region.MAP_VALUES + number * MAP_SPAN + high),
        ]
        is_handle = word.src.matches(WideKind.MAP_FD, WideKind.MAP_INDEX)
        return Mux(
            word.src == WideKind.IMMEDIATE, Cat(word.imm, high), Mux(is_handle, handle, address)
        )

    def _access(self, m: Module, decoded: data.View, dst: Value) -> data.View:
        """Address of a load or a store, and whether all of its bytes are there; starts reading."""
        controls = decoded.controls
        address = Signal(64)
        size = Signal(4)
        behind = Signal(30)
        access = Signal(data.StructLayout({"in_stack": 1, "legal": 1, "aligned": 1, "offset": 28}))
        base = Mux(controls.is_load, self._registers.src, dst)
        limit = (decoded.frame + 1) * FRAME_BYTES
        in_context = address[28:] == Region.CONTEXT >> 28
        m.d.comb += [
            address.eq(base + decoded.word.offset.as_signed()),
            size.eq(bytes_of(controls.size)),
            behind.eq(address[:28] + size),
            access.offset.eq(address[:28]),
            access.in_stack.eq(address[28:] == Region.STACK >> 28),
            access.legal.eq(
                (access.in_stack & (behind <= limit))
                | (in_context & (behind <= self._length[decoded.thread]))
            ),
            access.aligned.eq((address[:3] & (size - 1)[:3]) == 0),
        ]
        for memory in (self._stack, self._context):
            m.d.comb += [
                memory.read_thread.eq(decoded.thread),
                memory.read_offset.eq(address[: len(memory.read_offset)]),
            ]
        return access

    def _causes(self, m: Module, decoded: data.View, access: data.View) -> tuple[Signal, Signal]:
        """Why the event ends here, if it does, and whether the instruction counts as executed."""
        controls = decoded.controls
        cause = Signal(Cause)
        executes = Signal()
        m.d.comb += executes.eq(1)
        with m.If(decoded.outside):
            m.d.comb += [cause.eq(Cause.END_OF_PROGRAM), executes.eq(0)]
        with m.Elif(self._count[decoded.thread] == self.budget):
            m.d.comb += [cause.eq(Cause.WATCHDOG), executes.eq(0)]
        with m.Elif(~controls.legal):
            m.d.comb += cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(controls.is_atomic & ~access.aligned):
            m.d.comb += cause.eq(Cause.MISALIGNED_ATOMIC)
        with m.Elif((controls.is_load | controls.is_store | controls.is_atomic) & ~access.legal):
            m.d.comb += cause.eq(Cause.OUT_OF_BOUNDS)
        with m.Elif(controls.is_local_call & (decoded.frame == CALL_FRAMES - 1)):
            m.d.comb += cause.eq(Cause.CALL_DEPTH)
        with m.Elif(controls.is_helper_call):
            m.d.comb += cause.eq(Cause.UNKNOWN_HELPER)
        return cause, executes

    def _go_on(self, m: Module, decoded: data.View, taken: Value, enable: Value) -> None:
        """Where the thread goes on, and that it can."""
        word, controls, thread = decoded.word, decoded.controls, decoded.thread
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
            self._return_write.data.eq(decoded.slot + 1),
            self._return_write.en.eq(enable & controls.is_local_call),
            registers.call_enable.eq(enable & controls.is_local_call),
            registers.call_thread.eq(thread),
            registers.call_frame.eq(decoded.frame + 1),
        ]
        with m.If(enable):
            m.d.sync += [
                self._slot[thread].eq(target),
                self._outside[thread].eq((target < 0) | (target >= 1 << _SLOT_BITS)),
                self._ready[thread].eq(~controls.is_division),
            ]
            with m.If(controls.is_local_call):
                m.d.sync += self._frame[thread].eq(decoded.frame + 1)
            with m.If(controls.is_exit):
                m.d.sync += [
                    self._slot[thread].eq(self._return_read.data),
                    self._outside[thread].eq(0),
                    self._frame[thread].eq(decoded.frame - 1),
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
        with m.If(enable):
            m.d.sync += self._quotient[decoded.thread].eq(word.dst)

    def _end(
        self, m: Module, decoded: data.View, cause: Value, executes: Value, ends: Value
    ) -> None:
        """Count the instruction; give the verdict if it was the last one."""
        thread = decoded.thread
        count = Signal(32)
        m.d.comb += count.eq(self._count[thread] + executes)
        with m.If(decoded.valid):
            m.d.sync += self._count[thread].eq(count)
        entry = self._verdicts.i.payload
        m.d.comb += [
            self._verdicts.i.valid.eq(ends),
            entry.thread.eq(thread),
            entry.verdict.r0.eq(self._registers.r0),
            entry.verdict.cause.eq(cause),
            entry.verdict.tag.eq(self._tag[thread]),
            entry.verdict.instructions.eq(count),
        ]

    def _write_back(self, m: Module, executed: data.View) -> None:
        memory_value = Signal(64)
        loaded = Signal(64)
        size = Signal(4)
        m.d.comb += [
            size.eq(bytes_of(executed.size)),
            memory_value.eq(Mux(executed.in_stack, self._stack.read_data, self._context.read_data)),
            loaded.eq(low_bytes(memory_value, executed.size)),
        ]
        value = Signal(64)
        extended = sign_extended(loaded, size << 3)
        m.d.comb += value.eq(
            Mux(
                executed.from_memory,
                Mux(executed.extends_sign, extended, loaded),
                executed.value,
            )
        )
        registers, divider = self._registers, self._divider
        result = divider.o.payload
        m.d.comb += [
            registers.write_enable.eq(executed.writes),
            registers.write_thread.eq(executed.thread),
            registers.write_frame.eq(executed.frame),
            registers.write_register.eq(executed.register),
            registers.write_data.eq(value),
            divider.o.ready.eq(~executed.writes),
        ]
        with m.If(divider.o.valid & divider.o.ready):
            m.d.comb += [
                registers.write_enable.eq(1),
                registers.write_thread.eq(result.thread),
                registers.write_frame.eq(self._frame[result.thread]),
                registers.write_register.eq(self._quotient[result.thread]),
                registers.write_data.eq(result.value),
            ]
            m.d.sync += self._ready[result.thread].eq(1)
        new = changed(
            m,
            operation=executed.atomic_operation,
            size=executed.size,
            old=loaded,
            source=executed.source,
            r0=executed.r0,
        )
        stored = Mux(executed.atomic, new, executed.source)
        for memory, chosen in (
            (self._stack, executed.in_stack),
            (self._context, ~executed.in_stack),
        ):
            m.d.comb += [
                memory.write_enable.eq(executed.stores & chosen),
                memory.write_thread.eq(executed.thread),
                memory.write_offset.eq(executed.offset),
                memory.write_size.eq(size),
                memory.write_data.eq(stored),
            ]

    def _ingress(self, m: Module) -> None:
        """Give an event to a free thread: fill its context, then start it."""
        free = Cat(self._free)
        thread = Signal(self._thread_shape)
        claimed = Signal(self._thread_shape)
        word = Signal(13)
        words = Signal(13)
        context = self._context
        for number in reversed(range(self.threads)):
            with m.If(free[number]):
                m.d.comb += thread.eq(number)
        m.d.comb += [
            context.fill_thread.eq(claimed),
            context.fill_word.eq(word),
            context.fill_data.eq(self.contexts.payload),
            self._registers.start_thread.eq(claimed),
            self._stack.clear_thread.eq(claimed),
        ]
        event = self.events.payload
        with m.FSM(name="ingress"):
            with m.State("CLAIM"):
                m.d.comb += self.events.ready.eq(free.any())
                with m.If(self.events.valid & self.events.ready):
                    m.d.sync += [
                        claimed.eq(thread),
                        self._free[thread].eq(0),
                        # What does not fit is taken and dropped.
                        self._length[thread].eq(
                            Mux(
                                event.length > self.context_bytes,
                                self.context_bytes,
                                event.length,
                            )
                        ),
                        self._tag[thread].eq(event.tag),
                        word.eq(0),
                        words.eq((event.length + 7) >> 3),
                    ]
                    m.next = "FILL"
            with m.State("FILL"):
                left = word != words
                m.d.comb += [
                    self.contexts.ready.eq(left),
                    context.fill_enable.eq(
                        left & self.contexts.valid & (word < self.context_bytes // 8)
                    ),
                ]
                with m.If(~left):
                    m.next = "CLAIM"
                    m.d.comb += [
                        self._registers.start_enable.eq(1),
                        self._stack.clear_enable.eq(1),
                    ]
                    m.d.sync += [
                        self._ready[claimed].eq(1),
                        self._slot[claimed].eq(0),
                        self._outside[claimed].eq(0),
                        self._frame[claimed].eq(0),
                        self._count[claimed].eq(0),
                    ]
                with m.Elif(self.contexts.valid):
                    m.d.sync += word.eq(word + 1)
