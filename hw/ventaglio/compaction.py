"""Positions of the ones in a bit vector, packed to the front."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Compaction"]


class Compaction(wiring.Component):
    """Finds the first ones of a bit vector, combinationally.

    Parameters
    ----------
    width : int
        Bits of the vector.
    count : int
        Most ones that are found.

    Members
    -------
    bits : In(width)
    positions : Out
        Position of the i-th one, for ``i`` below the number of ones.
    total : Out(range(width + 1))
        Number of ones.
    """

    def __init__(self, *, width: int, count: int) -> None:
        if width < 2 or count < 1:
            raise ValueError(f"width = {width} and count = {count} must be at least 2 and 1")
        self.width = width
        self.count = count
        super().__init__(
            {
                "bits": In(width),
                "positions": Out(data.ArrayLayout(unsigned((width - 1).bit_length()), count)),
                "total": Out(range(width + 1)),
            }
        )

    @staticmethod
    def model(bits: int, width: int, count: int) -> tuple[list[int], int]:
        """Return the found positions and the number of ones."""
        ones = [i for i in range(width) if bits >> i & 1]
        return ones[:count], len(ones)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Rank of each bit, first within chunks, then by adding the chunks' totals: a carry
        # chain over all bits would be the longest path of the unit.
        chunk = 8
        rank_shape = range(self.width + 1)
        ranks: list[Signal] = []
        before: Signal | Const = Const(0, 1)
        for start in range(0, self.width, chunk):
            part = self.bits[start : start + chunk]
            for i in range(len(part)):
                rank = Signal(rank_shape, name=f"rank_{start + i}")
                m.d.comb += rank.eq(before + sum(part[:i], Const(0, 1)))
                ranks.append(rank)
            after = Signal(rank_shape, name=f"ones_to_{start + len(part)}")
            m.d.comb += after.eq(before + sum(part, Const(0, 1)))
            before = after
        m.d.comb += self.total.eq(before)

        # One-hot slot of each bit; slot i of the result is the OR of the positions sent to it.
        slots: list[Signal] = []
        for position, rank in enumerate(ranks):
            slot = Signal(self.count, name=f"slot_{position}")
            m.d.comb += slot.eq(Mux(self.bits[position] & (rank < self.count), 1 << rank, 0))
            slots.append(slot)
        for bit in range(len(self.positions[0])):
            plane = Signal(self.count, name=f"plane_{bit}")
            chosen = [slot for position, slot in enumerate(slots) if position >> bit & 1]
            m.d.comb += plane.eq(_any_of(chosen))
            m.d.comb += Cat(self.positions[i][bit] for i in range(self.count)).eq(plane)
        return m


def _any_of(values: list[Signal]) -> Signal | Const:
    """OR of equally wide values, as a balanced tree."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return _any_of(values[:half]) | _any_of(values[half:])
