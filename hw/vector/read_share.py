"""One read port of the register file for two readers."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port

__all__ = ["ReadShare"]


class ReadShare(wiring.Component):
    """The first goes before the second; what it read stays there until its next read.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    kept, passing : read ports, from the port's side
        A value for ``passing`` is there in its first cycle only.
    port : read port
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "kept": In(read_port(config)),
                "passing": In(read_port(config)),
                "port": Out(read_port(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fresh, held = Signal(), Signal(self.config.word_bits)
        kept, passing, port = self.kept, self.passing, self.port
        m.d.comb += [
            port.valid.eq(kept.valid | passing.valid),
            port.address.eq(Mux(kept.valid, kept.address, passing.address)),
            kept.ready.eq(port.ready),
            passing.ready.eq(port.ready & ~kept.valid),
            kept.value.eq(Mux(fresh, port.value, held)),
            passing.value.eq(port.value),
        ]
        m.d.sync += fresh.eq(kept.valid & port.ready)
        with m.If(fresh):
            m.d.sync += held.eq(port.value)
        return m
