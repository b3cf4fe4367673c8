"""Ventaglio's accumulators: banks that products reach, and words that loads and stores move."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.reduction import or_tree
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port, write_port
from fanweave.hw.vector.ventaglio_payloads import parameters
from fanweave.hw.ventaglio.bank import Bank
from fanweave.hw.ventaglio.payloads import entry_shape
from fanweave.hw.ventaglio.scatter import Scatter

__all__ = ["AccumulatorBank"]


class AccumulatorBank(wiring.Component):
    """All accumulators in banks, behind the scatter window that brings products to them.

    A word is as many neighbouring accumulators as a word of the register file has room for.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    products : stream in of products, as `Scatter` has it
    clear : In(1)
        All accumulators become 0; only while settled.
    granted : In(1)
        Words may be read and written; only while settled.
    read : read port; write : write port, from the bank's side
        A word's number is its address.
    settled : Out(1)
        No product waits or is being added.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        self._parameters = parameters(config)
        self._scatter = Scatter(config=self._parameters)
        super().__init__(
            {
                "products": Out(self._scatter.products.signature),
                "clear": In(1),
                "granted": In(1),
                "read": In(read_port(config)),
                "write": In(write_port(config)),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._parameters
        m.submodules.scatter = scatter = self._scatter
        wiring.connect(m, wiring.flipped(self.products), scatter.products)
        banks = []
        for i in range(config.banks):
            m.submodules[f"bank_{i}"] = bank = Bank(config=config, writable=True)
            banks.append(bank)
            m.d.comb += [
                bank.valid.eq(scatter.bank_valid[i]),
                bank.product.eq(scatter.bank_products[i]),
                bank.multiply.eq(scatter.bank_multiply[i]),
                bank.integer.eq(scatter.bank_integer[i]),
                scatter.bank_ready[i].eq(bank.ready),
                bank.clear.eq(self.clear),
            ]
        m.d.comb += self.settled.eq(scatter.empty & Cat(bank.idle for bank in banks).all())
        self._move(m, banks)
        return m

    def _move(self, m: Module, banks: list[Bank]) -> None:
        """Neighbours in a word stand in neighbouring banks, at one entry."""
        config, lanes = self._parameters, self._parameters.drain_lanes
        groups = config.banks // lanes
        group_bits = (groups - 1).bit_length()
        address, entry = Signal.like(self.read.address), Signal(entry_shape(config))
        group = Signal(range(max(groups, 2)))
        m.d.comb += [
            self.read.ready.eq(self.granted),
            self.write.ready.eq(self.granted),
            address.eq(self.read.address),
            entry.eq(address >> group_bits),
            # `VentaglioConfig.bank_of` turns each further entry by one group.
            group.eq((address - entry) & (groups - 1)),
        ]
        with m.If(self.write.valid):
            m.d.comb += address.eq(self.write.address)
        for number, bank in enumerate(banks):
            lane = number % lanes
            m.d.comb += [
                bank.read_entry.eq(entry),
                bank.write_data.eq(self.write.value[32 * lane : 32 * lane + 32]),
                bank.write.eq(
                    self.write.valid
                    & self.granted
                    & self.write.enable[4 * lane]
                    & (group == number // lanes)
                ),
            ]
        words = [
            Cat(bank.read_data for bank in banks[at : at + lanes])
            & (group == at // lanes).replicate(32 * lanes)
            for at in range(0, config.banks, lanes)
        ]
        with m.If(self.read.valid & self.granted):
            m.d.sync += self.read.value.eq(or_tree(words))
