"""Cycles of a page's move, and what it costs its host and others, in Verilator."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import message
from fanweave.golden.isa.cxl_event import Channel, ReqOpcode
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import PAGE_BYTES, MoveStep
from fanweave.sim.benches.cxl.records import Moved, Planned, Record, Took
from fanweave.sim.benches.cxl.soak import check
from fanweave.sim.benches.cxl.traffic import SETUP_CYCLES, flood, matching, ranges
from fanweave.sim.benches.cxl.verilated import Devices, Traffic

__all__ = ["MoveCycles", "idle_moves", "moves_under_load"]

_LINES = PAGE_BYTES // LINE_BYTES
_ENDS = (MoveStep.END, MoveStep.HOME)
#: A page is moved long before the next one shall.
_APART = 2000
#: The first messages find empty queues.
_RAMP = 100


@dataclass
class MoveCycles:
    """Moves that were seen.

    Attributes
    ----------
    whole, held : list of int
        Cycles of each whole move, and those in which some of its lines were held.
    rates : list of float
        Messages a cycle that each host got rid of.
    """

    whole: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records, looked at on their way."""
        began = hold = held = 0
        for record in records:
            if isinstance(record.what, Moved):
                step = record.what.step
                if step is MoveStep.BEGIN:
                    began, held = record.cycle, 0
                elif step is MoveStep.HOLD:
                    hold = record.cycle
                elif step is MoveStep.FLIP:
                    held += record.cycle - hold
                elif step in _ENDS:
                    self.whole.append(record.cycle - began)
                    self.held.append(held)
            yield record


def idle_moves(config: SwitchConfig, *, moves: int, seed: int) -> MoveCycles:
    """A read now and then, each of which asks to move its page, and nothing else."""
    read = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=8 * _LINES)
    plan = [
        *ranges(config, timeout=1000),
        *matching(config, skip=0),
        *(Planned(cycle=SETUP_CYCLES + n * _APART, port=0, sent=read) for n in range(moves)),
        # Keeps the run alive until the last move is over.
        Planned(cycle=SETUP_CYCLES + moves * _APART, port=0, sent=read.changed(address=_LINES)),
    ]
    found = MoveCycles()
    devices = Devices(delay=(5, 5), promote=1.0)
    with Traffic(config) as simulation:
        limit = SETUP_CYCLES + (moves + 2) * _APART
        records = simulation.play(plan, limit=limit, seed=seed, devices=devices)
        check(config, found.through(records), devices)
    return found


def moves_under_load(config: SwitchConfig, *, messages: int, skip: int, seed: int) -> MoveCycles:
    """All hosts read as fast as it goes; of host 0, one read of ``skip + 1`` moves its page."""
    plan = [
        *flood(config, channel=Channel.M2S_REQ, messages=messages, seed=seed),
        *matching(config, skip=skip, hosts=1),
    ]
    plan.sort(key=lambda planned: planned.cycle)
    found, devices = MoveCycles(), Devices(delay=(1, 10), promote=1.0)
    taken: list[list[int]] = [[] for _ in range(config.upstream)]

    def count(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            match record.what:
                case Took(port, sent) if sent.channel is Channel.M2S_REQ:
                    taken[port].append(record.cycle)
            yield record

    with Traffic(config) as simulation:
        limit = SETUP_CYCLES + 20 * messages
        records = simulation.play(plan, limit=limit, seed=seed, devices=devices)
        check(config, found.through(count(records)), devices)
    begin, end = SETUP_CYCLES + _RAMP, min(cycles[-1] for cycles in taken)
    for cycles in taken:
        found.rates.append(sum(begin <= cycle < end for cycle in cycles) / (end - begin))
    return found
