"""Scatter window and crossbar: products find their banks, oldest first."""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.product import Product
from fanweave.hw.reduction import exclusive_prefix_or, or_tree, sum_tree
from fanweave.hw.ventaglio.payloads import products_layout

__all__ = ["Scatter", "bank_input_layout"]


def bank_input_layout(config: VentaglioConfig) -> data.StructLayout:
    """A product on its way into a bank."""
    return data.StructLayout(
        {"entry": range(config.entries), "product": Product, "multiply": 1, "integer": 1}
    )


class Scatter(wiring.Component):
    """Window of ``window`` groups; each bank takes the oldest product for it.

    Why no product overtakes another of the same accumulator: an accumulator lies in one bank,
    and a bank takes products strictly by age, then by lane. Older groups stand in lower slots,
    a group enters behind all others, and slots move only together.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    products : stream in
    bank_valid : Out(banks); bank_ready : In(banks); bank_payload : Out(array)
        One product for each bank. Valid does not depend on ready.
    empty : Out(1)
    waiting : Out
        Products that another of the same bank kept from a bank that was ready.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "products": In(stream.Signature(products_layout(config))),
                "bank_valid": Out(config.banks),
                "bank_ready": In(config.banks),
                "bank_payload": Out(data.ArrayLayout(bank_input_layout(config), config.banks)),
                "empty": Out(1),
                "waiting": Out(range(config.window * config.lanes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        slots = [Signal(products_layout(config), name=f"slot_{i}") for i in range(config.window)]
        granted = self._arbitrate(m, slots)
        left = []
        for i, slot in enumerate(slots):
            pending = Signal(config.lanes, name=f"left_{i}")
            m.d.comb += pending.eq(slot.valid & ~granted[i])
            left.append(pending)

        shift = Signal()
        m.d.comb += [
            shift.eq(left[0] == 0),
            self.products.ready.eq(shift | (left[-1] == 0)),
            self.empty.eq(~Cat(slot.valid.any() for slot in slots).any()),
        ]
        self._move(m, slots, left, shift)
        return m

    def _arbitrate(self, m: Module, slots: list) -> list[Signal]:
        """Give each bank its oldest product; returns the lanes that leave, by slot."""
        config = self.config
        wishes = []  # one-hot bank of each pending product, oldest first
        for i, slot in enumerate(slots):
            for lane in range(config.lanes):
                wish = Signal(config.banks, name=f"wish_{i}_{lane}")
                m.d.comb += wish.eq(Mux(slot.valid[lane], 1 << slot.lanes[lane].bank, 0))
                wishes.append(wish)
        seen = exclusive_prefix_or(m, wishes)
        granted = [Signal(config.lanes, name=f"granted_{i}") for i in range(config.window)]
        grants = []
        blocked = []
        for position, wish in enumerate(wishes):
            i, lane = divmod(position, config.lanes)
            grant = Signal(config.banks, name=f"grant_{i}_{lane}")
            m.d.comb += [
                grant.eq(wish & ~seen[position]),
                granted[i][lane].eq((grant & self.bank_ready).any()),
            ]
            grants.append(grant)
            blocked.append((wish & seen[position] & self.bank_ready).any())
        m.d.comb += [
            self.bank_valid.eq(or_tree(wishes)),
            self.waiting.eq(sum_tree(blocked)),
        ]
        self._select(m, slots, grants)
        return granted

    def _select(self, m: Module, slots: list, grants: list[Signal]) -> None:
        """Route the granted product to each bank.

        The grants are turned into the number of the winning position, bit plane by bit plane,
        so that each bank needs one multiplexer and no AND-OR tree.
        """
        config = self.config
        positions = [slot.lanes[lane] for slot in slots for lane in range(config.lanes)]
        number_bits = (len(grants) - 1).bit_length()
        planes = []
        for bit in range(number_bits):
            plane = Signal(config.banks, name=f"winner_bit_{bit}")
            chosen = [grant for i, grant in enumerate(grants) if i >> bit & 1]
            m.d.comb += plane.eq(or_tree(chosen))
            planes.append(plane)
        flat = Array(Cat(p.entry, p.product) for p in positions)
        multiply = Array(slot.multiply for slot in slots)
        integer = Array(slot.integer for slot in slots)
        slot_low = (config.lanes - 1).bit_length()
        for bank in range(config.banks):
            winner = Signal(number_bits, name=f"winner_{bank}")
            slot_number = winner[slot_low:] if config.window > 1 else 0
            out = self.bank_payload[bank]
            m.d.comb += [
                winner.eq(Cat(plane[bank] for plane in planes)),
                Cat(out.entry, out.product).eq(flat[winner]),
                out.multiply.eq(multiply[slot_number]),
                out.integer.eq(integer[slot_number]),
            ]

    def _move(self, m: Module, slots: list, left: list[Signal], shift: Signal) -> None:
        """Shift by one slot when the oldest is done, and put the new group behind the last."""
        accepted = Signal()
        m.d.comb += accepted.eq(self.products.valid & self.products.ready)
        above_empty: Value = Const(1, 1)
        for i in reversed(range(len(slots))):
            following = left[i + 1] if i + 1 < len(slots) else 0
            stays = Signal(self.config.lanes, name=f"stays_{i}")
            m.d.comb += stays.eq(Mux(shift, following, left[i]))
            below = self._stays_below(left, shift, i)
            here_empty = stays == 0
            enters = Signal(name=f"enters_{i}")
            m.d.comb += enters.eq(accepted & here_empty & above_empty & below)
            with m.If(enters):
                m.d.sync += slots[i].eq(self.products.payload)
            with m.Else():
                if i + 1 < len(slots):
                    with m.If(shift):
                        m.d.sync += slots[i].eq(slots[i + 1])
                m.d.sync += slots[i].valid.eq(stays)
            above_empty = above_empty & here_empty

    def _stays_below(self, left: list[Signal], shift: Signal, i: int) -> Value:
        """Whether the slot below keeps products, so that slot i is the first free one."""
        if i == 0:
            return Value.cast(1)
        return Mux(shift, left[i], left[i - 1]) != 0
