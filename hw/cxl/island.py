"""A switch island: the switch, and the policy engine that judges its messages."""

from amaranth import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.isa.cxl_island import FIRST_ADDRESS
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.hw.cxl.engine_adapter import EngineAdapter
from fanweave.hw.cxl.payloads import Decided, Moving, PolicyEvent, PolicyVerdict
from fanweave.hw.cxl.switch import Switch
from fanweave.hw.cxl.verdict_memory import VerdictMemory
from fanweave.hw.ebpf.host_port import ADDRESS_BITS, BUS_PREFIX
from fanweave.hw.ebpf.policy_engine import PolicyEngine
from fanweave.hw.stream.axi_lite import axi_lite_members

__all__ = ["Island", "observed_layout"]

#: Members of the switch that the island keeps to itself.
_INSIDE = ("events", "verdicts", "levels", "decisions", "moving", "dead")


def observed_layout(config: IslandConfig) -> data.StructLayout:
    """What an island shows of a cycle: an event that the engine gets, a verdict that the switch
    gets, requests that leave their entries with one or without, steps of moves and dead ports.
    """
    return data.StructLayout(
        {
            "event_valid": 1,
            "event": PolicyEvent,
            "verdict_valid": 1,
            "verdict": PolicyVerdict,
            "decisions": data.ArrayLayout(Decided, 2 * config.switch.upstream),
            "moving": Moving,
            "dead": config.switch.ports,
        }
    )


class Island(wiring.Component):
    """Messages through the switch, programs and maps over AXI4-Lite.

    Parameters
    ----------
    config : IslandConfig

    Members
    -------
    host{n}_*, device{n}_*, commands, read_address, read_data
        As of `Switch`.
    s_axil_*
        As of `PolicyEngine`.
    busy : Out(1)
        The engine handles an event.
    observed : Out
        See `observed_layout`.
    """

    def __init__(self, *, config: IslandConfig) -> None:
        self.config = config
        self._switch = Switch(config=config.switch)
        members = {
            name: member
            for name, member in self._switch.signature.members.items()
            if name not in _INSIDE
        }
        self._shared = tuple(members)
        super().__init__(
            {
                **members,
                "busy": Out(1),
                "observed": Out(observed_layout(config)),
                **axi_lite_members(ADDRESS_BITS, prefix=BUS_PREFIX),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.switch = switch = self._switch
        m.submodules.engine = engine = PolicyEngine(config=self.config.engine)
        m.submodules.adapter = adapter = EngineAdapter(
            engines=self.config.engine.engines, clock_ns=self.config.switch.clock_ns
        )
        m.submodules.verdicts = memory = VerdictMemory(config=self.config)
        for name in self._shared:
            if name != "read_data":
                self._share(m, name, switch)
        for name in axi_lite_members(ADDRESS_BITS, prefix=BUS_PREFIX):
            self._share(m, name, engine)
        m.d.comb += [
            self.busy.eq(engine.busy),
            self.observed.event_valid.eq(switch.events.valid & switch.events.ready),
            self.observed.event.eq(switch.events.payload),
            self.observed.verdict_valid.eq(switch.verdicts.valid & switch.verdicts.ready),
            self.observed.verdict.eq(switch.verdicts.payload),
            self.observed.decisions.eq(switch.decisions),
            self.observed.moving.eq(switch.moving),
            self.observed.dead.eq(switch.dead),
        ]
        m.d.comb += [
            memory.write.eq(self.commands.valid & self.commands.ready),
            memory.command.eq(self.commands.payload),
            memory.touched.eq(self.s_axil_awvalid & self.s_axil_awready),
            memory.moved.eq(switch.moving.step != MoveStep.NONE),
            memory.levels.eq(switch.levels),
            memory.read_address.eq(self.read_address),
            self.read_data.eq(
                Mux(self.read_address >= FIRST_ADDRESS, memory.read_data, switch.read_data)
            ),
            adapter.set_time.eq(memory.set_time),
            adapter.new_time.eq(memory.new_time),
        ]
        wiring.connect(m, switch.events, memory.policy_events)
        wiring.connect(m, memory.policy_verdicts, switch.verdicts)
        wiring.connect(m, memory.events, adapter.policy_events)
        wiring.connect(m, adapter.policy_verdicts, memory.verdicts)
        for number in range(self.config.engine.engines):
            wiring.connect(m, adapter.events[number], engine.events[number])
            wiring.connect(m, adapter.contexts[number], engine.contexts[number])
            wiring.connect(m, engine.verdicts[number], adapter.verdicts[number])
        return m

    def _share(self, m: Module, name: str, part: wiring.Component) -> None:
        """A member of the island is that of its part."""
        member = self.signature.members[name]
        ours, theirs = getattr(self, name), getattr(part, name)
        if member.is_signature:
            wiring.connect(m, wiring.flipped(ours), theirs)
        elif member.flow is In:
            m.d.comb += theirs.eq(ours)
        else:
            m.d.comb += ours.eq(theirs)
