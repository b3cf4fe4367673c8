"""The memory unit's way to vector registers, or to Ventaglio's accumulators."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port, write_port

__all__ = ["BankSwitch"]


class BankSwitch(wiring.Component):
    """Combinational but for where the last word came from.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    data : read port; write : write port, from the other side
    reads_bank, writes_bank : In(1)
        Where the word at the port's address is.
    register_data, bank_data : read ports; register_write, bank_write : write ports
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "data": In(read_port(config)),
                "write": In(write_port(config)),
                "reads_bank": In(1),
                "writes_bank": In(1),
                "register_data": Out(read_port(config)),
                "bank_data": Out(read_port(config)),
                "register_write": Out(write_port(config)),
                "bank_write": Out(write_port(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        from_bank = Signal()
        for port, registers, bank, chosen in (
            (self.data, self.register_data, self.bank_data, self.reads_bank),
            (self.write, self.register_write, self.bank_write, self.writes_bank),
        ):
            m.d.comb += [
                registers.valid.eq(port.valid & ~chosen),
                bank.valid.eq(port.valid & chosen),
                port.ready.eq(Mux(chosen, bank.ready, registers.ready)),
                registers.address.eq(port.address),
                bank.address.eq(port.address),
            ]
        for target in (self.register_write, self.bank_write):
            m.d.comb += [target.value.eq(self.write.value), target.enable.eq(self.write.enable)]
        with m.If(self.data.valid & self.data.ready):
            m.d.sync += from_bank.eq(self.reads_bank)
        m.d.comb += self.data.value.eq(
            Mux(from_bank, self.bank_data.value, self.register_data.value)
        )
        return m
