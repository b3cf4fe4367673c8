"""Forms groups: which elements go through the lanes next, and the columns that they name."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.field_columns import FieldColumns
from fanweave.hw.ventaglio.mask_columns import MaskColumns
from fanweave.hw.ventaglio.payloads import (
    Marker,
    OperationConfig,
    described_row_layout,
    group_layout,
)

__all__ = ["Decoder", "group_geometry", "spread_elements"]


class Decoder(wiring.Component):
    """One group a cycle, from the row at the head of the queue and the one behind it.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    operation : In(OperationConfig)
        Configuration of the rows in the queue.
    first, second : In(described row); first_valid, second_valid : In(1)
        The two oldest entries of the row queue.
    pop : Out(2)
        How many of them are finished at the end of this cycle.
    weights_head, weights_level, weights_take; indices_head, indices_level, indices_take
        The aligners' buffers, in bits.
    groups : stream out
    end_done : Out(1)
        An end marker was passed.
    missing_weights, missing_indices : Out(1)
        A group waits for them.
    length_error : Out(1)
        A row contradicts its bitmask.
    error_row : Out(24); error_element : Out(16)
        That row, and its first element without a one, or one without an element.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        level = range(2 * config.beat_bits + 1)
        row = described_row_layout(config)
        super().__init__(
            {
                "operation": In(OperationConfig),
                "first": In(row),
                "first_valid": In(1),
                "second": In(row),
                "second_valid": In(1),
                "pop": Out(2),
                "weights_head": In(config.beat_bits),
                "weights_level": In(level),
                "weights_take": Out(level),
                "indices_head": In(2 * config.beat_bits),
                "indices_level": In(level),
                "indices_take": Out(level),
                "groups": Out(stream.Signature(group_layout(config))),
                "end_done": Out(1),
                "missing_weights": Out(1),
                "missing_indices": Out(1),
                "length_error": Out(1),
                "error_row": Out(24),
                "error_element": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.fields = fields = FieldColumns(config=config)
        m.submodules.mask = mask = MaskColumns(config=config)

        element_log2, lanes = group_geometry(m, self.config, self.operation)
        done = Signal(16)  # elements of the first row that were taken
        first_left = Signal(16)
        second_usable = Signal()
        is_row = Signal()
        is_marker = Signal()
        m.d.comb += [
            is_marker.eq(self.first_valid & (self.first.marker != Marker.ROW)),
            is_row.eq(self.first_valid & (self.first.marker == Marker.ROW)),
            first_left.eq(self.first.nnz - done),
            second_usable.eq(self.second_valid & (self.second.marker == Marker.ROW)),
        ]
        for columns in (fields, mask):
            m.d.comb += [
                columns.operation.eq(self.operation),
                columns.lanes.eq(lanes),
                columns.first_left.eq(first_left),
                columns.second_valid.eq(second_usable),
                columns.second_left.eq(Mux(second_usable, self.second.nnz, 0)),
                columns.head.eq(self.indices_head),
            ]

        by_mask = Signal()
        first_count = Signal(range(config.lanes + 1))
        second_count = Signal(range(config.lanes + 1))
        index_needed = Signal.like(self.indices_level)
        m.d.comb += [
            by_mask.eq(self.operation.index_mode == IndexMode.BITMASK),
            first_count.eq(Mux(by_mask, mask.first_count, fields.first_count)),
            second_count.eq(Mux(by_mask, mask.second_count, fields.second_count)),
            index_needed.eq(Mux(by_mask, mask.needed, fields.needed)),
        ]
        count = Signal(range(config.lanes + 1))
        weight_bits = Signal.like(self.weights_level)
        m.d.comb += [
            count.eq(first_count + second_count),
            weight_bits.eq(count << element_log2),
            # A bitmask's count stands only once the bits are there.
            self.missing_indices.eq(is_row & (self.indices_level < index_needed)),
            mask.level.eq(self.indices_level),
            mask.at_end.eq(is_marker & by_mask),
            self.missing_weights.eq(
                is_row & ~self.missing_indices & (self.weights_level < weight_bits)
            ),
        ]

        go = Signal()
        step = Signal()
        m.d.comb += [
            go.eq(is_row & ~self.missing_indices & ~self.missing_weights & ~self.length_error),
            step.eq(go & (self.groups.ready | (count == 0))),
            mask.step.eq(step & by_mask),
            fields.step.eq(step & ~by_mask),
        ]
        first_done = Signal()
        second_done = Signal()
        m.d.comb += [
            first_done.eq(first_count == first_left),
            second_done.eq(first_done & second_usable & (second_count == self.second.nnz)),
            mask.rows_done.eq(first_done + second_done),
            fields.rows_done.eq(first_done + second_done),
        ]
        self._check_length(m, is_row, done, first_left, second_done, mask)
        with m.If(step):
            m.d.comb += [
                self.weights_take.eq(weight_bits),
                self.indices_take.eq(Mux(by_mask, mask.consumed, fields.needed)),
                self.pop.eq(first_done + second_done),
            ]
            with m.If(second_done):
                m.d.sync += done.eq(0)
            with m.Elif(first_done):
                m.d.sync += done.eq(second_count)
            with m.Else():
                m.d.sync += done.eq(done + first_count)
        self._markers(m, is_marker, go & (count != 0), mask, fields)
        self._group(m, by_mask, mask, fields, count, first_count)
        m.d.comb += self.groups.payload.element.eq(done)
        return m

    def _check_length(
        self,
        m: Module,
        is_row: Signal,
        done: Signal,
        first_left: Signal,
        second_done: Signal,
        mask: MaskColumns,
    ) -> None:
        """Report the earliest row whose elements and ones contradict each other."""
        finished_row = Signal(24)  # the row that was finished last, and its elements
        finished_nnz = Signal(16)
        with m.If(second_done & (self.pop == 2)):
            m.d.sync += [finished_row.eq(self.second.k), finished_nnz.eq(self.second.nnz)]
        with m.Elif(is_row & (self.pop == 1)):
            m.d.sync += [finished_row.eq(self.first.k), finished_nnz.eq(self.first.nnz)]

        checked = Signal()
        m.d.comb += checked.eq(mask.at_end | (is_row & ~self.missing_indices))
        with m.If(checked & (self.operation.index_mode == IndexMode.BITMASK)):
            with m.If(mask.wrong_before):
                m.d.comb += [
                    self.length_error.eq(1),
                    self.error_row.eq(finished_row),
                    self.error_element.eq(finished_nnz),
                ]
            with m.Elif(is_row & mask.wrong_first):
                m.d.comb += [
                    self.length_error.eq(1),
                    self.error_row.eq(self.first.k),
                    self.error_element.eq(
                        done + Mux(mask.first_count < first_left, mask.first_count, first_left)
                    ),
                ]
            with m.Elif(is_row & mask.wrong_second):
                m.d.comb += [
                    self.length_error.eq(1),
                    self.error_row.eq(self.second.k),
                    self.error_element.eq(self.second.nnz),
                ]

    def _markers(
        self,
        m: Module,
        is_marker: Signal,
        group_valid: Value,
        mask: MaskColumns,
        fields: FieldColumns,
    ) -> None:
        """Groups carry rows, clears and drains; a plain end goes no further.

        Before it passes, what is left of the last row's mask is taken, so that the next
        operation begins with the beats that were sent for it.
        """
        may_pass = Signal()
        passes_group = Signal()
        m.d.comb += [
            may_pass.eq(is_marker & ~(mask.at_end & (mask.leftover | self.length_error))),
            passes_group.eq(may_pass & (self.first.marker != Marker.END)),
            self.groups.valid.eq(group_valid | passes_group),
            self.end_done.eq(may_pass & (self.groups.ready | ~passes_group)),
            mask.reset.eq(self.end_done),
            fields.reset.eq(self.end_done),
        ]
        with m.If(mask.at_end):
            m.d.comb += self.indices_take.eq(mask.consumed)
        with m.If(self.end_done):
            m.d.comb += self.pop.eq(1)

    def _group(
        self,
        m: Module,
        by_mask: Signal,
        mask: MaskColumns,
        fields: FieldColumns,
        count: Signal,
        first_count: Signal,
    ) -> None:
        """What goes through the lanes next."""
        config = self.config
        group = self.groups.payload
        m.d.comb += [
            group.marker.eq(self.first.marker),
            group.weights.eq(self.weights_head),
            group.k[0].eq(self.first.k),
            group.k[1].eq(self.second.k),
            group.first_count.eq(first_count),
            group.masks[0].eq(self.first.mask),
            group.masks[1].eq(self.second.mask),
            group.scalars[0].eq(self.first.scalars),
            group.scalars[1].eq(self.second.scalars),
            group.config.eq(self.operation),
        ]
        columns = Signal(data.ArrayLayout(unsigned(16), config.lanes))
        for e in range(config.lanes):
            m.d.comb += columns[e].eq(Mux(by_mask, mask.columns[e], fields.columns[e]))
        second = Cat(e >= first_count for e in range(config.lanes))
        is_row = self.first.marker == Marker.ROW
        valid = Cat((e < count) & is_row for e in range(config.lanes))
        spread_elements(m, config, self.operation.element, group, valid, second, columns)


def group_geometry(
    m: Module, config: VentaglioConfig, operation: data.View
) -> tuple[Signal, Signal]:
    """log2 of an element's bits, and the elements of a group."""
    element_log2 = Signal(3)
    lanes = Signal(range(config.lanes + 1))
    with m.Switch(operation.element):
        for element_format in config.formats:
            with m.Case(element_format):
                m.d.comb += [
                    element_log2.eq((element_format.bits - 1).bit_length()),
                    lanes.eq(config.lanes_of(element_format)),
                ]
                for mode, bits in ((IndexMode.ABSOLUTE_8, 8), (IndexMode.ABSOLUTE_16, 16)):
                    most = config.beat_bits // bits
                    if most < config.lanes_of(element_format):
                        with m.If(operation.index_mode == mode):
                            m.d.comb += lanes.eq(most)
    return element_log2, lanes


def spread_elements(
    m: Module,
    config: VentaglioConfig,
    element: Value,
    group: data.View,
    valid: Value,
    second: Value,
    columns: data.View,
) -> None:
    """Put elements on their lanes: element e of FP32 stands where four of FP8 do.

    Parameters
    ----------
    m : Module
        Where the group's members are driven.
    config : VentaglioConfig
        Parameters of the unit.
    element : Value
        Format of the elements; no part of the group, which depends on it.
    group : View of `group_layout`
        What is driven.
    valid, second, columns : Value, Value, array of Value
        By element.
    """
    widths = sorted({f.bits for f in config.formats})
    for lane in range(config.lanes):
        with m.Switch(element):
            for bits in widths:
                spread = bits // config.element_bits
                if lane % spread:
                    continue
                e = lane // spread
                with m.Case(*(f for f in config.formats if f.bits == bits)):
                    m.d.comb += [
                        group.valid[lane].eq(valid[e]),
                        group.second[lane].eq(second[e]),
                        group.columns[lane].eq(columns[e]),
                    ]
