"""Expands planned groups: their columns, and the weights that go with them."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.field_columns import FieldPlaces
from fanweave.hw.ventaglio.groups import group_geometry, spread_elements
from fanweave.hw.ventaglio.payloads import Marker, group_layout, plan_layout

__all__ = ["Expansion"]


class Expansion(wiring.Component):
    """Gives each plan its columns, and waits for its weights.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    plans : stream in
    weights_head, weights_level, weights_take
        The aligner's buffer, in bits.
    groups : stream out
    missing_weights : Out(1)
        A group waits for them.
    length_error : Out(1)
        A row contradicts its bitmask.
    error_row : Out(24); error_element : Out(16)
        That row, and its first element without a one, or one without an element.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        level = range(2 * config.beat_bits + 1)
        super().__init__(
            {
                "plans": In(stream.Signature(plan_layout(config))),
                "weights_head": In(config.beat_bits),
                "weights_level": In(level),
                "weights_take": Out(level),
                "groups": Out(stream.Signature(group_layout(config))),
                "missing_weights": Out(1),
                "length_error": Out(1),
                "error_row": Out(24),
                "error_element": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan = self.plans.payload
        is_row = Signal()
        element_log2, _ = group_geometry(m, self.config, plan.config)
        count = Signal(range(self.config.lanes + 1))
        weight_bits = Signal.like(self.weights_level)
        passes = Signal()
        m.d.comb += [
            is_row.eq(plan.marker == Marker.ROW),
            count.eq(plan.first_count + plan.second_count),
            weight_bits.eq(count << element_log2),
            self.length_error.eq(self.plans.valid & plan.wrong),
            self.error_row.eq(plan.k[0]),
            self.error_element.eq(plan.element),
            self.missing_weights.eq(
                self.plans.valid & is_row & ~plan.wrong & (self.weights_level < weight_bits)
            ),
            passes.eq(~plan.wrong & ~self.missing_weights),
            self.groups.valid.eq(self.plans.valid & passes),
            self.plans.ready.eq(self.groups.ready & passes),
        ]
        step = self.plans.valid & self.plans.ready & is_row
        with m.If(step):
            m.d.comb += self.weights_take.eq(weight_bits)
        columns = self._columns(m, step)
        self._group(m, is_row, count, columns)
        return m

    def _columns(self, m: Module, step: Signal) -> data.View:
        config, plan = self.config, self.plans.payload
        m.submodules.fields = fields = FieldPlaces(config=config)
        by_mask = Signal()
        columns = Signal(data.ArrayLayout(unsigned(16), config.lanes))
        m.d.comb += [
            by_mask.eq(plan.config.index_mode == IndexMode.BITMASK),
            fields.operation.eq(plan.config),
            fields.head.eq(plan.indices),
            fields.padding.eq(plan.padding),
            fields.first_count.eq(plan.first_count),
            fields.second_count.eq(plan.second_count),
            fields.rows_done.eq(plan.rows_done),
            fields.step.eq(step & ~by_mask),
        ]
        for e in range(config.lanes):
            origin = Mux(e >= plan.first_count, plan.origins[1], plan.origins[0])
            m.d.comb += columns[e].eq(
                Mux(by_mask, plan.positions[e] + origin, fields.columns[e]),
            )
        return columns

    def _group(self, m: Module, is_row: Signal, count: Signal, columns: data.View) -> None:
        config, plan, group = self.config, self.plans.payload, self.groups.payload
        m.d.comb += [
            group.marker.eq(plan.marker),
            group.weights.eq(self.weights_head),
            group.k.eq(plan.k),
            group.element.eq(plan.element),
            group.first_count.eq(plan.first_count),
            group.masks.eq(plan.masks),
            group.scalars.eq(plan.scalars),
            group.config.eq(plan.config),
        ]
        second = Cat(e >= plan.first_count for e in range(config.lanes))
        valid = Cat((e < count) & is_row for e in range(config.lanes))
        spread_elements(m, config, plan.config.element, group, valid, second, columns)
