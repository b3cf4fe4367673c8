"""Area of the cluster: its parts, each synthesised once, added up by how often it is there."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanweave.golden.files import replace_file
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.cluster.config import PRESETS, ClusterConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.sim.benches.cluster.verilated import SOURCES
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.runner.cache import content_key
from fanweave.sim.runner.converted import package_texts
from fanweave.sim.runner.toolchain import build_root
from fanweave.sim.synthesis.asic import AsicArea, total_of
from fanweave.sim.synthesis.blocks import MACRO_READS, block_areas

__all__ = ["GE_PER_BIT", "Part", "area_rows", "cluster_parts", "part_areas", "ventaglio_parts"]

#: Gate equivalents of a bit of a RAM macro with its share of decoders and amplifiers: an
#: assumption. A bit cell of the open 130 nm process has half the area of its NAND2, and half of a
#: macro is bit cells.
GE_PER_BIT = 1.0
#: Seconds after which a run of Yosys is stopped.
_LIMIT = 3000.0
#: Ventaglio's published share of a cluster of two cores.
_GOAL = 0.031
#: What the public release has: FP32, and accumulators beside the lanes' own registers.
_RELEASE = VentaglioConfig(
    formats=(ElementFormat.FP32,), banks=16, window=1, max_outputs=1, mask_columns=32
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A block of a cluster.

    Attributes
    ----------
    name : str
        What it is.
    count : int
        How often it is there.
    key : str
        What it depends on beside its sources.
    build : callable
        Makes it.
    """

    name: str
    count: int
    key: str
    build: Callable[[], Any]


def cluster_parts(config: ClusterConfig) -> tuple[Part, ...]:
    """The blocks at the top of a cluster, whose own logic only counts what its ports do.

    Parameters
    ----------
    config : ClusterConfig
    """
    from fanweave.hw.cluster.banked_memory import BankedMemory
    from fanweave.hw.cluster.complex import CoreComplex
    from fanweave.hw.cluster.dma import Dma
    from fanweave.hw.cluster.dma_local import LANES
    from fanweave.hw.cluster.instruction_memory import InstructionMemory
    from fanweave.hw.cluster.mailbox import Mailbox
    from fanweave.hw.cluster.peripherals import Peripherals
    from fanweave.hw.cluster.routes import ScalarRoute, WordRoute

    cores, lanes = config.cores, config.vector.lanes
    sources = cores * (1 + lanes) + 1
    size = next(region.size for region in REGIONS if region.name is RegionName.L1)
    memory = f"{config.l1_banks} {sources}"
    code = f"{config.instruction_bytes} {config.instruction_banks} {cores} {sources}"
    return (
        _part("core complex", cores, (config.core, config.vector), lambda: CoreComplex(
            core=config.core, vector=config.vector
        )),
        _part("L1", 1, (memory,), lambda: BankedMemory(
            size=size, banks=config.l1_banks, ports=sources, lanes=LANES
        )),
        _part("instruction memory", 1, (code,), lambda: InstructionMemory(
            size=config.instruction_bytes, banks=config.instruction_banks, cores=cores,
            sources=sources + 1,
        )),
        _part("peripherals", 1, (cores,), lambda: Peripherals(harts=cores)),
        _part("mailbox", 1, (cores,), lambda: Mailbox(harts=cores)),
        _part("routes of scalar accesses", cores, (), ScalarRoute),
        _part("routes of vector accesses", cores * lanes + 1, (), WordRoute),
        _part("DMA", 1, (config.transfers, config.rows, config.beats), lambda: Dma(config=config)),
    )  # fmt: skip


def ventaglio_parts(config: VectorConfig) -> tuple[Part, ...]:
    """The blocks that are there for Ventaglio alone.

    Parameters
    ----------
    config : VectorConfig
        With Ventaglio.
    """
    from fanweave.hw.vector.ventaglio_state import VentaglioState
    from fanweave.hw.vector.ventaglio_switch import BankSwitch
    from fanweave.hw.vector.ventaglio_unit import VentaglioUnit

    return (
        _part("Ventaglio", 1, (config,), lambda: VentaglioUnit(config=config)),
        _part("Ventaglio's CSRs", 1, (config,), lambda: VentaglioState(config=config)),
        _part("Ventaglio's way to memory", 1, (config,), lambda: BankSwitch(config=config)),
    )


def _part(name: str, count: int, key: Sequence[object], build: Callable[[], Any]) -> Part:
    return Part(name=name, count=count, key=repr((name, *key)), build=build)


def part_areas(part: Part) -> tuple[AsicArea, ...]:
    """Areas of a part's blocks; those of the same sources are kept, as a conversion takes long.

    Raises
    ------
    FaultError
        If the synthesis fails.
    InputError
        If Yosys is not installed.
    """
    folder = build_root() / "synth" / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{content_key([part.key, str(MACRO_READS), *package_texts(SOURCES)])}.json"
    if not kept.exists():
        from fanweave.hw.generate.convert import to_rtlil

        areas = block_areas(to_rtlil(part.build(), name="part"), "part", limit=_LIMIT)
        replace_file(kept, json.dumps([vars(area) for area in areas]).encode())
    return tuple(AsicArea(**each) for each in json.loads(kept.read_text()))


@dataclass(frozen=True, kw_only=True)
class Area:
    """What something takes.

    Attributes
    ----------
    logic : float
        Gates and flip-flops, memories of flip-flops among them, in gate equivalents.
    flip_flops : int
        All of them.
    macro_bits : int
        Bits of RAM macros.
    """

    logic: float = 0.0
    flip_flops: int = 0
    macro_bits: int = 0

    @property
    def total(self) -> float:
        """With macros, at `GE_PER_BIT`."""
        return self.logic + GE_PER_BIT * self.macro_bits

    def __add__(self, other: "Area") -> "Area":
        return Area(
            logic=self.logic + other.logic,
            flip_flops=self.flip_flops + other.flip_flops,
            macro_bits=self.macro_bits + other.macro_bits,
        )

    def times(self, count: int) -> "Area":
        """So many of it."""
        return Area(
            logic=count * self.logic,
            flip_flops=count * self.flip_flops,
            macro_bits=count * self.macro_bits,
        )


def _area(blocks: Sequence[AsicArea]) -> Area:
    total = total_of(blocks)
    return Area(
        logic=total.area_ge,
        flip_flops=total.flip_flops + total.memory_flip_flops,
        macro_bits=total.macro_bits,
    )


#: Blocks of a core complex that have a line of their own: the first pattern that fits counts.
_BLOCKS = (
    ("scalar core", r"core(\..*)?"),
    ("Ventaglio: accumulators and scatter", r"vector\.ventaglio\.bank(\..*)?"),
    ("Ventaglio: multipliers", r"vector\.ventaglio\.lanes(\..*)?"),
    ("Ventaglio: bitmasks", r"vector\.ventaglio\.groups\.mask(\..*)?"),
    ("Ventaglio: other indices", r"vector\.ventaglio\.groups(\..*)?"),
    ("Ventaglio: fetch", r"vector\.ventaglio(\..*)?"),
    ("Ventaglio: CSRs, errors", r"vector\.front\.ventaglio(\..*)?"),
    ("Ventaglio: way to memory", r"vector\.switch(\..*)?"),
    ("vector: front", r"vector\.front(\..*)?"),
    ("vector: register file", r"vector\.sequencer\.registers(\..*)?"),
    ("vector: sequencer", r"vector\.sequencer(\..*)?"),
    ("vector: integer lanes", r"vector\.integer_lanes(\..*)?"),
    ("vector: floating-point lanes", r"vector\.float_lanes(\..*)?"),
    ("vector: loads and stores", r"vector\.memory(\..*)?"),
    ("vector: permutations", r"vector\.permute(\..*)?"),
    ("vector: other", r".*"),
)


def _inside(blocks: Sequence[AsicArea]) -> dict[str, Area]:
    """The lines of a core complex."""
    lines: dict[str, Area] = {}
    for block in blocks:
        # A number behind a name tells it from a signal of the same name.
        path = re.sub(r"\$\d+", "", block.block)
        name = next(name for name, pattern in _BLOCKS if re.fullmatch(pattern, path))
        lines[name] = lines.get(name, Area()) + _area([replace(block, block="")])
    return {name: lines[name] for name, _ in _BLOCKS if name in lines}


def _lines(config: ClusterConfig) -> dict[str, Area]:
    """Every line of a cluster."""
    found: dict[str, Area] = {}
    for part in cluster_parts(config):
        blocks = part_areas(part)
        inner = _inside(blocks) if part.name == "core complex" else {part.name: _area(blocks)}
        found |= {name: area.times(part.count) for name, area in inner.items()}
    return found


def _row(case: str, metric: str, value: float, unit: str, goal: float | None = None) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, goal=goal, origin="rtl")


def _described(case: str, area: Area) -> Iterator[BenchRow]:
    yield _row(case, "area_ge", round(area.logic), "GE")
    yield _row(case, "flip_flops", area.flip_flops, "flip-flops")
    if area.macro_bits:
        yield _row(case, "macro_bits", area.macro_bits, "bits")


def _sum(areas: Sequence[Area]) -> Area:
    return sum(areas, Area())


def _ventaglio(config: VectorConfig, ventaglio: VentaglioConfig) -> dict[str, Area]:
    built = replace(config, ventaglio=ventaglio)
    return {part.name: _area(part_areas(part)) for part in ventaglio_parts(built)}


def _features() -> Iterator[tuple[str, VentaglioConfig]]:
    """Configurations, each with something more than the one before it."""
    formats: list[ElementFormat] = []
    config = _RELEASE
    yield "FP32, 16 banks, a window of one group", config
    config = replace(config, window=2)
    yield "with a window of two groups", config
    config = replace(config, banks=32)
    yield "with 32 banks", config
    config = replace(config, mask_columns=128)
    yield "with 128 columns of a bitmask a cycle", config
    formats = [ElementFormat.FP32]
    for name, more in (
        ("FP16 and BF16", [ElementFormat.FP16, ElementFormat.BF16]),
        ("FP8 and INT8", [each for each in ElementFormat if each.bits == 8]),
    ):
        formats += more
        config = replace(config, formats=tuple(formats), banks=0)
        yield f"with {name}", config


def area_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Every block of a cluster with one and with two cores, Ventaglio's share, and what its
    features cost.

    Without the patience for a whole cluster, quick measures Ventaglio's parts alone.
    """
    del seed
    before = 0.0
    smallest: Area | None = None
    base = PRESETS["default"].vector
    for name, ventaglio in _features() if not quick else list(_features())[:1]:
        area = _sum(list(_ventaglio(base, ventaglio).values()))
        smallest = smallest or area
        yield from _described(f"Ventaglio, {name}", area)
        if before:
            yield _row(f"Ventaglio, {name}: more", "area_ge", round(area.logic - before), "GE")
        before = area.logic
    if quick or smallest is None:
        return
    for preset in ("ventaglio-fp32", "one-core-ventaglio", "ventaglio"):
        yield from _whole(PRESETS[preset], smallest)


def _whole(config: ClusterConfig, release: Area) -> Iterator[BenchRow]:
    cores, ventaglio = config.cores, config.vector.ventaglio
    formats = "FP32" if ventaglio is None or len(ventaglio.formats) == 1 else "all formats"
    case = f"{cores} core{'s' * (cores > 1)}, {formats}"
    lines = _lines(config)
    everything = _sum(list(lines.values()))
    for name, area in lines.items():
        yield from _described(f"{case}: {name}", area)
    yield from _described(case, everything)
    yield BenchRow(
        case=f"{case}, a bit of a macro at {GE_PER_BIT:g} GE",
        metric="area_ge",
        value=round(everything.total),
        unit="GE",
        origin="assumed",
    )
    own = _sum([area for name, area in lines.items() if name.startswith("Ventaglio")])
    memories = lines["L1"].total + lines["instruction memory"].total
    for kind, mine in ((formats, own), ("as the public release has", release.times(cores))):
        others = everything.total - own.total
        for where, rest in (("", others), (" without L1 and instructions", others - memories)):
            yield _row(
                f"{case}: Ventaglio, {kind}, of the cluster{where}",
                "area_share",
                round(mine.total / (rest + mine.total), 4),
                "1",
                goal=_GOAL if not where else None,
            )
