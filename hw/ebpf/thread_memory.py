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

    Members
    -------
    read_thread, read_offset : In; read_data : Out(64)
        Eight bytes from the offset on, a cycle later. Bytes behind the end of the part have no
        meaning.
    write_enable, write_thread, write_offset, write_size, write_data : In
        Stores 1, 2, 4 or 8 bytes; ``write_size`` is their number. A read in the same cycle gives
        what was there before.
    fill_enable, fill_thread, fill_word, fill_data : In
        A second way to write whole words, for a thread that does not run.
    clear_enable, clear_thread : In
        All bytes of a thread's part become zero; without effect unless it `clears`.

    Raises
    ------
    ValueError
        If a parameter is not as described.
    """

    def __init__(self, *, threads: int, size: int, clears: bool = False) -> None:
        for name, value, least in (("threads", threads, 1), ("size", size, 16)):
            if value < least or value & value - 1:
                raise ValueError(f"{name} = {value} must be a power of two of at least {least}")
        self.threads = threads
        self.size = size
        self.clears = clears
        thread = range(max(threads, 2))
        super().__init__(
            {
                "read_thread": In(thread),
                "read_offset": In(range(size)),
                "read_data": Out(64),
                "write_enable": In(1),
                "write_thread": In(thread),
                "write_offset": In(range(size)),
                "write_size": In(4),
                "write_data": In(64),
                "fill_enable": In(1),
                "fill_thread": In(thread),
                "fill_word": In(range(size // _WORD_BYTES)),
                "fill_data": In(64),
                "clear_enable": In(1),
                "clear_thread": In(thread),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self.size // (2 * _WORD_BYTES)
        row_bits = ceil_log2(rows)
        within = Signal(3)
        odd_first = Signal()
        m.d.sync += [within.eq(self.read_offset[:3]), odd_first.eq(self.read_offset[3])]

        mask = Signal(16)
        data = Signal(128)
        enables = Signal(16)
        shift = self.write_offset[:3]
        bytes_written = Cat(place.replicate(8) for place in mask)
        m.d.comb += [
            mask.eq(((1 << self.write_size) - 1)[:8] << shift),
            data.eq((self.write_data << Cat(Const(0, 3), shift)) & bytes_written),
            enables.eq(mask),
        ]
        kept = self._track(m, mask, enables) if self.clears else [Const(1), Const(1)]
        banks = []
        for odd in (0, 1):
            memory = Memory(shape=64, depth=self.threads * rows, init=[])
            m.submodules[("even", "odd")[odd]] = memory
            read = memory.read_port()
            write = memory.write_port(granularity=8)
            fill = memory.write_port()
            # The bank that holds the first word: the other one's row is the same or the next.
            second = self.write_offset[3] != odd
            m.d.comb += [
                read.addr.eq(self._row(self.read_offset, odd, self.read_thread, row_bits)),
                read.en.eq(1),
                write.addr.eq(self._row(self.write_offset, odd, self.write_thread, row_bits)),
                write.data.eq(Mux(second, data[64:], data[:64])),
                write.en.eq(Mux(self.write_enable, Mux(second, enables[8:], enables[:8]), 0)),
                fill.addr.eq(Cat((self.fill_word >> 1)[:row_bits], self.fill_thread)),
                fill.data.eq(self.fill_data),
                fill.en.eq(self.fill_enable & (self.fill_word[0] == odd)),
            ]
            banks.append(read.data)
        even, odd_data = banks
        first, second_word = Mux(odd_first, odd_data, even), Mux(odd_first, even, odd_data)
        both = Cat(Mux(kept[0], first, 0), Mux(kept[1], second_word, 0))
        m.d.comb += self.read_data.eq(both >> Cat(Const(0, 3), within))
        return m

    def _track(self, m: Module, mask: Signal, enables: Signal) -> list[Signal]:
        """Which words were written; returns whether the two that are read were."""
        words = self.size // _WORD_BYTES
        written = Array(Signal(words, name=f"written_{t}") for t in range(self.threads))
        kept = []
        for place in (0, 1):
            read_word = (self.read_offset[3:] + place)[: ceil_log2(words)]
            write_word = (self.write_offset[3:] + place)[: ceil_log2(words)]
            touched = mask[8 * place : 8 * place + 8]
            known = Signal(name=f"known_{place}")
            m.d.sync += known.eq(written[self.read_thread].bit_select(read_word, 1))
            kept.append(known)
            fresh = touched.any() & ~written[self.write_thread].bit_select(write_word, 1)
            with m.If(fresh):
                m.d.comb += enables[8 * place : 8 * place + 8].eq(0xFF)
            for t in range(self.threads):
                with m.If(self.write_enable & touched.any() & (self.write_thread == t)):
                    m.d.sync += written[t].bit_select(write_word, 1).eq(1)
        for t in range(self.threads):
            with m.If(self.clear_enable & (self.clear_thread == t)):
                m.d.sync += written[t].eq(0)
        return kept

    @staticmethod
    def _row(offset: Value, odd: int, thread: Value, row_bits: int) -> Value:
        """Row of a bank for an access: the even bank's is the next if the odd word is first."""
        word = offset[3:]
        row = word >> 1 if odd else (word + 1) >> 1
        return Cat(row[:row_bits], thread)
