"""Registers of all threads, in one memory, with windows for the frames of local calls."""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf import FRAME_POINTER
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FRAME_BYTES, Region

__all__ = ["ARGUMENTS", "RegisterFile"]

_SAVED = range(6, 10)  # r6 to r9: a window a frame
#: r1 to r5: all of a thread's at once, for helpers.
ARGUMENTS = range(1, 6)


class RegisterFile(wiring.Component):
    """Three reads and one write a cycle; what was never written has its value at the start.

    A register's place is its thread, its frame (0 but for r6 to r9) and its number. A mask says
    which places hold something: so an event starts, and a function begins, in no time.

    Parameters
    ----------
    threads : int
        A power of two, 2 or more.

    Members
    -------
    read_thread, read_frame : In
        Whose registers are read.
    read_dst, read_src : In(4); dst, src, r0 : Out(64)
        Values of two registers and of r0, a cycle later; what is written in the cycle of the
        numbers counts.
    length : In(16)
        What r2 is at the start; with the values, not with the numbers.
    arguments_thread : In; arguments_length : In(16); arguments : array of Out(64)
        r1 to r5 of a thread, a cycle later; the length is that of the same thread, then.
    write_enable, write_thread, write_frame, write_register, write_data : In
    start_enable, start_thread : In
        An event begins: nothing is written yet.
    call_enable, call_thread, call_frame : In
        A function begins in that frame.
    """

    def __init__(self, *, threads: int) -> None:
        if threads < 2 or threads & threads - 1:
            raise ValueError(f"threads = {threads} must be a power of two of at least 2")
        self.threads = threads
        thread, frame = range(threads), range(CALL_FRAMES)
        super().__init__(
            {
                "read_thread": In(thread),
                "read_frame": In(frame),
                "read_dst": In(4),
                "read_src": In(4),
                "length": In(16),
                "dst": Out(64),
                "src": Out(64),
                "r0": Out(64),
                "arguments_thread": In(thread),
                "arguments_length": In(16),
                "arguments": Out(64).array(len(ARGUMENTS)),
                "write_enable": In(1),
                "write_thread": In(thread),
                "write_frame": In(frame),
                "write_register": In(4),
                "write_data": In(64),
                "start_enable": In(1),
                "start_thread": In(thread),
                "call_enable": In(1),
                "call_thread": In(thread),
                "call_frame": In(frame),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(
            shape=64, depth=self.threads * CALL_FRAMES * 16, init=[]
        )
        # Bits of r0 to r9 for each thread and frame; those of r0 to r5 count in frame 0 only.
        written = [
            Array(Signal(10, name=f"written_{t}_{f}") for f in range(CALL_FRAMES))
            for t in range(self.threads)
        ]
        by_thread = Array(written)
        write = storage.write_port()
        write_frame = self._frame(self.write_register, self.write_frame)
        write_place = Cat(self.write_register, write_frame, self.write_thread)
        frame_pointer = Signal(64)
        m.d.sync += frame_pointer.eq(Region.STACK + FRAME_BYTES + self.read_frame * FRAME_BYTES)
        for number, value in ((self.read_dst, self.dst), (self.read_src, self.src), (0, self.r0)):
            frame = self._frame(number, self.read_frame)
            read = storage.read_port(transparent_for=(write,))
            known, asked = Signal(), Signal(4)
            place = Cat(_four(number), frame, self.read_thread)
            m.d.comb += [read.en.eq(1), read.addr.eq(place)]
            m.d.sync += [
                known.eq(
                    by_thread[self.read_thread][frame].bit_select(_four(number), 1)
                    | (self.write_enable & (write_place == place))
                ),
                asked.eq(number),
            ]
            m.d.comb += value.eq(
                Mux(asked == FRAME_POINTER, frame_pointer, Mux(known, read.data, 0))
            )
            with m.If(~known & (asked == 1)):
                m.d.comb += value.eq(Region.CONTEXT)
            with m.If(~known & (asked == 2)):
                m.d.comb += value.eq(self.length)

        self._arguments(m, by_thread)
        m.d.comb += [
            write.en.eq(self.write_enable),
            write.addr.eq(write_place),
            write.data.eq(self.write_data),
        ]
        for t, masks in enumerate(written):
            for f in range(CALL_FRAMES):
                mask = masks[f]
                with m.If(self.write_enable & (self.write_thread == t) & (write_frame == f)):
                    m.d.sync += mask.bit_select(self.write_register, 1).eq(1)
                with m.If(self.call_enable & (self.call_thread == t) & (self.call_frame == f)):
                    m.d.sync += mask.eq(0)
                with m.If(self.start_enable & (self.start_thread == t)):
                    m.d.sync += mask.eq(0)
        return m

    def _arguments(self, m: Module, by_thread: Array) -> None:
        """A copy of r1 to r5, each in a memory of its own."""
        for number, value in zip(ARGUMENTS, self.arguments, strict=True):
            m.submodules[f"r{number}"] = memory = Memory(shape=64, depth=self.threads, init=[])
            read, write = memory.read_port(), memory.write_port()
            known = Signal(name=f"r{number}_known")
            start = {1: Const(Region.CONTEXT), 2: self.arguments_length}.get(number, Const(0))
            m.d.comb += [
                read.en.eq(1),
                read.addr.eq(self.arguments_thread),
                write.addr.eq(self.write_thread),
                write.data.eq(self.write_data),
                write.en.eq(self.write_enable & (self.write_register == number)),
                value.eq(Mux(known, read.data, start)),
            ]
            m.d.sync += known.eq(by_thread[self.arguments_thread][0][number])

    @staticmethod
    def _frame(number: Value | int, frame: Value) -> Value:
        """The frame that a register's place belongs to."""
        value = Value.cast(number)
        return Mux((value >= _SAVED.start) & (value < _SAVED.stop), frame, 0)


def _four(number: Value | int) -> Value:
    return number[:4] if isinstance(number, Value) else Const(number, 4)
