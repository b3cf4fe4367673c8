"""Products of one, two or four integers in 32 bits."""

from amaranth import Cat, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.simd import by_width, is_top, named

__all__ = ["IntegerMultiplier"]


class IntegerMultiplier(wiring.Component):
    """Combinational. The products of narrow elements are parts of the product of wide ones.

    Members
    -------
    width : In(2)
        Log2 of the bytes of an element.
    a, b : In(32)
    a_signed, b_signed : In(1)
    product : Out(64)
        Products of twice the elements' width.
    """

    width: In(2)
    a: In(32)
    b: In(32)
    a_signed: In(1)
    b_signed: In(1)
    product: Out(64)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tops = named(m, "tops", is_top(self.width))
        a, b = (
            self._extended(m, name, given, is_signed, tops)
            for name, given, is_signed in (
                ("a", self.a, self.a_signed),
                ("b", self.b, self.b_signed),
            )
        )
        bytewise: list[Value] = []
        halves: list[Signal] = []
        for half in range(2):
            low, high = 2 * half, 2 * half + 1
            product = Signal(signed(35), name=f"half_{half}")
            blocks = {}
            for i in (low, high):
                for j in (low, high):
                    blocks[i, j] = Signal(signed(18), name=f"block_{i}_{j}")
                    m.d.comb += blocks[i, j].eq(a[i] * b[j])
            m.d.comb += product.eq(
                blocks[low, low]
                + ((blocks[low, high] + blocks[high, low]) << 8)
                + (blocks[high, high] << 16)
            )
            bytewise += [blocks[low, low][:16], blocks[high, high][:16]]
            halves.append(product)
        crossed = Signal(signed(36))
        a_halves, b_halves = (
            [Cat(part[0][:8], part[1]).as_signed(), Cat(part[2][:8], part[3]).as_signed()]
            for part in (a, b)
        )
        m.d.comb += crossed.eq(a_halves[0] * b_halves[1] + a_halves[1] * b_halves[0])
        whole = Signal(signed(67))
        m.d.comb += [
            whole.eq(halves[0] + (crossed << 16) + (halves[1] << 32)),
            self.product.eq(
                by_width(
                    self.width,
                    (Cat(bytewise), Cat(half[:32] for half in halves), whole[:64]),
                )
            ),
        ]
        return m

    @staticmethod
    def _extended(
        m: Module, name: str, given: Value, is_signed: Value, tops: Value
    ) -> list[Signal]:
        """Bytes with a sign each, which is set in the highest byte of a negative element only."""
        found = []
        for place in range(4):
            byte = Signal(signed(9), name=f"{name}_{place}")
            bits = given.word_select(place, 8)
            m.d.comb += byte.eq(Cat(bits, bits[7] & is_signed & tops[place]))
            found.append(byte)
        return found
