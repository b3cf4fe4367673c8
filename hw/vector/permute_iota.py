"""Numbers of elements, and of set bits before them."""

from amaranth import Cat, Module, Signal, Value

from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation

__all__ = ["IotaEngine"]

_O = PermuteOperation


class IotaEngine(PermuteEngine):
    """A word of results a cycle; a word of mask bits is read for each register of results.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, instruction = self.config, self.instruction
        size = instruction.sew
        count = range(8 * config.words + 1)
        word, words = Signal(count), Signal(count)
        total = Signal(config.vlen.bit_length())
        ones = Signal(range(config.word_bytes + 1))
        needed, moves, last_chunk = Signal(), Signal(), Signal()
        # A word has as many bits as 8 << size words have elements.
        source, chunk = Signal(range(config.words)), Signal(5)
        m.d.comb += [
            words.eq(self.words_of(instruction.vl, size)),
            needed.eq(word != words),
            source.eq((word >> size) >> 3),
            chunk.eq(word & ((8 << size) - 1)),
            last_chunk.eq(chunk == (8 << size) - 1),
        ]
        complete = self.fetch(
            m,
            self.vs2,
            self.word_of("vs2", source),
            wanted=needed & self.is_any(_O.IOTA),
            release=moves & last_chunk,
        )
        active = self.active_bytes(m, word)
        m.d.comb += [
            self.write.valid.eq(self.active & needed & complete & active.enable.any()),
            self.write.address.eq(self.word_of("vd", word)),
            self.write.enable.eq(active.enable),
            moves.eq(self.active & needed & complete & (~active.enable.any() | self.write.ready)),
            self.done.eq(self.active & ~needed),
        ]
        self._numbers(m, chunk, active.enable, total, ones)
        with m.If(~self.active):
            m.d.sync += [word.eq(0), total.eq(0)]
        with m.Elif(moves):
            m.d.sync += [word.eq(word + 1), total.eq(total + ones)]
        return m

    def _numbers(self, m: Module, chunk: Value, enable: Value, total: Value, ones: Signal) -> None:
        """Of each element of a word: bits that are set before it."""
        with m.Switch(self.instruction.sew):
            for size in range(3):
                with m.Case(size):
                    elements = self.config.word_bytes >> size
                    bits = Signal(elements, name=f"bits_{size}")
                    chosen = self.vs2.value.word_select(chunk[: 3 + size], elements)
                    m.d.comb += bits.eq(
                        (chosen & Cat(enable[at << size] for at in range(elements)))
                        | self.is_any(_O.IDENTITY).replicate(elements)
                    )
                    before: Value = Signal(len(ones), name=f"before_{size}_0")
                    for at in range(elements):
                        part = self.write.value.word_select(at, 8 << size)
                        m.d.comb += part.eq(total + before)
                        following = Signal(len(ones), name=f"before_{size}_{at + 1}")
                        m.d.comb += following.eq(before + bits[at])
                        before = following
                    m.d.comb += ones.eq(before)
