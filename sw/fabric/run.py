"""Runs a compiled graph in the golden models: islands, DPUs and GPUs, and the states they share.

Messages are the first lines of each movement, one of each in turn. Time is a count of steps, not a
model of how long anything takes: what is shown is what the programs decide.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.fabric.check import deadlines, in_order
from fanweave.golden.fabric.graph import Direction, Graph, Movement, PlaceKind
from fanweave.golden.fabric.routes import Network
from fanweave.golden.isa.cxl_event import Channel, DevLoad, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.compile import Compilation
from fanweave.sw.fabric.dputime.nic import Transfer
from fanweave.sw.fabric.dputime.runtime import DpuTime
from fanweave.sw.fabric.island_machine import IslandMachine
from fanweave.sw.fabric.snapshot import copy_state

__all__ = ["FabricRun", "run_graph"]

#: Time between two messages, and what a memory takes, ns.
_STEP_NS, _MEMORY_NS = 10, 250
_KERNEL_NS = 5000


@dataclass(kw_only=True)
class FabricRun:
    """What came of a run.

    Attributes
    ----------
    verdicts : dict
        Island -> program -> action -> how many.
    movements : dict
        Movement -> island -> action -> how many.
    instructions : dict
        Device -> instructions of its events.
    transfers : list of Transfer
        Of all DPUs.
    copies : int
        Values that were copied between devices.
    """

    verdicts: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    movements: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    instructions: dict[str, list[int]] = field(default_factory=dict)
    transfers: list[Transfer] = field(default_factory=list)
    copies: int = 0

    def document(self, graph: Graph) -> dict[str, Any]:
        """For JSON."""
        names = list(graph.movements)
        return {
            "graph": graph.name,
            "verdicts": {
                island: {program: dict(count) for program, count in programs.items()}
                for island, programs in self.verdicts.items()
            },
            "movements": {
                movement: {island: dict(count) for island, count in islands.items()}
                for movement, islands in self.movements.items()
            },
            "instructions": {
                device: {
                    "events": len(counts),
                    "mean": sum(counts) / len(counts),
                    "most": max(counts),
                }
                for device, counts in self.instructions.items()
                if counts
            },
            "transfers": [
                {
                    "movement": names[transfer.movement],
                    "queue": transfer.queue,
                    "held": transfer.held,
                    "rejected": transfer.rejected,
                    "posted_ns": transfer.posted_ns,
                    "arrived_ns": transfer.arrived_ns,
                    "late": bool(transfer.deadline_ns)
                    and transfer.arrived_ns > transfer.deadline_ns,
                }
                for transfer in self.transfers
            ],
            "copied_values": self.copies,
        }


class _Fabric:
    """Machines of all devices."""

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self.graph = compilation.graph
        self.network = Network(self.graph)
        self.result = FabricRun()
        self.islands: dict[str, IslandMachine] = {}
        self.dpus: dict[str, DpuTime] = {}
        self.machines: dict[str, Any] = {}
        self._behind = {(link.island, link.port): link for link in self.graph.links}
        self._time = 0
        for name, built in compilation.built.items():
            self._add(name, built)

    def _add(self, name: str, built: Built) -> None:
        kind = built.unit.place.kind
        if kind is PlaceKind.ISLAND:
            self.islands[name] = IslandMachine(
                built, lambda port, request: self._beyond(name, port, request)
            )
            self.machines[name] = self.islands[name].machine
        elif kind is PlaceKind.DPU:
            self.dpus[name] = DpuTime(built)
            self.machines[name] = self.dpus[name].machine
        else:
            # A warp of threads; the first of each counts.
            self.machines[name] = built.machine(engines=1)

    def _beyond(self, island: str, port: int, request: Message) -> tuple[DevLoad, int]:
        """A memory answers; another island goes on with the request."""
        link = self._behind.get((island, port))
        if link is None or link.place not in self.islands:
            return DevLoad.OPTIMAL, _MEMORY_NS
        return DevLoad.OPTIMAL, self.islands[link.place].request(
            link.place_port, request, self._time
        )

    def share(self) -> None:
        """Copy all states once."""
        for state in self.compilation.states:
            built = self.compilation.built
            self.result.copies += copy_state(
                state,
                (built[state.owner], self.machines[state.owner]),
                (built[state.reader], self.machines[state.reader]),
            )

    def kernels(self, phase: str, at: str) -> None:
        """Enter or leave the kernels of a phase at all GPUs."""
        for name, built in self.compilation.built.items():
            for row in built.unit.attach.get("programs", ()):
                if row["program"] == f"{phase}_{'begins' if at == 'entry' else 'ends'}":
                    program = built.loaded.find_program(row["program"]).program
                    outcome = self.machines[name].run(program, b"", time_ns=self._time)
                    self.result.instructions.setdefault(name, []).append(outcome.instructions)

    def lines(self, movements: Sequence[Movement], lines: int) -> None:
        """Send the first lines of movements, one of each in turn, and again for their reuse."""
        for number, movement, address in _addresses(self.graph, movements, lines):
            hops = self.network.of(movement)
            first = next((hop for hop in hops if hop.island in self.islands), None)
            self._time += _STEP_NS
            if first is None:
                continue
            before = {name: len(machine.seen) for name, machine in self.islands.items()}
            request = _request(movement, address // LINE_BYTES, number)
            self.islands[first.island].request(first.entry, request, self._time)
            for name, machine in self.islands.items():
                for seen in machine.seen[before[name] :]:
                    count = self.result.movements.setdefault(movement.name, {})
                    count.setdefault(name, Counter())[seen.verdict.action.name] += 1

    def sends(self, movements: Sequence[Movement]) -> None:
        """Post the sends of movements, one behind the other."""
        ends = deadlines(self.graph)
        for name, dpu in self.dpus.items():
            numbers = dpu.built.unit.attach
            posted = [
                Transfer(
                    movement=numbers["movements"][movement.name],
                    tenant=numbers["tenants"][self.graph.objects[movement.object].tenant],
                    source=numbers["hosts"][movement.producer],
                    target=numbers["hosts"][movement.consumer],
                    address=self.graph.objects[movement.object].first,
                    size=movement.size,
                    posted_ns=self._time,
                    phase=movement.phase.number,
                    priority=movement.priority,
                    deadline_ns=self._time + movement.deadline_ns if ends[movement.name] else 0,
                )
                for movement in movements
                if movement.via == name
            ]
            before = len(dpu.finished)
            dpu.run(posted)
            self.result.transfers += dpu.finished[before:]
            arrived = (transfer.arrived_ns for transfer in dpu.finished[before:])
            self._time = max(self._time, *arrived, self._time)

    def finish(self) -> FabricRun:
        """Count what was seen."""
        for name, machine in self.islands.items():
            for seen in machine.seen:
                programs = self.result.verdicts.setdefault(name, {})
                programs.setdefault(seen.program, Counter())[seen.verdict.action.name] += 1
            self.result.instructions[name] = [seen.instructions for seen in machine.seen]
        for name, dpu in self.dpus.items():
            self.result.instructions[name] = dpu.instructions
        return self.result

    def advance(self, time_ns: int) -> None:
        """Let time go on."""
        self._time += time_ns


def _addresses(
    graph: Graph, movements: Sequence[Movement], lines: int
) -> Iterator[tuple[int, Movement, int]]:
    number = 0
    most = max((movement.reuse for movement in movements), default=0)
    for again in range(most):
        for line in range(lines):
            for movement in movements:
                if again < movement.reuse and line * LINE_BYTES < movement.size:
                    address = graph.objects[movement.object].first + line * LINE_BYTES
                    yield number % (1 << 16), movement, address
                    number += 1


def _request(movement: Movement, line: int, tag: int) -> Message:
    if movement.direction is Direction.READ:
        return message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line, tag=tag)
    return message(Channel.M2S_RWD, opcode=RwdOpcode.MEM_WR, address=line, tag=tag)


def _generations(graph: Graph) -> Mapping[int, list[Movement]]:
    """Movements by how many others must have ended."""
    depth: dict[str, int] = {}
    found: dict[int, list[Movement]] = {}
    for movement in in_order(graph):
        depth[movement.name] = 1 + max((depth[name] for name in movement.after), default=-1)
    for movement in graph.movements.values():
        found.setdefault(depth[movement.name], []).append(movement)
    return dict(sorted(found.items()))


def run_graph(compilation: Compilation, *, lines: int = 64) -> FabricRun:
    """Run a compiled graph once: movements in the order of their `after`.

    Parameters
    ----------
    compilation : Compilation
    lines : int
        Lines of each movement, at most.

    Raises
    ------
    FaultError
        If a program ends with a fault, or returns no verdict.
    """
    fabric = _Fabric(compilation)
    for movements in _generations(compilation.graph).values():
        for phase in dict.fromkeys(movement.phase for movement in movements):
            own = [movement for movement in movements if movement.phase is phase]
            fabric.kernels(phase.value, "entry")
            fabric.share()
            fabric.lines([m for m in own if m.direction is not Direction.SEND], lines)
            fabric.sends([m for m in own if m.direction is Direction.SEND])
            fabric.advance(_KERNEL_NS)
            fabric.kernels(phase.value, "exit")
            fabric.share()
    return fabric.finish()
