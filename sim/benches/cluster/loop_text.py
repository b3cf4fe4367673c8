"""The C++ program around a Verilated cluster: places of fields, addresses, and cores."""

from collections.abc import Iterator
from pathlib import Path

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.hw.cluster.config import ClusterConfig

__all__ = ["ACTIVITY", "VECTOR_COUNTS", "loop_text"]

_TEMPLATE = Path(__file__).resolve().parent / "loop.cpp"
#: Sums of what goes on, in their order.
ACTIVITY = ("l1_requests", "l1_conflicts", "dma_busy", "dma_writes")
#: What is counted of a vector unit: bytes that its lanes and Ventaglio work on, cycles in which
#: they work on some, and all others, by the first cause of these.
VECTOR_COUNTS = ("float_bytes", "product_bytes", "working", "idle", "memory", "products", "waits")


def loop_text(config: ClusterConfig, *, stalls: int) -> str:
    """The program for a configuration, whose cores name so many causes of stalls."""
    text = _TEMPLATE.read_text()
    text = text.replace("@CONSTANTS@", "\n".join(_constants(config, stalls)))
    return text.replace("@CORES@", ", ".join(_core(hart) for hart in range(config.cores)))


def _core(hart: int) -> str:
    ports = ("halts", "observed", "stored")
    words = ", ".join(f"top->{port}___05F{hart}.data()" for port in ports)
    return f"{{{words}, &top->stalls___05F{hart}, &top->vectors___05F{hart}}}"


def _constants(config: ClusterConfig, stalls: int) -> Iterator[str]:
    from amaranth.lib import data

    from fanweave.hw.cluster.cluster import Activity
    from fanweave.hw.cluster.payloads import HostResponse, OuterRequest, OuterResponse, RunStatus
    from fanweave.hw.core.payloads import DataRequest, Halt, Trace
    from fanweave.hw.vector.activity import VectorActivity
    from fanweave.hw.vector.memory_payloads import VectorRequest

    values: dict[str, int] = {}
    for prefix, name, size in (
        ("L1", RegionName.L1, 0),
        ("Code", RegionName.INSTRUCTIONS, config.instruction_bytes),
        ("Outer", RegionName.OUTER, 0),
    ):
        region = next(region for region in REGIONS if region.name is name)
        values |= {f"{prefix}Base": region.base, f"{prefix}Size": size or region.size}
    for prefix, payload in (
        ("Host", VectorRequest),
        ("HostResponse", HostResponse),
        ("OuterRequest", OuterRequest),
        ("OuterResponse", OuterResponse),
        ("Status", RunStatus),
        ("Stored", DataRequest),
        ("Halt", Halt),
        ("Trace", Trace),
        ("Vector", VectorActivity),
    ):
        for field, part in data.Layout.cast(payload):
            values[prefix + _camel(str(field))] = part.offset
            if (prefix, field) == ("Halt", "cause"):
                values["HaltCauseWidth"] = part.width
    for key, value in values.items():
        yield f"[[maybe_unused]] constexpr uint32_t k{key} = {value:#x};"
    layout = data.Layout.cast(Activity)
    parts = [layout[entry] for entry in ACTIVITY]
    yield f"constexpr int kStallCount = {stalls};"
    yield f"constexpr int kVectorCount = {len(VECTOR_COUNTS)};"
    yield f"constexpr int kActivityCount = {len(parts)};"
    yield f"constexpr int kActivityDmaBusy = {ACTIVITY.index('dma_busy')};"
    yield f"constexpr int kActivityLow[] = {{{', '.join(str(part.offset) for part in parts)}}};"
    yield f"constexpr int kActivityWidth[] = {{{', '.join(str(part.width) for part in parts)}}};"


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
