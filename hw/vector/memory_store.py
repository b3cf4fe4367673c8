"""What a step of a store brings to each port of memory."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_load import rotated
from fanweave.hw.vector.memory_payloads import memory_step

__all__ = ["StoreData"]


class StoreData(wiring.Component):
    """Words of the register file, with their bytes where memory has them.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    step : In of `memory_step`
        With the addresses of its elements, indices included.
    value : In(word_bits)
        The register's word, if the step takes one in.
    moved : In(1)
        The step is over.
    data : Out of lanes * 64 bits; masks : Out of lanes * 8 bits
        For each port; a mask of zero if there is nothing for it.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "step": In(memory_step(config)),
                "value": In(config.word_bits),
                "moved": In(1),
                "data": Out(data.ArrayLayout(unsigned(64), config.lanes)),
                "masks": Out(data.ArrayLayout(unsigned(8), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.step.blocks):
            self._blocks(m)
        with m.Else():
            self._elements(m)
        return m

    def _blocks(self, m: Module) -> None:
        """Each active byte goes up, or into the block behind; see `LoadPath`."""
        step, width = self.step, self.config.word_bytes
        turned, before = Signal(8 * width), Signal(8 * width)
        active, active_before = Signal(width), Signal(width)
        m.d.comb += [
            turned.eq(rotated(self.value, step.rotate, 8)),
            active.eq(rotated(Mux(step.source, step.enable, 0), step.rotate, 1)),
        ]
        with m.If(self.moved):
            m.d.sync += [before.eq(turned), active_before.eq(active)]
        masks, block = self.masks.as_value(), self.data.as_value()
        for place in range(width):
            part = slice(8 * place, 8 * place + 8)
            here = step.rotate <= place
            m.d.comb += [
                block[part].eq(Mux(here, turned[part], before[part])),
                masks[place].eq(Mux(here, active[place], active_before[place] & ~step.first)),
            ]

    def _elements(self, m: Module) -> None:
        """An element of the chunk for each lane."""
        step, lanes = self.step, self.config.lanes
        with m.Switch(step.size):
            for size in range(3):
                with m.Case(size):
                    bits = 8 << size
                    chunk = Signal(lanes * bits, name=f"chunk_{bits}")
                    m.d.comb += chunk.eq(self.value >> (step.place << 3))
                    for lane in range(lanes):
                        element = chunk.word_select(lane, bits)
                        mask = ((1 << (1 << size)) - 1) << step.addresses[lane][:3]
                        m.d.comb += [
                            self.data[lane].eq(Cat(element).replicate(8 >> size)),
                            self.masks[lane].eq(Mux(step.lanes[lane], mask, 0)),
                        ]
