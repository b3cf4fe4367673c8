"""Scatter window and crossbar: products find their banks, oldest first."""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.reduction import exclusive_prefix_or, or_tree, sum_tree
from fanweave.hw.ventaglio.payloads import products_layout, routed_product_layout

__all__ = ["Scatter"]


class Scatter(wiring.Component):
    """Window of ``window`` groups; each bank takes the oldest product for it.

    The window is a ring of slots. A slot frees when it is the oldest and all its products have
    left; a group enters in the same cycle or when a slot is free.

    Why no product overtakes another of the same accumulator: an accumulator lies in one bank,
    a bank takes products strictly by age and then by lane, and slots free in order.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    products : stream in
    bank_valid : Out(banks); bank_ready : In(banks); bank_products : Out(array)
        One product for each bank. Valid does not depend on ready.
    bank_multiply, bank_integer : Out(banks)
        Kind of that product.
    empty : Out(1)
    waiting : Out
        Products that an older one kept from a bank that was ready.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "products": In(stream.Signature(products_layout(config))),
                "bank_valid": Out(config.banks),
                "bank_ready": In(config.banks),
                "bank_products": Out(data.ArrayLayout(routed_product_layout(config), config.banks)),
                "bank_multiply": Out(config.banks),
                "bank_integer": Out(config.banks),
                "empty": Out(1),
                "waiting": Out(range(config.window * config.lanes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        slots = range(config.window)
        self._pending = [Signal(config.lanes, name=f"pending_{i}") for i in slots]
        self._wishes = [
            [Signal(config.banks, name=f"wish_{i}_{lane}") for lane in range(config.lanes)]
            for i in slots
        ]
        self._multiply = [Signal(name=f"multiply_{i}") for i in slots]
        self._integer = [Signal(name=f"integer_{i}") for i in slots]
        self._slot_shape = range(max(config.window, 2))  # no signal without bits
        self._oldest = Signal(self._slot_shape)
        self._next = Signal(self._slot_shape)  # the slot that is filled next
        self._count = count = Signal(range(config.window + 1))

        leaving, grants = self._arbitrate(m)
        self._route(m, grants)
        left = [pending & ~leaving[i] for i, pending in enumerate(self._pending)]
        frees = Signal()
        accepted = Signal()
        m.d.comb += [
            frees.eq((count != 0) & (Array(left)[self._oldest] == 0)),
            self.products.ready.eq(frees | (count != config.window)),
            accepted.eq(self.products.valid & self.products.ready),
            self.empty.eq(~Cat(self._pending).any()),
        ]
        m.d.sync += [
            count.eq(count + accepted - frees),
            self._oldest.eq(self._wrap(self._oldest + frees)),
            self._next.eq(self._wrap(self._next + accepted)),
        ]
        self._fill(m, left, accepted)
        return m

    def _wrap(self, number: Value) -> Value:
        """Number of a slot, counted round the ring."""
        return number & (self.config.window - 1)

    def _fill(self, m: Module, left: list, accepted: Signal) -> None:
        """Drop what leaves, and write an accepted group into its slot."""
        config = self.config
        products = self.products.payload
        for i, pending in enumerate(self._pending):
            with m.If(accepted & (self._next == i)):
                m.d.sync += [
                    pending.eq(products.valid),
                    self._multiply[i].eq(products.multiply),
                    self._integer[i].eq(products.integer),
                ]
                # Kept one-hot: the arbiter needs it in this form.
                for lane, wish in enumerate(self._wishes[i]):
                    m.d.sync += wish.eq(1 << products.banks[lane])
            with m.Else():
                m.d.sync += pending.eq(left[i])

        # One memory for all slots: a bank's multiplexer is one read port.
        m.submodules.storage = self._storage = Memory(
            shape=routed_product_layout(config), depth=config.window * config.lanes, init=[]
        )
        for lane in range(config.lanes):
            write = self._storage.write_port()
            m.d.comb += [
                write.addr.eq(self._next * config.lanes + lane),
                write.data.eq(products.lanes[lane]),
                write.en.eq(accepted),
            ]
        for bank, (winner, slot) in enumerate(self._winners):
            read = self._storage.read_port(domain="comb")
            m.d.comb += [
                read.addr.eq(winner),
                self.bank_products[bank].eq(read.data),
                self.bank_multiply[bank].eq(Array(self._multiply)[slot]),
                self.bank_integer[bank].eq(Array(self._integer)[slot]),
            ]

    def _arbitrate(self, m: Module) -> tuple[list[Signal], list[Signal]]:
        """Give each bank its oldest product.

        Returns the lanes that leave, by slot, and the one-hot bank granted to each position;
        positions go from the oldest group's lowest lane to the youngest group's highest.
        """
        config = self.config
        wishes = []
        for age in range(config.window):
            slot = Signal(self._slot_shape, name=f"slot_of_age_{age}")
            m.d.comb += slot.eq(self._wrap(self._oldest + age))
            pending = Array(self._pending)[slot]
            for lane in range(config.lanes):
                wish = Signal(config.banks, name=f"aged_wish_{age}_{lane}")
                one_hot = Array(self._wishes[i][lane] for i in range(config.window))[slot]
                m.d.comb += wish.eq(Mux(pending[lane], one_hot, 0))
                wishes.append(wish)
        before = exclusive_prefix_or(m, wishes)
        aged_leaving = [
            Signal(config.lanes, name=f"leaving_of_age_{age}") for age in range(config.window)
        ]
        grants = []
        kept_back = []
        for position, wish in enumerate(wishes):
            age, lane = divmod(position, config.lanes)
            grant = Signal(config.banks, name=f"grant_{age}_{lane}")
            m.d.comb += [
                grant.eq(wish & ~before[position]),
                aged_leaving[age][lane].eq((grant & self.bank_ready).any()),
            ]
            grants.append(grant)
            kept_back.append((wish & before[position] & self.bank_ready).any())
        m.d.comb += [
            self.bank_valid.eq(or_tree(wishes)),
            self.waiting.eq(sum_tree(kept_back)),
        ]
        leaving = []
        for i in range(config.window):
            lanes = Signal(config.lanes, name=f"leaving_{i}")
            age = Signal(self._slot_shape, name=f"age_{i}")
            m.d.comb += [age.eq(self._wrap(i - self._oldest)), lanes.eq(Array(aged_leaving)[age])]
            leaving.append(lanes)
        return leaving, grants

    def _route(self, m: Module, grants: list[Signal]) -> None:
        """Turn grants into the storage address that each bank reads.

        The number of the winning position is formed bit plane by bit plane over all banks, so
        a bank needs one multiplexer and no AND-OR tree of its own.
        """
        config = self.config
        planes = []
        for bit in range((len(grants) - 1).bit_length()):
            plane = Signal(config.banks, name=f"winner_bit_{bit}")
            m.d.comb += plane.eq(or_tree([g for i, g in enumerate(grants) if i >> bit & 1]))
            planes.append(plane)
        lane_bits = (config.lanes - 1).bit_length()
        self._winners = []
        for bank in range(config.banks):
            winner = Signal(len(planes), name=f"winner_{bank}")
            slot = Signal(self._slot_shape, name=f"winner_slot_{bank}")
            position = Cat(plane[bank] for plane in planes)
            m.d.comb += [
                slot.eq(self._wrap(position[lane_bits:] + self._oldest)),
                winner.eq(Cat(position[:lane_bits], slot)),
            ]
            self._winners.append((winner, slot))
