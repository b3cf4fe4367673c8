"""Plans groups: which elements go through the lanes next, and where their columns stand."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.field_columns import FieldExtent
from fanweave.hw.ventaglio.groups import group_geometry
from fanweave.hw.ventaglio.mask_columns import MaskColumns
from fanweave.hw.ventaglio.payloads import (
    Marker,
    OperationConfig,
    described_row_layout,
    plan_layout,
)

__all__ = ["Planner"]


class Planner(wiring.Component):
    """One group a cycle, from the row at the head of the queue and the one behind it.

    A row that contradicts its bitmask becomes a plan as well, so that it is reported behind
    what is wrong with the groups before it; no other follows until the unit is reset.

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
    indices_head, indices_level, indices_take
        The aligner's buffer, in bits.
    plans : stream out
        Into a queue, whose ready does not depend on valid.
    end_done : Out(1)
        An end marker was passed.
    missing_indices : Out(1)
        A group waits for them.
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
                "indices_head": In(2 * config.beat_bits),
                "indices_level": In(level),
                "indices_take": Out(level),
                "plans": Out(stream.Signature(plan_layout(config))),
                "end_done": Out(1),
                "missing_indices": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.fields = self._fields = fields = FieldExtent(config=config)
        m.submodules.mask = self._mask = mask = MaskColumns(config=config)

        _, lanes = group_geometry(m, config, self.operation)
        done = Signal(16)  # elements of the first row that were taken
        first_left = Signal(16)
        second_usable = Signal()
        is_row = Signal()
        is_marker = Signal()
        by_mask = Signal()
        m.d.comb += [
            is_marker.eq(self.first_valid & (self.first.marker != Marker.ROW)),
            is_row.eq(self.first_valid & (self.first.marker == Marker.ROW)),
            first_left.eq(self.first.nnz - done),
            second_usable.eq(self.second_valid & (self.second.marker == Marker.ROW)),
            by_mask.eq(self.operation.index_mode == IndexMode.BITMASK),
        ]
        for extent in (fields, mask):
            m.d.comb += [
                extent.operation.eq(self.operation),
                extent.lanes.eq(lanes),
                extent.first_left.eq(first_left),
                extent.second_valid.eq(second_usable),
                extent.second_left.eq(Mux(second_usable, self.second.nnz, 0)),
            ]
        first_count = Signal(range(config.lanes + 1))
        second_count = Signal(range(config.lanes + 1))
        index_needed = Signal.like(self.indices_level)
        m.d.comb += [
            mask.head.eq(self.indices_head),
            mask.level.eq(self.indices_level),
            mask.at_end.eq(is_marker & by_mask),
            first_count.eq(Mux(by_mask, mask.first_count, fields.first_count)),
            second_count.eq(Mux(by_mask, mask.second_count, fields.second_count)),
            index_needed.eq(Mux(by_mask, mask.needed, fields.needed)),
            # A bitmask's count stands only once the bits are there.
            self.missing_indices.eq(is_row & (self.indices_level < index_needed)),
        ]
        go = Signal()
        step = Signal()
        rows_done = Signal(2)
        wrong = Signal()  # the row contradicts its bitmask
        failed = Signal()  # that was so in a cycle before
        first_done = first_count == first_left
        second_done = first_done & second_usable & (second_count == self.second.nnz)
        m.d.comb += [
            go.eq(is_row & ~self.missing_indices & ~failed),
            # Not even a group of no elements goes on without a place: what counts the ones
            # would lead to what takes them.
            step.eq(go & self.plans.ready),
            mask.step.eq(step & by_mask),
            fields.step.eq(step & ~by_mask),
            rows_done.eq(first_done + second_done),
            mask.rows_done.eq(rows_done),
            fields.rows_done.eq(rows_done),
        ]
        with m.If(step):
            m.d.comb += [
                self.indices_take.eq(Mux(by_mask, mask.consumed, fields.needed)),
                self.pop.eq(rows_done),
            ]
            with m.Switch(rows_done):
                with m.Case(0):
                    m.d.sync += done.eq(done + first_count)
                with m.Case(1):
                    m.d.sync += done.eq(second_count)
                with m.Default():
                    m.d.sync += done.eq(0)
        self._markers(m, is_marker, wrong, failed)
        self._plan(m, first_count, second_count, done, rows_done)
        self._check_length(m, is_row, done, first_left, wrong)
        # A group without elements needs no lanes.
        has_elements = (first_count != 0) | (second_count != 0)
        with m.If(is_row):
            m.d.comb += self.plans.valid.eq(go & (has_elements | wrong))
        with m.If(self.plans.valid & self.plans.ready & wrong):
            m.d.sync += failed.eq(1)
        return m

    def _plan(
        self, m: Module, first_count: Signal, second_count: Signal, done: Signal, rows_done: Signal
    ) -> None:
        """What goes through the lanes next."""
        plan, fields, mask = self.plans.payload, self._fields, self._mask
        m.d.comb += [
            plan.marker.eq(self.first.marker),
            plan.first_count.eq(first_count),
            plan.second_count.eq(second_count),
            plan.rows_done.eq(rows_done),
            plan.indices.eq(self.indices_head),
            plan.padding.eq(fields.padding),
            plan.positions.eq(mask.positions),
            plan.origins.eq(mask.origins),
            plan.k[0].eq(self.first.k),
            plan.k[1].eq(self.second.k),
            plan.element.eq(done),
            plan.masks[0].eq(self.first.mask),
            plan.masks[1].eq(self.second.mask),
            plan.scalars[0].eq(self.first.scalars),
            plan.scalars[1].eq(self.second.scalars),
            plan.config.eq(self.operation),
        ]

    def _check_length(
        self, m: Module, is_row: Signal, done: Signal, first_left: Signal, wrong: Signal
    ) -> None:
        """Find the earliest row whose elements and ones contradict each other.

        The plan names it by its k, with its first element without a one, or one without an
        element.
        """
        mask, plan = self._mask, self.plans.payload
        finished_row = Signal(24)  # the row that was finished last, and its elements
        finished_nnz = Signal(16)
        with m.If(is_row & (self.pop == 2)):
            m.d.sync += [finished_row.eq(self.second.k), finished_nnz.eq(self.second.nnz)]
        with m.Elif(is_row & (self.pop == 1)):
            m.d.sync += [finished_row.eq(self.first.k), finished_nnz.eq(self.first.nnz)]

        checked = Signal()
        by_mask = self.operation.index_mode == IndexMode.BITMASK
        m.d.comb += [
            checked.eq((mask.at_end | (is_row & ~self.missing_indices)) & by_mask),
            plan.wrong.eq(wrong),
        ]
        with m.If(checked):
            with m.If(mask.wrong_before):
                m.d.comb += [
                    wrong.eq(1),
                    plan.k[0].eq(finished_row),
                    plan.element.eq(finished_nnz),
                ]
            with m.Elif(is_row & mask.wrong_first):
                m.d.comb += [
                    wrong.eq(1),
                    plan.element.eq(
                        done + Mux(mask.first_count < first_left, mask.first_count, first_left)
                    ),
                ]
            with m.Elif(is_row & mask.wrong_second):
                m.d.comb += [
                    wrong.eq(1),
                    plan.k[0].eq(self.second.k),
                    plan.element.eq(self.second.nnz),
                ]

    def _markers(self, m: Module, is_marker: Signal, wrong: Value, failed: Value) -> None:
        """Clears and drains become plans as rows do; a plain end goes no further.

        Before it passes, what is left of the last row's mask is taken, so that the next
        operation begins with the beats that were sent for it.
        """
        mask, fields = self._mask, self._fields
        may_pass = Signal()
        passes_plan = Signal()
        m.d.comb += [
            may_pass.eq(is_marker & ~failed & ~(mask.at_end & (mask.leftover | wrong))),
            passes_plan.eq(may_pass & (self.first.marker != Marker.END)),
            self.end_done.eq(may_pass & (self.plans.ready | ~passes_plan)),
            mask.reset.eq(self.end_done),
            fields.reset.eq(self.end_done),
        ]
        with m.If(is_marker):
            m.d.comb += self.plans.valid.eq(passes_plan | (mask.at_end & wrong & ~failed))
        with m.If(mask.at_end & ~wrong & ~failed):
            m.d.comb += self.indices_take.eq(mask.consumed)
        with m.If(self.end_done):
            m.d.comb += self.pop.eq(1)
