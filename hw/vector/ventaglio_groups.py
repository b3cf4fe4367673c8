"""Which elements of a product go through Ventaglio's lanes next, and the columns they name."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode, Opcode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.ventaglio_payloads import parameters, product_plan
from fanweave.hw.ventaglio.compaction import Compaction
from fanweave.hw.ventaglio.field_columns import FieldColumns
from fanweave.hw.ventaglio.groups import group_geometry, spread_elements
from fanweave.hw.ventaglio.payloads import Marker, group_layout

__all__ = ["MaskScan", "ProductGroups"]

#: A column that no row has.
_NOWHERE = 0xFFFF


class MaskScan(wiring.Component):
    """Columns of elements indexed by a bitmask, from the next ``mask_columns`` bits of it.

    Elements that find no one when the mask is over get a column that does not exist.

    Parameters
    ----------
    config : VentaglioConfig

    Members
    -------
    width : In(16); lanes, left : In
        Columns of the row; elements of a group; elements that the row still has.
    head : In
        Bits of the mask that come next.
    step : In(1); row_done : In(1)
        The group is taken; the row ends with it.
    count, needed : Out
        Elements of the group; bits that must be there, and that it takes are ``consumed``.
    consumed : Out
    columns : Out
    ends : Out(1)
        Nothing is left of the mask behind the group.
    many : Out(1)
        There are more ones than elements.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        count, level = range(config.lanes + 1), range(2 * config.beat_bits + 1)
        super().__init__(
            {
                "width": In(16),
                "lanes": In(count),
                "left": In(16),
                "head": In(config.mask_columns),
                "step": In(1),
                "row_done": In(1),
                "count": Out(count),
                "needed": Out(level),
                "consumed": Out(level),
                "columns": Out(data.ArrayLayout(unsigned(16), config.lanes)),
                "ends": Out(1),
                "many": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, window = self.config, self.config.mask_columns
        m.submodules.compaction = ones = Compaction(width=window, count=config.lanes)
        place, padded, behind = Signal(17), Signal(17), Signal(17)
        inside = Signal(range(window + 1))  # bits of the window that have a column
        full, over = Signal(), Signal()
        found, most = Signal(range(config.lanes + 1)), Signal(range(config.lanes + 1))
        last = ones.positions[(self.lanes - 1)[: (config.lanes - 1).bit_length()]]
        m.d.comb += [
            padded.eq((self.width + 31) & 0x1FFE0),
            behind.eq(padded - place),
            self.needed.eq(Mux(behind < window, behind, window)),
            inside.eq(
                Mux(
                    place >= self.width,
                    0,
                    Mux(self.width - place < window, self.width - place, window),
                )
            ),
            ones.bits.eq(self.head & ((1 << inside) - 1)[:window]),
            over.eq(behind == 0),
            full.eq(ones.total > self.lanes),
            self.consumed.eq(Mux(full, last + 1, self.needed)),
            self.ends.eq(self.consumed == behind),
            most.eq(Mux(self.left < self.lanes, self.left, self.lanes)),
            found.eq(Mux(ones.total < most, ones.total, most)),
            self.count.eq(Mux(over, most, found)),
            self.many.eq(ones.total > self.left),
        ]
        for e in range(config.lanes):
            m.d.comb += self.columns[e].eq(Mux(over, _NOWHERE, place + ones.positions[e]))
        with m.If(self.step):
            m.d.sync += place.eq(Mux(self.row_done, 0, place + self.consumed))
        return m


class ProductGroups(wiring.Component):
    """A group a cycle, all of one instruction.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    rows : stream in of `product_plan`
    weights_head, indices_head, weights_level, indices_level : In
    weights_take, indices_take : Out
        See `ProductFetch`.
    groups : stream out of `group_layout`
        Clears, and turns of the memory unit, are markers; a turn's slot is ``first_row``.
    many : Out(1); element : Out(16)
        A bitmask has more ones than there are elements, which this is the number of.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        self._parameters = parameters(config)
        head, level = 2 * config.word_bits, range(2 * config.word_bits + 1)
        super().__init__(
            {
                "rows": In(stream.Signature(product_plan(config))),
                "weights_head": In(head),
                "indices_head": In(head),
                "weights_level": In(level),
                "indices_level": In(level),
                "weights_take": Out(level),
                "indices_take": Out(level),
                "groups": Out(stream.Signature(group_layout(self._parameters))),
                "many": Out(1),
                "element": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, row = self._parameters, self.rows.payload
        m.submodules.fields = fields = FieldColumns(config=config, width_given=True)
        m.submodules.mask = mask = MaskScan(config=config)
        operation = self._configure(m)
        _, lanes = group_geometry(m, config, operation)
        done, left, by_mask = Signal(16), Signal(16), Signal()
        count = Signal(range(config.lanes + 1))
        is_row, go, step, ends = (Signal(name=name) for name in ("is_row", "go", "step", "ends"))
        needed, bits = Signal.like(self.indices_level), Signal.like(self.weights_level)
        m.d.comb += [
            left.eq(row.count - done),
            by_mask.eq(row.mode == IndexMode.BITMASK),
            is_row.eq(self.rows.valid & (row.marker == Marker.ROW)),
            count.eq(Mux(by_mask, mask.count, fields.first_count)),
            bits.eq((count << 3) << row.size),
            needed.eq(Mux(by_mask, mask.needed, fields.needed)),
            # A bitmask's count stands only once the bits are there.
            go.eq(is_row & (self.indices_level >= needed) & (self.weights_level >= bits)),
            self.groups.valid.eq(Mux(is_row, go & (count != 0), self.rows.valid)),
            step.eq(go & (self.groups.ready | (count == 0))),
            ends.eq((count == left) & (~by_mask | mask.ends)),
            self.rows.ready.eq(Mux(is_row, step & ends, self.groups.ready)),
            self.many.eq(step & by_mask & mask.many),
            self.element.eq(row.count),
        ]
        with m.If(step):
            m.d.comb += [
                self.weights_take.eq(bits),
                self.indices_take.eq(Mux(by_mask, mask.consumed, fields.needed)),
            ]
            m.d.sync += done.eq(Mux(ends, 0, done + count))
        m.d.comb += [
            fields.operation.eq(operation),
            fields.field_bits.eq(row.bits),
            fields.lanes.eq(lanes),
            fields.first_left.eq(left),
            fields.head.eq(self.indices_head),
            fields.step.eq(step & ~by_mask),
            fields.rows_done.eq(Mux(ends, 2, 0)),  # the next row begins at the beginning
            mask.width.eq(row.width),
            mask.lanes.eq(lanes),
            mask.left.eq(left),
            mask.head.eq(self.indices_head),
            mask.step.eq(step & by_mask),
            mask.row_done.eq(ends),
        ]
        columns = Signal(data.ArrayLayout(unsigned(16), config.lanes))
        for e in range(config.lanes):
            m.d.comb += columns[e].eq(Mux(by_mask, mask.columns[e], fields.columns[e]))
        self._fill(m, operation, is_row, count, columns)
        m.d.comb += self.groups.payload.element.eq(done)
        return m

    def _configure(self, m: Module) -> data.View:
        """The configuration as the lanes know it.

        A signal of its own: what is read must not be a part of what is driven with its help.
        """
        row, operation = self.rows.payload, Signal.like(self.groups.payload.config)
        m.d.comb += [
            self.groups.payload.config.eq(operation),
            operation.opcode.eq(
                Mux(row.multiply, Opcode.MULTIPLY, Opcode.MULTIPLY_ACCUMULATE),
            ),
            operation.element.eq(row.element),
            operation.index_mode.eq(row.mode),
            operation.n.eq(row.n),
            operation.m.eq(row.m),
            operation.width.eq(row.width),
            operation.outputs.eq(1),
            operation.base.eq(row.base),
            operation.first_row.eq(row.slot),
        ]
        return operation

    def _fill(
        self, m: Module, operation: data.View, is_row: Value, count: Value, columns: data.View
    ) -> None:
        group, config = self.groups.payload, self._parameters
        m.d.comb += [
            group.marker.eq(self.rows.payload.marker),
            group.weights.eq(self.weights_head),
            group.masks[0].eq(1),
            group.scalars[0][0].eq(self.rows.payload.scalar),
            group.first_count.eq(count),
        ]
        valid = Cat((e < count) & is_row for e in range(config.lanes))
        nothing = Cat(0 for _ in range(config.lanes))
        spread_elements(m, config, operation.element, group, valid, nothing, columns)
