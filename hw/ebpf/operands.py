"""Bytes that helpers copy: gathered 8 at a time, stored and read 32 at a time."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from fanweave.golden.isa.ebpf_engine import BANK_WORDS, WORD_BYTES
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.payloads import BEAT_BITS

__all__ = ["OperandBuffer"]


class OperandBuffer(wiring.Component):
    """Rows of four words, a memory for each word of a row.

    Parameters
    ----------
    size : int
        Bytes; a power of two of at least 64.

    Members
    -------
    row : In; beat : Out(BEAT_BITS)
        A row; combinational.
    row_write : In(1); row_number : In; row_data : In(BEAT_BITS)
        Store a row.
    word : In; word_data : Out(64)
        A word; combinational.
    word_write : In(1); word_value : In(64)
        Store it instead; not together with a row.
    """

    def __init__(self, *, size: int) -> None:
        if size < 64 or size & size - 1:
            raise ValueError(f"size = {size} must be a power of two of at least 64")
        self.words = size // WORD_BYTES
        super().__init__(
            {
                "row": In(ROW_BITS),
                "beat": Out(BEAT_BITS),
                "row_write": In(1),
                "row_number": In(ROW_BITS),
                "row_data": In(BEAT_BITS),
                "word": In(range(self.words)),
                "word_data": Out(64),
                "word_write": In(1),
                "word_value": In(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bank_bits = ceil_log2(BANK_WORDS)
        beats, words = [], []
        for bank in range(BANK_WORDS):
            memory = Memory(shape=64, depth=self.words // BANK_WORDS, init=[])
            m.submodules[f"bank_{bank}"] = memory
            by_row, by_word = memory.read_port(domain="comb"), memory.read_port(domain="comb")
            write = memory.write_port()
            here = self.word[:bank_bits] == bank
            m.d.comb += [
                by_row.addr.eq(self.row),
                by_word.addr.eq(self.word >> bank_bits),
                write.addr.eq(self.word >> bank_bits),
                write.data.eq(self.word_value),
                write.en.eq(self.word_write & here),
            ]
            with m.If(self.row_write):
                m.d.comb += [
                    write.addr.eq(self.row_number),
                    write.data.eq(self.row_data.word_select(bank, 64)),
                    write.en.eq(1),
                ]
            beats.append(by_row.data)
            words.append(by_word.data)
        m.d.comb += [
            self.beat.eq(Cat(beats)),
            self.word_data.eq(Cat(words).word_select(self.word[:bank_bits], 64)),
        ]
        return m
