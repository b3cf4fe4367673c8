"""Withholds the transfers of a stream at random, replayable from a seed."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StallInjector"]


class StallInjector(wiring.Component):
    """Passes a stream on and holds transfers back at random, within the stream protocol.

    In each cycle in which no payload is being shown, a payload is withheld with probability
    ``probability / 256``; what has been shown stays until its transfer. The random source is the
    32-bit xorshift generator of G. Marsaglia, "Xorshift RNGs" (2003), triple (13, 17, 5).

    Parameters
    ----------
    shape
        Shape of the payload.
    seed
        Seed after reset, 32 bits. It is also mixed into every seed loaded later, so that several
        injectors may share one `seed_value` and still stall independently.

    Members
    -------
    i, o : stream of `shape`
        Input and output; no register in between, so probability 0 is transparent.
    probability : In(8)
        Chance of withholding, in 1/256 a cycle; 0 never withholds.
    seed_value, seed_load : In(32), In(1)
        While `seed_load` is high, the generator restarts from `seed_value`.

    Raises
    ------
    ValueError
        If `seed` is not an integer of 32 bits.
    """

    def __init__(self, *, shape: ShapeLike, seed: int = 1) -> None:
        if not isinstance(seed, int) or not 0 <= seed < 1 << 32:
            raise ValueError(
                f"Seed of a stall injector must be an integer in 0..4294967295, not {seed!r}"
            )
        self.seed = seed
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "probability": In(8),
                "seed_value": In(32),
                "seed_load": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # All zeros is the one state that the generator cannot leave.
        state = Signal(32, init=self.seed or 1)
        mixed = Signal(32)
        shifted = [Signal(32, name=f"shifted_{step}") for step in ("left", "right", "out")]
        m.d.comb += [
            mixed.eq(self.seed_value ^ self.seed),
            shifted[0].eq(state ^ (state << 13)),
            shifted[1].eq(shifted[0] ^ (shifted[0] >> 17)),
            shifted[2].eq(shifted[1] ^ (shifted[1] << 5)),
        ]
        m.d.sync += state.eq(Mux(self.seed_load, Mux(mixed == 0, 1, mixed), shifted[2]))

        held = Signal()
        passing = Signal()
        m.d.comb += [
            passing.eq(held | (state[24:] >= self.probability)),
            self.o.valid.eq(self.i.valid & passing),
            Value.cast(self.o.payload).eq(Value.cast(self.i.payload)),
            self.i.ready.eq(self.o.ready & passing),
        ]
        m.d.sync += held.eq(self.o.valid & ~self.o.ready)
        return m
