"""Byte-addressed memory with a part for each thread; any alignment takes one access."""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["ThreadMemory"]

_WORD_BYTES = 8


class ThreadMemory(wiring.Component):
    """Two banks of 64-bit words, even and odd, so that eight bytes anywhere lie in one row each.

    Parameters
    ----------
    threads : int
        A power of two.
    size : int
        Bytes of a thread's part; a power of two, 16 or more.
    clears : bool
        Whether a thread's part can be cleared in a cycle: a bit for each word says whether it was
        written since. One that was not reads as zero, and the first store to it stores zeros
        beside its own bytes. Such a memory must not be filled.
    leaves : bool
        Whether ``leave_data`` is needed; zero otherwise.

    Members
    -------
    read_thread, read_offset : In; read_data : Out(64)
        Eight bytes from the offset on, a cycle later. Bytes behind the end of the part have no
        meaning.
    copy_thread, copy_offset : In; copy_data : Out(64)
        The same once more, for helpers.
    leave_thread, leave_offset : In; leave_data : Out(64)
        The same once more, for whole words that leave with a verdict.
    write_enable, write_thread, write_offset, write_size, write_data : In
        Stores 1 to 8 bytes; ``write_size`` is their number. A read in the same cycle gives
        what was there before.
    fill_enable, fill_thread, fill_word, fill_data : In; fill_ready : Out(1)
        A second way to write whole words, in cycles without a store.
    clear_enable, clear_thread : In
        All bytes of a thread's part become zero; without effect unless it `clears`.

    Raises
    ------
    ValueError
        If a parameter is not as described.
    """

    def __init__(
        self, *, threads: int, size: int, clears: bool = False, leaves: bool = False
    ) -> None:
        for name, value, least in (("threads", threads, 1), ("size", size, 16)):
            if value < least or value & value - 1:
                raise ValueError(f"{name} = {value} must be a power of two of at least {least}")
        self.threads = threads
        self.size = size
        self.clears = clears
        self.leaves = leaves
        thread = range(max(threads, 2))
        super().__init__(
            {
                "read_thread": In(thread),
                "read_offset": In(range(size)),
                "read_data": Out(64),
                "copy_thread": In(thread),
                "copy_offset": In(range(size)),
                "copy_data": Out(64),
                "leave_thread": In(thread),
                "leave_offset": In(range(size)),
                "leave_data": Out(64),
                "write_enable": In(1),
                "write_thread": In(thread),
                "write_offset": In(range(size)),
                "write_size": In(4),
                "write_data": In(64),
                "fill_enable": In(1),
                "fill_thread": In(thread),
                "fill_word": In(range(size // _WORD_BYTES)),
                "fill_data": In(64),
                "fill_ready": Out(1),
                "clear_enable": In(1),
                "clear_thread": In(thread),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self.size // (2 * _WORD_BYTES)
        row_bits = ceil_log2(rows)
        mask = Signal(16)
        data = Signal(128)
        enables = Signal(16)
        shift = self.write_offset[:3]
        bytes_written = Cat(place.replicate(8) for place in mask)
        m.d.comb += [
            mask.eq(((1 << self.write_size) - 1)[:8] << shift),
            data.eq((self.write_data << Cat(Const(0, 3), shift)) & bytes_written),
            enables.eq(mask),
            self.fill_ready.eq(~self.write_enable),
        ]
        self._track(m, mask, enables)
        readers = (
            (self.read_thread, self.read_offset, self.read_data),
            (self.copy_thread, self.copy_offset, self.copy_data),
            *(((self.leave_thread, self.leave_offset, self.leave_data),) if self.leaves else ()),
        )
        banks: list[list[Value]] = [[] for _ in readers]
        for odd in (0, 1):
            memory = Memory(shape=64, depth=self.threads * rows, init=[])
            m.submodules[("even", "odd")[odd]] = memory
            write = memory.write_port(granularity=8)
            # The bank that holds the first word: the other one's row is the same or the next.
            second = self.write_offset[3] != odd
            with m.If(self.write_enable):
                m.d.comb += [
                    write.addr.eq(self._row(self.write_offset, odd, self.write_thread, row_bits)),
                    write.data.eq(Mux(second, data[64:], data[:64])),
                    write.en.eq(Mux(second, enables[8:], enables[:8])),
                ]
            with m.Else():
                filled = self.fill_enable & (self.fill_word[0] == odd)
                m.d.comb += [
                    write.addr.eq(Cat((self.fill_word >> 1)[:row_bits], self.fill_thread)),
                    write.data.eq(self.fill_data),
                    write.en.eq(filled.replicate(8)),
                ]
            for words, (thread, offset, _) in zip(banks, readers, strict=True):
                read = memory.read_port()
                m.d.comb += [
                    read.addr.eq(self._row(offset, odd, thread, row_bits)),
                    read.en.eq(1),
                ]
                words.append(read.data)
        for words, (thread, offset, value) in zip(banks, readers, strict=True):
            self._align(m, words, thread, offset, value)
        return m

    def _align(
        self, m: Module, words: list[Value], thread: Value, offset: Value, value: Value
    ) -> None:
        """The eight bytes at an offset, of the words that hold them."""
        even, odd = words
        within, odd_first = Signal(3), Signal()
        m.d.sync += [within.eq(offset[:3]), odd_first.eq(offset[3])]
        ordered = Mux(odd_first, odd, even), Mux(odd_first, even, odd)
        kept = [self._known(m, thread, offset, place) for place in (0, 1)]
        both = Cat(Mux(known, word, 0) for known, word in zip(kept, ordered, strict=True))
        m.d.comb += value.eq(both >> Cat(Const(0, 3), within))

    def _track(self, m: Module, mask: Signal, enables: Signal) -> None:
        """Follow which words were written; the first store to one covers all of it."""
        if not self.clears:
            return
        words = self.size // _WORD_BYTES
        self._written = written = Array(
            Signal(words, name=f"written_{t}") for t in range(self.threads)
        )
        for place in (0, 1):
            write_word = (self.write_offset[3:] + place)[: ceil_log2(words)]
            touched = mask[8 * place : 8 * place + 8]
            fresh = touched.any() & ~written[self.write_thread].bit_select(write_word, 1)
            with m.If(fresh):
                m.d.comb += enables[8 * place : 8 * place + 8].eq(0xFF)
            for t in range(self.threads):
                with m.If(self.write_enable & touched.any() & (self.write_thread == t)):
                    m.d.sync += written[t].bit_select(write_word, 1).eq(1)
        for t in range(self.threads):
            with m.If(self.clear_enable & (self.clear_thread == t)):
                m.d.sync += written[t].eq(0)

    def _known(self, m: Module, thread: Value, offset: Value, place: int) -> Value:
        """Whether the first or the second word of a read was written."""
        if not self.clears:
            return Const(1)
        word = (offset[3:] + place)[: ceil_log2(self.size // _WORD_BYTES)]
        known = Signal(name=f"known_{place}")
        m.d.sync += known.eq(self._written[thread].bit_select(word, 1))
        return known

    @staticmethod
    def _row(offset: Value, odd: int, thread: Value, row_bits: int) -> Value:
        """Row of a bank for an access: the even bank's is the next if the odd word is first."""
        word = offset[3:]
        row = word >> 1 if odd else (word + 1) >> 1
        return Cat(row[:row_bits], thread)
