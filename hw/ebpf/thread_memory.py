"""Byte-addressed memory with a part for each thread; any alignment takes one access."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
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

    Raises
    ------
    ValueError
        If a parameter is not as described.
    """

    def __init__(self, *, threads: int, size: int) -> None:
        for name, value, least in (("threads", threads, 1), ("size", size, 16)):
            if value < least or value & value - 1:
                raise ValueError(f"{name} = {value} must be a power of two of at least {least}")
        self.threads = threads
        self.size = size
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
        shift = self.write_offset[:3]
        m.d.comb += [
            mask.eq(((1 << self.write_size) - 1)[:8] << shift),
            data.eq(self.write_data << Cat(Const(0, 3), shift)),
        ]
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
                write.en.eq(Mux(self.write_enable, Mux(second, mask[8:], mask[:8]), 0)),
                fill.addr.eq(Cat((self.fill_word >> 1)[:row_bits], self.fill_thread)),
                fill.data.eq(self.fill_data),
                fill.en.eq(self.fill_enable & (self.fill_word[0] == odd)),
            ]
            banks.append(read.data)
        even, odd_data = banks
        both = Mux(odd_first, Cat(odd_data, even), Cat(even, odd_data))
        m.d.comb += self.read_data.eq(both >> Cat(Const(0, 3), within))
        return m

    @staticmethod
    def _row(offset: Value, odd: int, thread: Value, row_bits: int) -> Value:
        """Row of a bank for an access: the even bank's is the next if the odd word is first."""
        word = offset[3:]
        row = word >> 1 if odd else (word + 1) >> 1
        return Cat(row[:row_bits], thread)
