"""Units that Verilog is generated for, each as data."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fanweave.golden.cxl import config as cxl_config
from fanweave.golden.cxl import island_config
from fanweave.golden.ebpf import config as ebpf_config
from fanweave.golden.entries import load_entry
from fanweave.golden.errors import InputError
from fanweave.golden.isa import ebpf_registers
from fanweave.golden.isa import ventaglio as ventaglio_isa
from fanweave.golden.isa.cluster import PERIPHERALS, REGIONS, RegionName
from fanweave.golden.isa.cxl_event import VerdictAction
from fanweave.golden.isa.cxl_switch import SwitchError
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR, MapCommand
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import RingQuery
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.registers import Field, Register
from fanweave.golden.isa.riscv_csr import CSRS, Cause
from fanweave.golden.presets import find_preset
from fanweave.golden.ventaglio import config as ventaglio_config
from fanweave.hw.cluster import config as cluster_config
from fanweave.hw.core import config as core_config

__all__ = ["UNITS", "Code", "Layout", "Reset", "Top", "Unit", "find_unit"]


@dataclass(frozen=True, kw_only=True)
class Reset:
    """Reset port of a top; it is sampled by the clock."""

    port: str
    active_low: bool


@dataclass(frozen=True, kw_only=True)
class Top:
    """One way to wrap a unit.

    Attributes
    ----------
    module : str
        Name of the Verilog module, and of its file.
    clock : str
        Clock port.
    reset : Reset
        Reset port.
    description : str
        For the documents.
    build : callable
        Makes the component from a configuration. It imports Amaranth only when called.
    """

    module: str
    clock: str
    reset: Reset
    description: str
    build: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Code:
    """Values of a register field, for the register document."""

    title: str
    values: type[enum.IntEnum]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Fields of what several registers hold together, for the register document."""

    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the product.

    Attributes
    ----------
    name, description : str
        Name on command lines, and one line about it.
    presets : mapping of str to a frozen dataclass
        Named configurations; one is ``default``.
    summary : callable
        Main parameters of a configuration, by heading.
    tops : mapping of str to Top
        By the name that the command knows.
    registers : tuple of Register
        Its register table.
    codes : tuple of Code
        Values of its fields.
    register_rules : tuple of str
        Paragraphs about all of its registers.
    layouts : tuple of Layout
        What is wider than a register.
    csrs : tuple of Register
        Control and status registers, which instructions reach by their numbers.
    """

    name: str
    description: str
    presets: Mapping[str, Any]
    summary: Callable[[Any], dict[str, str]]
    tops: Mapping[str, Top]
    registers: tuple[Register, ...]
    codes: tuple[Code, ...]
    register_rules: tuple[str, ...] = ()
    layouts: tuple[Layout, ...] = ()
    csrs: tuple[Register, ...] = ()

    def preset(self, name: str) -> Any:
        """Look a preset up.

        Raises
        ------
        InputError
            If there is none of this name.
        """
        return find_preset(self.name, name, self.presets)


def _builder(component: str) -> Callable[[Any], Any]:
    """Makes a component, ``module:class``, from a configuration; imported only then."""

    def build(config: Any) -> Any:
        return load_entry(component)(config=config)

    return build


def _plain(*, module: str, component: str, description: str) -> Top:
    """A top with streams, and the clock and reset that Amaranth gives it."""
    return Top(
        module=module,
        clock="clk",
        reset=Reset(port="rst", active_low=False),
        description=description,
        build=_builder(component),
    )


def _ventaglio_summary(config: ventaglio_config.VentaglioConfig) -> dict[str, str]:
    return {
        "formats": " ".join(f.name for f in config.formats),
        "beat bits": str(config.beat_bits),
        "lanes": str(config.lanes),
        "accumulators": str(config.accumulators),
        "banks": str(config.banks),
        "window": str(config.window),
    }


_VENTAGLIO = Unit(
    name="ventaglio",
    description="gather-accumulate-scatter unit for sparse products by Gustavson's dataflow",
    presets=ventaglio_config.PRESETS,
    summary=_ventaglio_summary,
    tops={
        "plain": _plain(
            module="ventaglio",
            component="fanweave.hw.ventaglio.unit:Ventaglio",
            description="Streams with payload, valid and ready; register writes on a stream.",
        ),
        "axi": Top(
            module="ventaglio_axi",
            clock="aclk",
            reset=Reset(port="aresetn", active_low=True),
            description="AXI4-Lite registers and AXI4-Stream data.",
            build=_builder("fanweave.hw.ventaglio.axi:VentaglioAxi"),
        ),
    },
    registers=ventaglio_isa.REGISTERS,
    codes=(
        Code(title="Operations (`command.opcode`)", values=ventaglio_isa.Opcode),
        Code(title="Element formats (`format.element`, `drain.target`)", values=ElementFormat),
        Code(title="Index modes (`format.index_mode`)", values=ventaglio_isa.IndexMode),
        Code(title="Error causes (`error.cause`)", values=ventaglio_isa.ErrorCause),
    ),
)


def _ebpf_summary(config: ebpf_config.EbpfConfig) -> dict[str, str]:
    return {
        "engines": str(config.engines),
        "threads": str(config.threads),
        "program slots": str(config.slots),
        "maps": str(config.maps),
        "value bytes": str(config.value_bytes),
    }


_EBPF = Unit(
    name="ebpf",
    description="policy engine that executes eBPF programs and their maps on events",
    presets=ebpf_config.PRESETS,
    summary=_ebpf_summary,
    tops={
        "plain": _plain(
            module="ebpf",
            component="fanweave.hw.ebpf.policy_engine:PolicyEngine",
            description="Streams of events and verdicts; AXI4-Lite for programs and maps.",
        ),
    },
    registers=ebpf_registers.REGISTERS,
    codes=(
        Code(title="Causes (`verdicts.cause`, `access_status.cause`)", values=FaultCause),
        Code(title="Faults of programs (`commit_status.fault`)", values=LoadFault),
        Code(title="Commands (`operation.command`)", values=MapCommand),
        Code(title="Questions (`operation_place.place` of a query)", values=RingQuery),
    ),
    register_rules=ebpf_registers.RULES,
    layouts=(Layout(title="Descriptor of a map (`descriptor`)", fields=DESCRIPTOR),),
)


def _switch_summary(config: cxl_config.SwitchConfig) -> dict[str, str]:
    return {
        "hosts": str(config.upstream),
        "devices": str(config.downstream),
        "credits": str(config.credits),
        "tag slots": str(config.slots),
        "rules": str(config.rules),
    }


_SWITCH = Unit(
    name="switch",
    description="CXL.mem switch at message level, with a hook for a policy engine",
    presets=cxl_config.PRESETS,
    summary=_switch_summary,
    tops={
        "plain": _plain(
            module="cxl_switch",
            component="fanweave.hw.cxl.switch:Switch",
            description="Streams of messages with credits; register writes on a stream.",
        ),
    },
    registers=cxl_config.PRESETS["default"].registers,
    codes=(
        Code(title="Error causes (`error.cause`)", values=SwitchError),
        Code(title="Actions of verdicts (`verdicts.r0`)", values=VerdictAction),
    ),
)


def _island_summary(config: island_config.IslandConfig) -> dict[str, str]:
    return {**_switch_summary(config.switch), **_ebpf_summary(config.engine)}


_ISLAND = Unit(
    name="island",
    description="CXL.mem switch with its policy engine",
    presets=island_config.PRESETS,
    summary=_island_summary,
    tops={
        "plain": _plain(
            module="cxl_island",
            component="fanweave.hw.cxl.island:Island",
            description="The switch's streams; AXI4-Lite for programs and their maps.",
        ),
    },
    registers=_SWITCH.registers,
    codes=_SWITCH.codes,
    register_rules=(
        "These are the switch's registers, behind `commands` and `read_address`. Those behind "
        "AXI4-Lite are the registers of the unit `ebpf`.",
    ),
)


def _core_summary(config: core_config.ScalarConfig) -> dict[str, str]:
    return {
        "hart": str(config.hart),
        "accesses": str(config.accesses),
        "predicted jumps": str(config.predicted_jumps),
    }


_CORE = Unit(
    name="core",
    description="scalar core of the vector cluster: RV32IMAF, in order, without memories",
    presets=core_config.PRESETS,
    summary=_core_summary,
    tops={
        "plain": _plain(
            module="scalar_core",
            component="fanweave.hw.core.core:Core",
            description="Streams for instructions, data and a vector unit.",
        ),
    },
    registers=(),
    codes=(Code(title="Causes of traps (`halt.cause`, `mcause`)", values=Cause),),
    csrs=CSRS,
)


def _cluster_summary(config: cluster_config.ClusterConfig) -> dict[str, str]:
    ventaglio = config.vector.ventaglio
    return {
        "Ventaglio": "none" if ventaglio is None else f"{len(ventaglio.formats)} formats",
        "cores": str(config.cores),
        "vector bits": str(config.vector.vlen),
        "lanes": str(config.vector.lanes),
        "L1 banks": str(config.l1_banks),
        "instruction bytes": str(config.instruction_bytes),
    }


_PERIPHERALS = next(region for region in REGIONS if region.name is RegionName.PERIPHERALS)


def _peripheral_registers() -> tuple[Register, ...]:
    """The registers of all peripherals, by their place in the peripherals' region."""
    return tuple(
        replace(
            entry,
            name=f"{block.name}_{entry.name}",
            address=(block.base - _PERIPHERALS.base) // 4 + entry.address,
        )
        for block in PERIPHERALS
        for entry in block.registers
    )


_CLUSTER = Unit(
    name="cluster",
    description="vector cluster: cores with vector units and Ventaglio, L1, DMA, peripherals",
    presets=cluster_config.PRESETS,
    summary=_cluster_summary,
    tops={
        "plain": _plain(
            module="cluster",
            component="fanweave.hw.cluster.cluster:Cluster",
            description="Streams of a host and of outer memory; a start address.",
        ),
    },
    registers=_peripheral_registers(),
    codes=(Code(title="Causes of traps (`host_trap_cause.value`, `halts.cause`)", values=Cause),),
    register_rules=(
        f"Programs reach them by loads and stores of words from {_PERIPHERALS.base:#x} on, where "
        "the byte addresses below begin. Registers that instructions reach by numbers are those of "
        "the unit `core`.",
    ),
)

#: Units by name.
UNITS: Mapping[str, Unit] = {
    unit.name: unit for unit in (_VENTAGLIO, _EBPF, _SWITCH, _ISLAND, _CORE, _CLUSTER)
}


def find_unit(name: str) -> Unit:
    """Look a unit up.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name not in UNITS:
        raise InputError(
            f"unknown unit {name!r}; choose one of {', '.join(UNITS)} "
            "(fanweave verilog --list describes them)"
        )
    return UNITS[name]
