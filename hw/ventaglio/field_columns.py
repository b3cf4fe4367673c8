"""Columns of dense, N:M and absolutely indexed elements."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.reduction import sum_tree
from fanweave.hw.ventaglio.payloads import OperationConfig

__all__ = ["FieldColumns", "FieldExtent", "FieldPlaces", "extent_members"]

_LARGEST_BLOCK = 32
_FIELD_BITS = (1, 2, 3, 4, 5, 8, 16)


def extent_members(config: VentaglioConfig) -> dict[str, wiring.Member]:
    """What the planner asks of either kind of indices."""
    count = range(config.lanes + 1)
    return {
        "operation": In(OperationConfig),
        "lanes": In(count),
        "first_left": In(16),
        "second_valid": In(1),
        "second_left": In(16),
        "step": In(1),
        "rows_done": In(2),
        "reset": In(1),
        "first_count": Out(count),
        "second_count": Out(count),
        "needed": Out(range(2 * config.beat_bits + 1)),
    }


def _width_members(width_given: bool) -> dict[str, wiring.Member]:
    return {"field_bits": In(5)} if width_given else {}


def _field_bits(m: Module, operation: OperationConfig) -> Signal:
    """Width of a field, 0 for a dense row."""
    field_bits = Signal(5)
    with m.Switch(operation.index_mode):
        with m.Case(IndexMode.N_OF_M):
            for bits in range(1, 6):
                first, last = (1 << bits - 1) + 1, 1 << bits
                with m.If((operation.m >= first) & (operation.m <= last)):
                    m.d.comb += field_bits.eq(bits)
        with m.Case(IndexMode.ABSOLUTE_8):
            m.d.comb += field_bits.eq(8)
        with m.Case(IndexMode.ABSOLUTE_16):
            m.d.comb += field_bits.eq(16)
    return field_bits


class FieldExtent(wiring.Component):
    """Elements of a group whose index fields have one width, and the index bits they take.

    A group's elements are the first ``first_count`` of the first row and the first
    ``second_count`` of the second; ``needed`` index bits hold their fields. The second row's
    fields end within a beat's worth of bits, because a buffer that holds more than a beat takes
    no further one: a group that needed more than that would wait for ever.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    width_given : bool
        Whether ``field_bits`` tells the width of a field, instead of the operation.

    Members
    -------
    The members of `extent_members`; ``step`` says that the group is taken, ``rows_done``
    how many rows end in it, ``reset`` that the operation ends.
    padding : Out(5)
        Bits between the fields of the first row and those of the second.
    field_bits : In(5)
        One of the widths that operations have, if it is given.
    """

    def __init__(self, *, config: VentaglioConfig, width_given: bool = False) -> None:
        self.config = config
        self.width_given = width_given
        super().__init__(
            {**extent_members(config), "padding": Out(5), **_width_members(width_given)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.first_count.eq(
            Mux(self.first_left < self.lanes, self.first_left, self.lanes)
        )
        field_bits = self.field_bits if self.width_given else _field_bits(m, self.operation)
        phase = Signal(5)  # bits taken of the head's 32-bit word
        self._extent(m, field_bits, phase)
        with m.If(self.step):
            # A finished row's last word is dropped whole, so the next begins at phase 0.
            m.d.sync += phase.eq(phase + self.needed)
        with m.If(self.reset):
            m.d.sync += phase.eq(0)
        return m

    def _extent(self, m: Module, field_bits: Signal, phase: Signal) -> None:
        """Index bits of the group, and the padding behind the first row."""
        first_bits = Signal.like(self.needed)
        first_done = Signal()
        behind_first = Signal.like(self.needed)
        end = Signal.like(self.needed)
        end_padding = Signal(5)
        second_done = Signal()
        m.d.comb += [
            first_bits.eq(self.first_count * field_bits),
            first_done.eq(self.first_count == self.first_left),
            self.padding.eq(Mux(first_done, -(phase + first_bits), 0)),
            behind_first.eq(first_bits + self.padding),
        ]
        self._count_second(m, field_bits, behind_first)
        m.d.comb += [
            end.eq(behind_first + self.second_count * field_bits),
            second_done.eq(
                first_done & self.second_valid & (self.second_count == self.second_left)
            ),
            end_padding.eq(Mux(second_done, -(phase + end), 0)),
            self.needed.eq(end + end_padding),
        ]

    def _count_second(self, m: Module, field_bits: Signal, behind_first: Signal) -> None:
        """As many elements of the second row as lanes and index bits allow."""
        config = self.config
        free = Signal.like(self.second_count)
        wanted = Signal.like(self.second_count)
        fitting = Signal.like(self.second_count, init=config.lanes)
        m.d.comb += [
            free.eq(self.lanes - self.first_count),
            wanted.eq(Mux(self.second_left < free, self.second_left, free)),
        ]
        with m.Switch(field_bits):
            for bits in _FIELD_BITS:
                elements = min(config.lanes, config.beat_bits // bits)
                # Two rows' padding is at most 31 bits each.
                if elements * bits + 62 > config.beat_bits:
                    with m.Case(bits):
                        fits = [
                            behind_first <= config.beat_bits - e * bits
                            for e in range(1, elements + 1)
                        ]
                        m.d.comb += fitting.eq(sum_tree(fits))
        m.d.comb += self.second_count.eq(Mux(wanted < fitting, wanted, fitting))


class FieldPlaces(wiring.Component):
    """Columns of the elements of a group, from their index fields and their places in the rows.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    width_given : bool
        Whether ``field_bits`` tells the width of a field, instead of the operation.

    Members
    -------
    operation : In(OperationConfig)
    head : In
        Index bits, the group's first.
    padding, first_count, second_count : In
        Of the group, as `FieldExtent` has them.
    step : In(1); rows_done : In(2)
        The group is taken; how many rows end in it.
    columns : Out
    field_bits : In(5)
        One of the widths that operations have, if it is given.
    """

    def __init__(self, *, config: VentaglioConfig, width_given: bool = False) -> None:
        self.config = config
        self.width_given = width_given
        # An ordinal is a place in a block plus elements of a group. With a factor that is too
        # large by less than 1, x // n == (x * ceil(2 ** bits / n)) >> bits holds as long as
        # x / 2 ** bits < 1 / n for every ordinal x.
        self._ordinal_bits = (_LARGEST_BLOCK - 1 + config.lanes).bit_length()
        self._reciprocal_bits = self._ordinal_bits + (_LARGEST_BLOCK - 1).bit_length()
        count = range(config.lanes + 1)
        super().__init__(
            {
                "operation": In(OperationConfig),
                "head": In(config.beat_bits + 31),
                "padding": In(5),
                "first_count": In(count),
                "second_count": In(count),
                "step": In(1),
                "rows_done": In(2),
                "columns": Out(data.ArrayLayout(unsigned(16), config.lanes)),
                **_width_members(width_given),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation = self.operation
        field_bits = self.field_bits if self.width_given else _field_bits(m, operation)
        n = Signal(6, init=1)
        block = Signal(6)
        with m.Switch(operation.index_mode):
            with m.Case(IndexMode.N_OF_M):
                m.d.comb += [n.eq(operation.n), block.eq(operation.m)]
            with m.Case(IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16):
                pass
            with m.Default():
                m.d.comb += block.eq(1)
        self._columns(m, self._fields(m, field_bits), n, block)
        return m

    def _fields(self, m: Module, field_bits: Signal) -> list[Signal]:
        """The field of each element."""
        config = self.config
        # The second row's fields, moved to where they would stand without the padding.
        moved = Signal(config.beat_bits)
        m.d.comb += moved.eq(self.head >> self.padding)
        fields = []
        for e in range(config.lanes):
            field = Signal(16, name=f"field_{e}")
            with m.Switch(field_bits):
                for bits in _FIELD_BITS:
                    if (e + 1) * bits <= config.beat_bits:
                        part = slice(e * bits, (e + 1) * bits)
                        with m.Case(bits):
                            m.d.comb += field.eq(
                                Mux(e < self.first_count, self.head[part], moved[part])
                            )
            fields.append(field)
        return fields

    def _columns(self, m: Module, fields: list[Signal], n: Signal, block: Signal) -> None:
        """``block number * m + field``, and the first row's progress."""
        reciprocal = Signal(self._reciprocal_bits + 1)
        with m.Switch(n):
            for value in range(1, _LARGEST_BLOCK + 1):
                with m.Case(value):
                    m.d.comb += reciprocal.eq(-(-(1 << self._reciprocal_bits) // value))
        place = Signal(5)  # of the first row's next element within its block
        origin = Signal(17)  # first column of that block; stays beyond every width once there

        def blocks_of(name: str, ordinal: Signal) -> Signal:
            quotient = Signal(self._ordinal_bits, name=name)
            m.d.comb += quotient.eq((ordinal * reciprocal) >> self._reciprocal_bits)
            return quotient

        for e, field in enumerate(fields):
            in_second = Signal(name=f"in_second_{e}")
            ordinal = Signal(self._ordinal_bits, name=f"ordinal_{e}")
            m.d.comb += [
                in_second.eq(e >= self.first_count),
                ordinal.eq(Mux(in_second, e - self.first_count, place + e)),
            ]
            block_number = blocks_of(f"block_{e}", ordinal)
            column = Signal(17, name=f"column_{e}")
            m.d.comb += [
                column.eq(Mux(in_second, 0, origin) + block_number * block + field),
                self.columns[e].eq(column[:16] | column[16].replicate(16)),
            ]

        # Elements of the row that will be first in the next cycle, from its block's start.
        next_ordinal = Signal(self._ordinal_bits)
        m.d.comb += next_ordinal.eq(
            Mux(self.rows_done != 0, self.second_count, place + self.first_count)
        )
        next_block = blocks_of("next_block", next_ordinal)
        next_origin = Signal.like(origin)
        m.d.comb += next_origin.eq(Mux(self.rows_done != 0, 0, origin) + next_block * block)
        with m.If(self.step):
            with m.If(self.rows_done == 2):
                m.d.sync += [place.eq(0), origin.eq(0)]
            with m.Else():
                m.d.sync += [
                    place.eq(next_ordinal - next_block * n),
                    origin.eq(Mux(next_origin[16], 1 << 16, next_origin)),
                ]


class FieldColumns(wiring.Component):
    """`FieldExtent` and `FieldPlaces` in one cycle.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    width_given : bool
        Whether ``field_bits`` tells the width of a field, instead of the operation.

    Members
    -------
    The members of `FieldExtent`, and:
    head : In
        Index bits, the next one first.
    columns : Out
    """

    def __init__(self, *, config: VentaglioConfig, width_given: bool = False) -> None:
        self._extent = FieldExtent(config=config, width_given=width_given)
        self._places = FieldPlaces(config=config, width_given=width_given)
        super().__init__(
            {
                **self._extent.signature.members,
                "head": In(2 * config.beat_bits),
                "columns": self._places.signature.members["columns"],
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.extent = extent = self._extent
        m.submodules.places = places = self._places
        for name, member in extent.signature.members.items():
            inner, outer = getattr(extent, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        for name, member in places.signature.members.items():
            if member.flow is In:
                m.d.comb += getattr(places, name).eq(getattr(self, name))
        m.d.comb += self.columns.eq(places.columns)
        return m
