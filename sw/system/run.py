"""Runs a setting of a scenario in golden, and says what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.cxl.timed.system import IslandSetup, Judge, TimedSystem
from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.fabric.graph import Graph, Phase
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.fabric.build import Built
from fanweave.sw.system.moves import PageMove, page_moves
from fanweave.sw.system.setups import Prepared

__all__ = [
    "START",
    "FlowResult",
    "PortResult",
    "SystemResult",
    "SystemRun",
    "run_golden",
]

#: First cycle of traffic; registers are written and buckets are full before.
START = 4096
#: Verdicts for each message, at most: of two islands, known and then told again.
_VERDICTS = 4
#: Cycles for each message, at most.
_PATIENCE = 400


@dataclass(frozen=True, kw_only=True)
class FlowResult:
    """A class of messages: cycles from the host's request to its answer, and bytes a cycle."""

    messages: int
    p50: float
    p99: float
    most: int
    bytes_per_cycle: float


@dataclass(frozen=True, kw_only=True)
class PortResult:
    """A memory: accesses, share of its time that it was busy, mean wait, changes of direction."""

    reads: int
    writes: int
    turns: int
    mean_wait: float


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """What came of a run.

    Attributes
    ----------
    setting : str
    cycles : int
        From the first request to the last answer.
    messages : int
    flows : mapping of str to FlowResult
        By class.
    ports : mapping of str to PortResult
        By memory.
    counts : mapping of str to mapping of str to int
        By island: events, hits, and so on, see `COUNTS`.
    actions : mapping of str to mapping of str to int
        By island: verdicts of programs, by action.
    moves : tuple of PageMove
        The first of them, in the order of their beginnings; `counts` has all.
    """

    setting: str
    cycles: int
    messages: int
    flows: Mapping[str, FlowResult]
    ports: Mapping[str, PortResult]
    counts: Mapping[str, Mapping[str, int]]
    actions: Mapping[str, Mapping[str, int]]
    moves: tuple[PageMove, ...] = ()

    @property
    def duplex(self) -> float:
        """Lines of the rarer direction by those of the other, over all memories."""
        reads = sum(port.reads for port in self.ports.values())
        writes = sum(port.writes for port in self.ports.values())
        return min(reads, writes) / max(reads, writes, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class SystemRun:
    """A run, its system and machines; for a comparison with RTL."""

    result: SystemResult
    system: TimedSystem
    machines: Mapping[str, Machine]


def flow_class(graph: Graph, movement: str) -> str:
    """Class of a movement: ``attention``, ``ffn`` or ``handover``."""
    phase = graph.movements[movement].phase
    return "handover" if phase is Phase.OTHER else phase.value


def _judge(built: Built, machine: Machine) -> Judge:
    def judge(program: int, context: bytes, time_ns: int) -> int | None:
        outcome = machine.run(machine.programs[program], context, time_ns=time_ns)
        return outcome.r0 if outcome.fault is FaultCause.NONE else None

    return judge


def run_golden(
    prepared: Prepared, config: IslandConfig, *, window: int = 0, keep: bool = False
) -> SystemRun:
    """Run a setting.

    Parameters
    ----------
    prepared : Prepared
    config : IslandConfig
        Of both islands.
    window : int
        Messages at most; 0 for the whole prefill.
    keep : bool
        Keep what engines were asked and switches were told.

    Raises
    ------
    FaultError
        If it does not end, or asks for what the model of time does not carry out.
    """
    machines = {island: built.machine() for island, built in prepared.built.items()}
    setups = []
    for island, writes in zip(prepared.islands, prepared.writes, strict=True):
        built = prepared.built.get(island)
        judge = _judge(built, machines[island]) if built else None
        setups.append(IslandSetup(writes=writes, judge=judge))
    told = _VERDICTS * window if keep else 0
    traffic = prepared.plan.traffic(prepared.ports, most=window, told=told)
    system = TimedSystem(
        switch=config.switch,
        verdict_entries=config.verdict_entries,
        around=prepared.around,
        setups=setups,
        traffic=traffic,
        start=START,
        keep=keep,
    )
    system.run(cycles=_PATIENCE * len(traffic.line) + 100_000)
    return SystemRun(result=_result(prepared, system), system=system, machines=machines)


def _result(prepared: Prepared, system: TimedSystem) -> SystemResult:
    traffic, state = system.traffic, system.state
    sent = int(state.clock[1])
    first, last = int(traffic.sent[:sent].min()), int(traffic.done[:sent].max())
    ports = {}
    islands = prepared.islands
    for name, (island, port) in prepared.memories.items():
        row = state.busy[islands.index(island), port - system.switch.upstream]
        reads, writes = int(row[2]), int(row[3])
        ports[name] = PortResult(
            reads=reads, writes=writes, turns=int(row[5]),
            mean_wait=float(row[4]) / max(reads + writes, 1),
        )  # fmt: skip
    actions: dict[str, dict[str, int]] = {island: {} for island in islands}
    for (number, _, action), count in sorted(system.actions.items()):
        of = actions[islands[number]]
        of[action] = of.get(action, 0) + count
    return SystemResult(
        setting=prepared.name,
        cycles=last - first,
        messages=sent,
        flows=_flows(prepared, traffic, sent, last - first),
        ports=ports,
        counts={
            island: dict(zip(COUNTS._fields, map(int, state.counts[number]), strict=True))
            for number, island in enumerate(islands)
        },
        actions=actions,
        moves=tuple(page_moves(prepared, system, first)),
    )


def _flows(prepared: Prepared, traffic: Traffic, sent: int, cycles: int) -> dict[str, FlowResult]:
    names = [flow_class(prepared.graph, name) for name in prepared.plan.movements]
    classes = list(dict.fromkeys(names))
    of_flow = np.array([classes.index(name) for name in names])
    of_message = of_flow[traffic.flow[:sent]]
    latency = traffic.done[:sent] - traffic.sent[:sent]
    found = {}
    for number, name in enumerate(classes):
        mine = latency[of_message == number]
        if not len(mine):
            continue
        half, tail = np.percentile(mine, [50, 99], method="higher")
        found[name] = FlowResult(
            messages=len(mine), p50=float(half), p99=float(tail), most=int(mine.max()),
            bytes_per_cycle=len(mine) * LINE_BYTES / max(cycles, 1),
        )  # fmt: skip
    return found
