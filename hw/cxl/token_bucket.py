"""Tokens that a host earns, and requests that wait for them."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cxl_switch import TOKEN_PARTS

__all__ = ["TokenBucket"]

_PART_BITS = (TOKEN_PARTS - 1).bit_length()


class TokenBucket(wiring.Component):
    """Earns up to a limit, and grants to the heads of two channels; a wait has a bound.

    Members
    -------
    rate : In(16); limit : In(16); delay_limit : In(16)
        Parts of a token a cycle, most tokens kept, and most cycles that a head waits.
    wants_{n} : In(1); tokens_{n} : In(32); granted_{n} : Out(1)
        A head and its price, for n = 0 and 1. When both could pay, they take turns.
    """

    def __init__(self) -> None:
        members: dict[str, object] = {"rate": In(16), "limit": In(16), "delay_limit": In(16)}
        for n in range(2):
            members |= {f"wants_{n}": In(1), f"tokens_{n}": In(32), f"granted_{n}": Out(1)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level = Signal(16 + _PART_BITS)
        turn, pays = Signal(), Signal(2)
        price = [Signal(16, name=f"price_{n}") for n in range(2)]
        for n in range(2):
            wants, tokens = getattr(self, f"wants_{n}"), getattr(self, f"tokens_{n}")
            waited = Signal(16, name=f"waited_{n}")
            late = Signal(name=f"late_{n}")
            m.d.comb += [
                price[n].eq(Mux(tokens > self.limit, self.limit, tokens)),
                pays[n].eq(wants & (level[_PART_BITS:] >= price[n])),
                late.eq(wants & (waited >= self.delay_limit)),
                getattr(self, f"granted_{n}").eq(late | (pays[n] & ((turn == n) | ~pays[1 - n]))),
            ]
            m.d.sync += waited.eq(Mux(wants & ~getattr(self, f"granted_{n}"), waited + 1, 0))
        first = pays[0] & ((turn == 0) | ~pays[1])
        paid = Signal(16)
        m.d.comb += paid.eq(Mux(first, price[0], Mux(pays[1], price[1], 0)))
        with m.If(pays.any()):
            m.d.sync += turn.eq(first)
        earned = Signal(18 + _PART_BITS)
        full = self.limit << _PART_BITS
        m.d.comb += earned.eq(level - (paid << _PART_BITS) + self.rate)
        m.d.sync += level.eq(Mux(earned > full, full, earned))
        return m
