"""Positions of elements indexed by a bitmask."""

from amaranth import Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.compaction import Compaction
from fanweave.hw.ventaglio.field_columns import extent_members

__all__ = ["MaskColumns"]


class MaskColumns(wiring.Component):
    """Looks for ones in the next ``mask_columns`` bits of the rows' masks.

    The masks of successive rows lie behind one another, each padded to a word. ``column`` is
    the column of the head's first bit in the first row; it is negative while bits of a finished
    row are left before it.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    The members of `extent_members`, and:
    head : In
        Index bits, the next one first.
    positions, origins : Out
        The column of element ``e`` is ``positions[e]`` plus the first origin in the first row,
        plus the second one in the second row, modulo 2**16.
    level : In
        Bits in the buffer that ``head`` shows.
    at_end : In(1)
        There are no more rows: what is left of the last mask is dropped.
    consumed : Out
        Index bits to drop with the group.
    leftover : Out(1)
        More than the buffer holds is left of the last mask.
    wrong_before, wrong_first, wrong_second : Out(1)
        Ones and nnz contradict each other: ones behind the elements of the row that was
        finished last, or the first row, or the second.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        window = config.mask_columns
        super().__init__(
            {
                **extent_members(config),
                "head": In(2 * config.beat_bits),
                "level": In(range(2 * config.beat_bits + 1)),
                "at_end": In(1),
                "positions": Out(data.ArrayLayout(range(window), config.lanes)),
                "origins": Out(data.ArrayLayout(unsigned(16), 2)),
                "consumed": Out(range(2 * config.beat_bits + 1)),
                "leftover": Out(1),
                "wrong_before": Out(1),
                "wrong_first": Out(1),
                "wrong_second": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        window = config.mask_columns
        m.submodules.compaction = compaction = Compaction(width=window, count=config.lanes)

        pitch = Signal(17)  # bits of one row's mask with its padding
        column = Signal(signed(18))
        first_bits = Signal(signed(19))  # of the window that belong to the first row
        reach = Signal(signed(20))
        valid_bits = Signal(range(window + 1))
        m.d.comb += [
            pitch.eq((self.operation.width + 31) & 0x1FFE0),
            first_bits.eq(pitch - column),
            reach.eq(first_bits + Mux(self.second_valid, pitch, 0)),
            valid_bits.eq(Mux(reach < window, reach, window)),
            self.needed.eq(valid_bits),
            compaction.bits.eq(self.head[:window] & ((1 << valid_bits) - 1)[:window]),
        ]

        count = Signal(range(config.lanes + 1))
        full = Signal()
        last = Signal(range(window))
        m.d.comb += [
            full.eq(compaction.total > self.lanes),
            count.eq(Mux(full, self.lanes, compaction.total)),
            last.eq(compaction.positions[(self.lanes - 1)[: (config.lanes - 1).bit_length()]]),
            self.consumed.eq(Mux(self.at_end, self.level, Mux(full, last + 1, valid_bits))),
            self.leftover.eq(column + self.level < 0),
        ]
        self._count_rows(m, compaction, count, first_bits)
        self._check(m, compaction, count, column, first_bits)
        m.d.comb += [
            self.positions.eq(compaction.positions),
            self.origins[0].eq(column),
            self.origins[1].eq(-first_bits),
        ]

        behind = Signal(18)  # masks of the rows that end in this group
        with m.Switch(self.rows_done):
            with m.Case(1):
                m.d.comb += behind.eq(pitch)
            with m.Case(2):
                m.d.comb += behind.eq(pitch << 1)
        with m.If(self.at_end):
            m.d.sync += column.eq(column + self.consumed)
        with m.Elif(self.step):
            m.d.sync += column.eq(column + self.consumed - behind)
        with m.If(self.reset):
            m.d.sync += column.eq(0)
        return m

    def _count_rows(
        self, m: Module, compaction: Compaction, count: Signal, first_bits: Signal
    ) -> None:
        """Split the count: positions ascend, so the first row's elements come first."""
        in_first = [
            (e < count) & (compaction.positions[e] < first_bits) for e in range(self.config.lanes)
        ]
        m.d.comb += [
            self.first_count.eq(sum(in_first[1:], in_first[0])),
            self.second_count.eq(count - self.first_count),
        ]

    def _check(
        self,
        m: Module,
        compaction: Compaction,
        count: Signal,
        column: Signal,
        first_bits: Signal,
    ) -> None:
        """Contradictions: ones before the row, too many, or too few at the row's end."""
        too_many = Signal()
        too_few = Signal()
        m.d.comb += [
            too_many.eq(self.first_count > self.first_left),
            too_few.eq((self.consumed >= first_bits) & (self.first_count < self.first_left)),
            self.wrong_first.eq(too_many | too_few),
            self.wrong_second.eq(self.second_count > self.second_left),
        ]
        with m.If(self.at_end):
            m.d.comb += self.wrong_before.eq(self.head.any())
        with m.Else():
            m.d.comb += self.wrong_before.eq((count != 0) & (column + compaction.positions[0] < 0))
