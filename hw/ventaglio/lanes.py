"""The group register and the product lanes: one output of a group a cycle."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, Opcode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.multiplier import (
    ProductNormaliser,
    SignificandMultiplier,
    raw_product_layout,
)
from fanweave.hw.reduction import choose, count_ones
from fanweave.hw.stream.queue import SkidBuffer
from fanweave.hw.ventaglio.payloads import (
    Marker,
    OperationConfig,
    entry_shape,
    group_layout,
    products_layout,
)
from fanweave.hw.ventaglio.registers import ErrorReport

__all__ = ["Lanes"]


class Lanes(wiring.Component):
    """Holds a group while it is multiplied with each output's activations.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.
    registered : bool
        Whether products pass a skid buffer behind the multiplication of the significands. Then
        ``products.valid`` comes from a register, and so does whether the group goes on.

    Members
    -------
    groups : stream in
    products : stream out
    drain_busy, drain_from, drain_to : In
        Accumulators that a drain has still to read.
    marker, marker_config : Out
        A clear or drain marker that waits; ``Marker.ROW`` when there is none.
    marker_done : In(1)
        The marker is carried out in this cycle.
    blocked : Out(1)
        The group waits for a drain.
    holds : Out(1)
        There is a group or a marker.
    skipped_products : Out
        Products left out of the group that is taken in this cycle.
    error : Out(ErrorReport)
        The first column beyond the width in the group that is taken in this cycle.
    """

    def __init__(self, *, config: VentaglioConfig, registered: bool = False) -> None:
        self.config = config
        self.registered = registered
        address = range(config.accumulators + 1)
        super().__init__(
            {
                "groups": In(stream.Signature(group_layout(config))),
                "products": Out(stream.Signature(products_layout(config))),
                "drain_busy": In(1),
                "drain_from": In(address),
                "drain_to": In(address),
                "marker": Out(Marker),
                "marker_config": Out(OperationConfig),
                "marker_done": In(1),
                "blocked": Out(1),
                "holds": Out(1),
                "skipped_products": Out(range(config.lanes * config.max_outputs + 1)),
                "error": Out(ErrorReport()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        group = Signal(group_layout(self.config))
        outputs_left = Signal(self.config.max_outputs)
        is_group = Signal()
        is_marker = Signal()
        chosen = Signal.like(outputs_left)  # one-hot
        finishing = Signal()
        taken = Signal()
        raw, kept = self._stage(m)
        m.d.comb += [
            self.holds.eq(is_group | is_marker),
            chosen.eq(outputs_left & -outputs_left),
            self.marker.eq(Mux(is_marker, group.marker, Marker.ROW)),
            self.marker_config.eq(group.config),
            raw.valid.eq(is_group & ~self.blocked),
            self.products.valid.eq(kept.valid),
            kept.ready.eq(self.products.ready),
            finishing.eq(
                ~self.holds
                | (raw.valid & raw.ready & (outputs_left == chosen))
                | (is_marker & self.marker_done)
            ),
            self.groups.ready.eq(finishing),
            taken.eq(self.groups.valid & finishing),
        ]
        incoming = self.groups.payload
        in_range, masks = self._take(m, taken)
        with m.If(raw.valid & raw.ready):
            m.d.sync += outputs_left.eq(outputs_left & ~chosen)
        with m.If(finishing):
            m.d.sync += [is_group.eq(0), is_marker.eq(0)]
        with m.If(taken):
            m.d.sync += [
                group.eq(incoming),
                group.valid.eq(in_range),
                is_group.eq(incoming.marker == Marker.ROW),
                is_marker.eq(incoming.marker != Marker.ROW),
                outputs_left.eq(masks),
            ]
        self._hold_for_drain(m, group, taken)
        self._multiply(m, group, chosen, raw.payload)
        self._normalise(m, kept.payload)
        return m

    def _stage(self, m: Module) -> tuple[stream.Interface, stream.Interface]:
        """Where products that are not normalised go in, and where they come out."""
        config = self.config
        lanes = {
            f"lane_{lane}": data.StructLayout(
                {
                    "raw": raw_product_layout(self._formats_of(lane)),
                    "entry": entry_shape(config),
                }
            )
            for lane in range(config.lanes)
        }
        passed = {
            name: member
            for name, member in products_layout(config).members.items()
            if name != "lanes"
        }
        layout = data.StructLayout({**lanes, **passed})
        if self.registered:
            m.submodules.stage = stage = SkidBuffer(shape=layout)
            return stage.i, stage.o
        through = stream.Signature(layout).create(path=("raw",))
        return through, through

    def _take(self, m: Module, taken: Signal) -> tuple[Signal, Signal]:
        """Check the columns of the incoming group and find the outputs it has work for."""
        config = self.config
        incoming = self.groups.payload
        in_range = Signal(config.lanes)
        beyond = Signal(config.lanes)
        for lane in range(config.lanes):
            fits = incoming.columns[lane] < incoming.config.width
            m.d.comb += [
                in_range[lane].eq(incoming.valid[lane] & fits),
                beyond[lane].eq(incoming.valid[lane] & ~fits),
            ]
        firsts = Signal(config.lanes)
        seconds = Signal(config.lanes)
        masks = Signal(config.max_outputs)
        m.d.comb += [
            firsts.eq(in_range & ~incoming.second),
            seconds.eq(in_range & incoming.second),
            masks.eq(
                Mux((incoming.valid & ~incoming.second).any(), incoming.masks[0], 0)
                | Mux((incoming.valid & incoming.second).any(), incoming.masks[1], 0)
            ),
        ]
        skipped = [
            count_ones(row) * (incoming.config.outputs - count_ones(incoming.masks[i]))[:4]
            for i, row in enumerate((firsts, seconds))
        ]
        with m.If(taken & (incoming.marker == Marker.ROW)):
            m.d.comb += self.skipped_products.eq(skipped[0] + skipped[1])
            self._report(m, beyond)
        return in_range, masks

    def _report(self, m: Module, beyond: Signal) -> None:
        """Name the lowest lane whose column is beyond the width."""
        config = self.config
        incoming = self.groups.payload
        for lane in reversed(range(config.lanes)):
            spread = Signal(3, name=f"spread_{lane}")  # log2 of physical lanes an element
            with m.Switch(incoming.config.element):
                for element_format in config.formats:
                    with m.Case(element_format):
                        m.d.comb += spread.eq(
                            (element_format.bits // config.element_bits - 1).bit_length()
                        )
            ordinal = Signal(range(config.lanes), name=f"ordinal_{lane}")
            m.d.comb += ordinal.eq(lane >> spread)
            with m.If(beyond[lane]):
                m.d.comb += [
                    self.error.cause.eq(ErrorCause.INDEX_RANGE),
                    self.error.row.eq(Mux(incoming.second[lane], incoming.k[1], incoming.k[0])),
                    self.error.element.eq(
                        Mux(
                            incoming.second[lane],
                            (ordinal - incoming.first_count)[: len(ordinal)],
                            incoming.element + ordinal,
                        )
                    ),
                ]

    def _hold_for_drain(self, m: Module, group: Signal, taken: Signal) -> None:
        """Block the group while a drain has still to read what it may touch."""
        address = range(self.config.accumulators + 1)
        touches_to = Signal(address)
        incoming = self.groups.payload.config
        with m.If(taken):
            m.d.sync += touches_to.eq(
                incoming.base + (incoming.outputs - 1)[:4] * incoming.stride + incoming.width
            )
        m.d.comb += self.blocked.eq(
            self.drain_busy & (group.config.base < self.drain_to) & (touches_to > self.drain_from)
        )

    def _multiply(self, m: Module, group: Signal, chosen: Signal, products: data.View) -> None:
        config = self.config
        is_integer = Signal()
        m.d.comb += [
            is_integer.eq(
                Cat(group.config.element == f for f in config.formats if f.is_integer).any()
            ),
            products.integer.eq(is_integer),
            products.multiply.eq(group.config.opcode == Opcode.MULTIPLY),
        ]
        scalars = []
        active = []
        offset = Signal(range(config.accumulators))
        m.d.comb += offset.eq(
            group.config.base
            + choose(chosen, [u * group.config.stride for u in range(config.max_outputs)])
        )
        for row in range(2):
            scalar = Signal(32, name=f"scalar_{row}")
            is_active = Signal(name=f"active_{row}")
            m.d.comb += [
                scalar.eq(
                    choose(chosen, [group.scalars[row][u] for u in range(config.max_outputs)])
                ),
                is_active.eq((group.masks[row] & chosen).any()),
            ]
            scalars.append(scalar)
            active.append(is_active)
        bank_bits = (config.banks - 1).bit_length()
        for lane in range(config.lanes):
            formats = self._formats_of(lane)
            low = lane * config.element_bits
            width = max(f.bits for f in formats)
            m.submodules[f"multiplier_{lane}"] = multiplier = SignificandMultiplier(formats=formats)
            address = Signal(range(config.accumulators), name=f"address_{lane}")
            out = products[f"lane_{lane}"]
            m.d.comb += [
                multiplier.a.eq(group.weights[low : low + width]),
                multiplier.b.eq(Mux(group.second[lane], scalars[1], scalars[0])),
                multiplier.format.eq(group.config.element),
                address.eq(offset + group.columns[lane]),
                products.valid[lane].eq(
                    group.valid[lane] & Mux(group.second[lane], active[1], active[0])
                ),
                products.banks[lane].eq(
                    address[:bank_bits] - address[bank_bits:] * config.drain_lanes
                ),
                out.entry.eq(address[bank_bits:]),
                out.raw.eq(multiplier.raw),
            ]

    def _normalise(self, m: Module, raw: data.View) -> None:
        config = self.config
        products = self.products.payload
        for lane in range(config.lanes):
            m.submodules[f"normaliser_{lane}"] = normaliser = ProductNormaliser(
                formats=self._formats_of(lane)
            )
            m.d.comb += [
                normaliser.raw.eq(raw[f"lane_{lane}"].raw),
                products.lanes[lane].product.eq(normaliser.product),
                products.lanes[lane].entry.eq(raw[f"lane_{lane}"].entry),
            ]
        for name in ("banks", "valid", "multiply", "integer"):
            m.d.comb += products[name].eq(raw[name])

    def _formats_of(self, lane: int) -> tuple[ElementFormat, ...]:
        """Formats whose elements can stand on a physical lane."""
        config = self.config
        return tuple(f for f in config.formats if lane % (f.bits // config.element_bits) == 0)
