"""A movement graph through the switch with its policies: latency and rate of each movement."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.dops.platforms import GIB, Platform
from fanweave.golden.ebpf.config import PRESETS as ENGINE_PRESETS
from fanweave.golden.fabric.graph import Direction, Graph, Movement, PlaceKind
from fanweave.golden.fabric.routes import switch_config
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.loop.description import Loop
from fanweave.golden.loop.links import LinkFigure
from fanweave.golden.origins import Origin
from fanweave.sim.benches.cxl.verilated import island_design
from fanweave.sim.benches.system.program import system_program
from fanweave.sim.benches.system.window import check_window
from fanweave.sim.loop.table import MeasuredTable
from fanweave.sim.runner.converted import package_texts
from fanweave.sim.runner.verilate import source_texts
from fanweave.sw.fabric.compile import Compilation, compile_graph
from fanweave.sw.system.placed import IDLE, OFF, Sample, prepare_placed
from fanweave.sw.system.run import SystemRun, run_golden
from fanweave.sw.system.setups import COMPILED, Prepared

__all__ = ["SwitchFigures", "measure_switch"]

_NS = 1e9
#: Sources of the model of time, which decides when hosts send.
_MODEL = ("golden/cxl/*.py", "golden/cxl/timed/*.py", "golden/ebpf/*.py", "golden/ebpf/maps/*.py")


@dataclass(frozen=True, kw_only=True)
class SwitchFigures:
    """What was measured of a placement's movements.

    Attributes
    ----------
    links : tuple of LinkFigure
        With policies.
    without : tuple of LinkFigure
        The same traffic without policies.
    idle_ns : float
        A request alone, without that of the memory.
    programs : mapping of str to mapping of str to int
        Island -> program -> instructions at worst.
    messages, verdicts, maps : int
        Of the window with policies; in RTL all are golden's to the cycle.
    counts : mapping of str to mapping of str to int
        What the islands counted.
    origin : str
    """

    links: tuple[LinkFigure, ...]
    without: tuple[LinkFigure, ...]
    idle_ns: float
    programs: Mapping[str, Mapping[str, int]]
    messages: int
    verdicts: int
    maps: int
    counts: Mapping[str, Mapping[str, int]]
    origin: Origin


def measure_switch(
    graph: Graph, platform: Platform, loop: Loop, table: MeasuredTable
) -> SwitchFigures:
    """Compile a graph and send its traffic through the switch: alone, without policies, and with.

    Raises
    ------
    InputError
        If the graph cannot be compiled, or does not fit into the switch.
    FaultError
        If RTL and golden differ in a latency, a verdict, a map or a count.
    """
    compilation = compile_graph(graph)
    sample = Sample(messages=loop.messages, outstanding=loop.outstanding, memory=loop.memory)
    config = _island_config(graph)
    sources = _sources(loop, config, islands=len(graph.of_kind(PlaceKind.ISLAND)))
    seen = {}
    for name in (IDLE, OFF, COMPILED):
        built = compilation.built if name == COMPILED else {}
        prepared = prepare_placed(graph, built, sample, name)
        seen[name] = _measured(prepared, config, loop, table, sources)
    devices = {device.name.lower(): device.name for device in platform.devices}
    own, idle = seen[COMPILED], seen[IDLE]["movements"]
    clock, memory = config.switch.clock_ns, loop.memory.latency
    return SwitchFigures(
        links=_figures(graph, devices, own["movements"], clock=clock, memory=memory),
        without=_figures(graph, devices, seen[OFF]["movements"], clock=clock, memory=memory),
        idle_ns=(next(iter(idle.values()))["latency"] - memory) * clock,
        programs=_programs(compilation),
        messages=own["messages"],
        verdicts=own["verdicts"],
        maps=own["maps"],
        counts=own["counts"],
        origin=loop.origin,
    )


def _island_config(graph: Graph) -> IslandConfig:
    """Of all islands, which have one switch and one engine."""
    island = graph.of_kind(PlaceKind.ISLAND)[0]
    switch: SwitchConfig = switch_config(graph, island.name)
    return IslandConfig(switch=switch, engine=ENGINE_PRESETS[island.engine])


def _programs(compilation: Compilation) -> dict[str, dict[str, int]]:
    return {
        island: {name: report.worst_case_instructions for name, report in built.reports.items()}
        for island, built in compilation.built.items()
        if built.unit.place.kind is PlaceKind.ISLAND
    }


def _measured(
    prepared: Prepared,
    config: IslandConfig,
    loop: Loop,
    table: MeasuredTable,
    sources: list[str],
) -> dict[str, Any]:
    def measure() -> dict[str, Any]:
        window = prepared.plan.messages
        if loop.measure == "model":
            run, verdicts, maps = run_golden(prepared, config, window=window), 0, 0
        else:
            found = check_window(prepared, config, window=window)
            run, verdicts, maps = found.run, found.verdicts, found.maps
        return {
            "movements": _movements(prepared, run),
            "messages": run.result.messages,
            "verdicts": verdicts,
            "maps": maps,
            "counts": {island: dict(counts) for island, counts in run.result.counts.items()},
        }

    parts = ["switch", loop.measure, *_contents(prepared, config), *sources]
    return table.obtain(parts, measure)


def _sources(loop: Loop, config: IslandConfig, *, islands: int) -> list[str]:
    """What counts: the model of time, and the Verilog with what drives it."""
    parts = package_texts(_MODEL)
    if loop.measure == "rtl":
        parts += source_texts(island_design(config).sources)
        parts.append(system_program(config, islands=islands))
    return parts


def _contents(prepared: Prepared, config: IslandConfig) -> list[str]:
    """What is sent, and to what."""
    parts = [prepared.name, repr(config), repr(prepared.around), repr(prepared.writes)]
    parts += [repr(prepared.plan.tasks), repr(prepared.plan.flows), repr(prepared.plan.movements)]
    for island, built in prepared.built.items():
        digest = hashlib.sha256(built.data).hexdigest()
        parts += [island, digest, repr(sorted(built.contents.items()))]
    return parts


def _movements(prepared: Prepared, run: SystemRun) -> dict[str, dict[str, float]]:
    """Mean latency, and lines a cycle from the first answer to the last, of each movement."""
    traffic = run.system.traffic
    sent = run.result.messages
    found = {}
    for number, name in enumerate(prepared.plan.movements):
        mine = np.flatnonzero(traffic.flow[:sent] == number)
        done = traffic.done[mine]
        latency = float((done - traffic.sent[mine]).mean())
        span = int(done.max() - done.min())
        rate = (len(mine) - 1) / span if span else 1.0 / latency
        found[name] = {"messages": len(mine), "latency": latency, "rate": rate}
    return found


def _figures(
    graph: Graph,
    devices: Mapping[str, str],
    movements: Mapping[str, Mapping[str, float]],
    *,
    clock: int,
    memory: int,
) -> tuple[LinkFigure, ...]:
    found = []
    for name, seen in movements.items():
        source, target = _ends(graph, graph.movements[name])
        found.append(
            LinkFigure(
                movement=name,
                source=devices[source],
                target=devices[target],
                messages=int(seen["messages"]),
                latency_ns=(seen["latency"] - memory) * clock,
                bandwidth_gib=seen["rate"] * LINE_BYTES * _NS / clock / GIB,
            )
        )
    return tuple(found)


def _ends(graph: Graph, movement: Movement) -> tuple[str, str]:
    """Devices that lines go from and to: an object's memory is that of a device."""
    home = graph.objects[movement.object].home.removesuffix("_memory")
    if movement.direction is Direction.READ:
        return home, movement.consumer
    return movement.producer, home
