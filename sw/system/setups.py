"""What the islands of a scenario begin with, under each of its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.cxl.timed.config import HostPort, IslandLink, MemoryPort, SystemConfig
from fanweave.golden.fabric.graph import Graph
from fanweave.golden.fabric.prefill import MEMORIES, Prefill, prefill_graph
from fanweave.golden.fabric.routes import Network
from fanweave.golden.fabric.scenario import Policies, Scenario, Setting
from fanweave.golden.fabric.tasks import HOSTS, TaskPlan, prefill_tasks
from fanweave.golden.isa.cxl_island import ISLAND_REGISTERS, PACED_PROGRAMS, SHIFT_BASE
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.compile import compile_graph
from fanweave.sw.fabric.decode import decoder_plan
from fanweave.sw.fabric.island_plan import flows_of
from fanweave.sw.fabric.registers import switch_writes

__all__ = ["COMPILED", "ISLANDS", "Prepared", "island_writes", "prepare"]

#: Name of the setting with programs.
COMPILED = "compiled"
ISLANDS = ("island0", "island1")
_PLACES = {"gpu0": (0, 0), "gpu1": (0, 1), "dpu0": (1, 1)}
#: No device is silent here, however long it takes.
_TIMEOUT = (1 << 24) - 1
#: An event alone takes at most so many cycles an instruction, and so many beside; the RTL counts
#: those that take longer, and a run with one fails.
_PACE, _PACE_MORE = 3, 64


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A setting of a scenario, ready to run.

    Attributes
    ----------
    name : str
    graph : Graph
    plan : TaskPlan
    around : SystemConfig
    writes : tuple of tuple of (int, int)
        Register writes of each island.
    built : mapping of str to Built
        Programs by island; empty without.
    islands : tuple of str
        By number.
    memories : mapping of str to (str, int)
        Memory -> island and port.
    """

    name: str
    graph: Graph
    plan: TaskPlan
    around: SystemConfig
    writes: tuple[tuple[tuple[int, int], ...], ...]
    built: Mapping[str, Built]
    islands: tuple[str, ...] = ISLANDS
    memories: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MEMORIES)

    @property
    def ports(self) -> list[tuple[int, int, int]]:
        """Island, port and most open requests of each host."""
        return [(host.island, host.port, host.outstanding) for host in self.around.hosts]


def prepare(scenario: Scenario, setting: Setting | None) -> Prepared:
    """A scenario with a static setting, or with compiled programs if there is none.

    Raises
    ------
    InputError
        If the graph cannot be, or does not fit into the switches.
    """
    prefill = _placed(scenario, setting)
    goals = () if setting else scenario.policies.goals
    graph = prefill_graph(prefill, name=scenario.name, goals=goals)
    built: Mapping[str, Built] = {} if setting else compile_graph(graph).built
    limits = {**scenario.outstanding, **(setting or scenario.policies).outstanding}
    return Prepared(
        name=setting.name if setting else COMPILED,
        graph=graph,
        plan=prefill_tasks(prefill, graph),
        around=_around(scenario, limits),
        writes=tuple(
            island_writes(graph, island, built.get(island), scenario.policies) for island in ISLANDS
        ),
        built={island: built[island] for island in ISLANDS if island in built},
    )


def _placed(scenario: Scenario, setting: Setting | None) -> Prefill:
    """The prefill with its data where the setting, or the policies, want them."""
    prefill, chosen = scenario.prefill, setting or scenario.policies
    homes = {**prefill.homes, **chosen.homes}
    if setting is None:
        return replace(prefill, homes=homes, copies=scenario.policies.copies)
    share_b = prefill.share_b if setting.share_b is None else setting.share_b
    return replace(prefill, homes=homes, share_b=share_b)


def island_writes(
    graph: Graph, island: str, built: Built | None, policies: Policies
) -> tuple[tuple[int, int], ...]:
    """Registers that an island begins with, with its programs or without any.

    Raises
    ------
    InputError
        If the switch has too few ranges or virtual ports.
    """
    if built is not None:
        return _with_programs(built, policies)
    network = Network(graph)
    attach = {
        "switch": graph.places[island].switch,
        "rules": [],
        **decoder_plan(graph, network, island, flows_of(graph, network, island)),
    }
    return (*switch_writes(attach), _timeout(PRESETS[attach["switch"]]))


def _timeout(config: SwitchConfig) -> tuple[int, int]:
    entry = next(entry for entry in config.registers if entry.name == "timeout")
    return entry.address, entry.pack(cycles=_TIMEOUT)


def _with_programs(built: Built, policies: Policies) -> tuple[tuple[int, int], ...]:
    """Registers of an island with programs: rules, tokens, the memory of verdicts, paces."""
    attach = dict(built.unit.attach)
    attach["rules"] = [
        row if row["inline"] else {**row, "skip": policies.answers_skip} for row in attach["rules"]
    ]
    config = PRESETS[attach["switch"]]
    switch = {entry.name: entry for entry in config.registers}
    island = {entry.name: entry for entry in ISLAND_REGISTERS}
    writes = [*switch_writes(attach), _timeout(config)]
    for host in {row["host"] for row in attach["bindings"]}:
        entry = switch[f"tokens_{host}"]
        writes.append(
            (entry.address, entry.pack(rate=policies.token_rate, limit=policies.token_limit))
        )
    inline = {row["number"] for row in attach["rules"] if row["inline"]}
    for number, program in enumerate(built.unit.programs[:PACED_PROGRAMS]):
        entry = island[f"pace_{number}"]
        worst = built.reports[program.name].worst_case_instructions
        writes.append((entry.address, entry.pack(cycles=_PACE * worst + _PACE_MORE)))
    control = island["verdicts"]
    shift = policies.page_bytes.bit_length() - 1 - SHIFT_BASE
    kept = sum(1 << number for number in inline)
    writes.append((control.address, control.pack(enable=1, shift=shift, programs=kept)))
    return tuple(writes)


def _around(scenario: Scenario, limits: Mapping[str, int]) -> SystemConfig:
    return SystemConfig(
        islands=len(ISLANDS),
        hosts=tuple(
            HostPort(island=_PLACES[name][0], port=_PLACES[name][1], outstanding=limits[name])
            for name in HOSTS
        ),
        memories=tuple(
            MemoryPort(island=ISLANDS.index(island), port=port, timing=scenario.memories[name])
            for name, (island, port) in MEMORIES.items()
        ),
        links=(IslandLink(island=0, port=4, to_island=1, to_port=0, latency=scenario.link),),
    )
