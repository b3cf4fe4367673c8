"""Forms groups: which elements go through the lanes next, and the columns that they name."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.stream.queue import SkidBuffer
from fanweave.hw.ventaglio.expansion import Expansion
from fanweave.hw.ventaglio.payloads import plan_layout
from fanweave.hw.ventaglio.planner import Planner

__all__ = ["Decoder"]


class Decoder(wiring.Component):
    """One group a cycle: planned in the first, expanded in the next or later.

    Two plans fit between both, so neither what the lanes take nor the weights that have arrived
    decide in the same cycle on the indices that are taken.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    Those of `Planner` but the plans, those of `Expansion` but the plans, and:
    holds : Out(1)
        There are plans whose groups have not been taken.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        self._planner = Planner(config=config)
        self._expansion = Expansion(config=config)
        members = {
            name: member
            for block in (self._planner, self._expansion)
            for name, member in block.signature.members.items()
            if name != "plans"
        }
        super().__init__({**members, "holds": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.planner = planner = self._planner
        m.submodules.expansion = expansion = self._expansion
        m.submodules.plans = plans = SkidBuffer(shape=plan_layout(self.config))
        wiring.connect(m, planner.plans, plans.i)
        wiring.connect(m, plans.o, expansion.plans)
        wiring.connect(m, expansion.groups, wiring.flipped(self.groups))
        for block in (planner, expansion):
            for name, member in block.signature.members.items():
                if name in ("plans", "groups"):
                    continue
                inner, outer = getattr(block, name), getattr(self, name)
                m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        m.d.comb += self.holds.eq(plans.o.valid)
        return m
