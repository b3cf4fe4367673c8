"""`hash_key` of a key, a 32-bit word a cycle."""

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.maps.hash import MULTIPLIER, SEED

__all__ = ["KeyHash"]


class KeyHash(wiring.Component):
    """Follows a key that comes in from its beginning.

    Parameters
    ----------
    key_bytes : int
        Longest key; a multiple of 4.

    Members
    -------
    start : In(1); length : In(8)
        Forget the key before; the new one has so many bytes.
    key : In(8 * key_bytes); words : In
        The key as far as it is there, zeros behind its end, and how many words that is.
    done : Out(1); hash : Out(32)
        All words were hashed.
    """

    def __init__(self, *, key_bytes: int) -> None:
        if key_bytes < 4 or key_bytes % 4:
            raise ValueError(f"key_bytes = {key_bytes} must be a multiple of 4")
        self.key_bytes = key_bytes
        super().__init__(
            {
                "start": In(1),
                "length": In(8),
                "key": In(8 * key_bytes),
                "words": In(range(key_bytes // 4 + 1)),
                "done": Out(1),
                "hash": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(32)
        position = Signal(range(self.key_bytes // 4 + 1))
        last = Signal(range(self.key_bytes // 4 + 1))
        word = self.key.word_select(position, 32)
        m.d.comb += [self.hash.eq(state), self.done.eq(position == last)]
        with m.If(self.start):
            m.d.sync += [
                state.eq(SEED ^ self.length),
                position.eq(0),
                last.eq((self.length + 3) >> 2),
            ]
        with m.Elif((position != last) & (position < self.words)):
            m.d.sync += [state.eq(_mixed(m, state ^ word)), position.eq(position + 1)]
        return m


def _mixed(m: Module, value: Value) -> Value:
    product = Signal(32)
    m.d.comb += product.eq(value * MULTIPLIER)
    return product ^ (product >> 15)
