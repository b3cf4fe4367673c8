"""The core in Verilator: one program a process, with its trace if that is wanted."""

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cluster import BARRIER, HOST, REGIONS, RegionName, peripheral_address
from fanweave.hw.core.config import ScalarConfig
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.loop import build_loop, member_of

__all__ = [
    "SOURCES",
    "STALLS",
    "CoreMachine",
    "CoreRun",
    "Image",
    "core_design",
    "core_machine",
    "run_core",
]

_NAME = "bare_core"
#: Sources that decide what the conversion gives: those that the core imports, as a test checks.
SOURCES = (
    "golden/errors.py",
    "golden/fp/*.py",
    "golden/isa/*.py",
    "hw/core/*.py",
    "hw/fp/*.py",
    "hw/generate/*.py",
    "hw/stream/*.py",
    "sim/benches/core/bare_core.py",
)
#: Causes of lost cycles, in the order of their bits.
STALLS = ("fetch", "load", "operand", "memory", "offload", "unit", "redirect")

_DIRECTIONS = ("requests", "responses")

#: Stretches of memory: address and bytes.
Image = list[tuple[int, bytes]]


@dataclass(frozen=True, kw_only=True)
class CoreMachine:
    """What executes programs.

    Attributes
    ----------
    design : Design
        A core, alone or with a vector unit.
    label : str
        What it is, for messages.
    lanes : int
        Ports of its vector unit to memory, 0 without one.
    """

    design: Design
    label: str
    lanes: int = 0


def core_machine(config: ScalarConfig) -> CoreMachine:
    """A core without a vector unit."""
    return CoreMachine(design=core_design(config), label="the scalar core")


def core_design(config: ScalarConfig) -> Design:
    """A core without a vector unit."""

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.sim.benches.core.bare_core import BareCore

        return BareCore(config=config)

    return converted_design(build, name=_NAME, key=repr(config), sources=SOURCES)


@dataclass(frozen=True, kw_only=True)
class CoreRun:
    """How a run ended.

    Attributes
    ----------
    ending : str
        ``end`` (the instruction that ends it), ``pass``, ``fail``, ``trap`` (the program says
        so), ``halt`` (a trap without a handler) or ``limit``.
    code : int
        Exit code.
    cycles, instructions : int
        Cycles, and instructions that completed.
    trap : tuple of int
        Cause, address and value, after a trap.
    pc : int
        Of the last instruction.
    output : bytes
        What the program printed.
    stalls : dict of str to int
        Cycles without an instruction, by cause.
    l1, code_memory : ndarray of uint8
        Memories at the end.
    trace : ndarray of uint32, shape (records, 3)
        0 retired or 1 trapped, address, instruction; 2 integer or 3 floating-point register,
        number, value; 4 word that the vector unit stored where that is watched, address, value
        (without regard to bytes that are not stored).
    """

    ending: str
    code: int
    cycles: int
    instructions: int
    trap: tuple[int, int, int]
    pc: int
    output: bytes
    stalls: dict[str, int]
    l1: np.ndarray = field(repr=False)
    code_memory: np.ndarray = field(repr=False)
    trace: np.ndarray = field(repr=False)


def run_core(
    image: Image,
    *,
    boot: int,
    tohost: int = 0,
    end: int = 0,
    limit: int,
    seed: int = 0,
    pause: float = 0.0,
    machine: CoreMachine | None = None,
    traced: bool = False,
    watch: tuple[int, int] = (0, 0),
) -> CoreRun:
    """Run a program.

    Parameters
    ----------
    image : list of (int, bytes)
        Contents of memory.
    boot : int
        First address.
    tohost, end : int
        Addresses of a word, and of an instruction, that end the run; 0 is none.
    limit : int
        Cycles at most.
    seed, pause
        Of pauses of memory, and their chance in a cycle.
    machine : CoreMachine or None
        What runs it; otherwise a core without a vector unit.
    traced : bool
        Whether the trace is wanted.
    watch : tuple of int
        First address and bytes of memory whose stores by the vector unit are in the trace.

    Raises
    ------
    InputError
        If the core does not build.
    FaultError
        If the simulation fails.
    """
    machine = machine or core_machine(ScalarConfig())
    executable = build_loop(
        machine.design, _main_text(machine.lanes), label=f"building {machine.label}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "image", "wb") as stream:
            for address, content in image:
                stream.write(np.array([address, len(content)], np.uint32).tobytes() + content)
        trace = folder / "trace" if traced else "-"
        command: list[object] = [executable, folder / "image", folder / "memory", trace]
        command += [hex(boot), hex(tohost), hex(end), limit, seed, min(255, round(256 * pause))]
        command += [hex(part) for part in watch]
        outcome = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False
        )
        if outcome.returncode != 0:
            raise FaultError(
                f"the simulation of {machine.label} ended with status {outcome.returncode}: "
                f"{outcome.stderr.strip()}"
            )
        memory = np.fromfile(folder / "memory", np.uint8)
        records = np.fromfile(trace, np.uint32) if traced else np.zeros(0, np.uint32)
    return _result(outcome.stdout, memory, records.reshape(-1, 3))


def _result(text: str, memory: np.ndarray, trace: np.ndarray) -> CoreRun:
    *printed, last = text.splitlines()
    ending, *numbers = last.split()
    code, cycles, instructions, cause, pc, value, last_pc, *lost = map(int, numbers)
    size = _region(RegionName.L1).size
    return CoreRun(
        ending=ending,
        code=code,
        cycles=cycles,
        instructions=instructions,
        trap=(cause, pc, value),
        pc=last_pc,
        output=bytes(int(line.split()[1]) for line in printed),
        stalls={name: count for name, count in zip(STALLS, lost, strict=True) if count},
        l1=memory[:size],
        code_memory=memory[size:],
        trace=trace,
    )


def _region(name: RegionName) -> Any:
    return next(region for region in REGIONS if region.name is name)


def _main_text(lanes: int) -> str:
    template = (Path(__file__).resolve().parent / "loop.cpp").read_text()
    text = template.replace("@CONSTANTS@", "\n".join(_constants()))
    return text.replace("@VECTOR_PORTS@", ", ".join(map(_vector_port, range(lanes))))


def _vector_port(lane: int) -> str:
    """References to the members of a port."""
    request, response = (f"top->{member_of(f'vector_{w}__{lane}__')}" for w in _DIRECTIONS)
    members = [f"&{request}valid", f"&{request}ready", f"{request}payload.data()"]
    return "{" + ", ".join([*members, f"&{response}valid", f"&{response}payload"]) + "}"


def _constants() -> list[str]:
    """Addresses, and places of fields in payloads, as C++."""
    from amaranth.lib import data

    from fanweave.hw.core.payloads import DataRequest, DataResponse, Halt, Trace
    from fanweave.hw.vector.memory_payloads import VectorRequest

    values: dict[str, int] = {}
    for prefix, name in (("L1", RegionName.L1), ("Code", RegionName.INSTRUCTIONS)):
        region = _region(name)
        values |= {f"{prefix}Base": region.base, f"{prefix}Size": region.size}
    for peripheral in (HOST, BARRIER):
        for entry in peripheral.registers:
            key = peripheral.name + "_" + entry.name
            values[_camel(key)] = peripheral_address(peripheral, entry.name)
    for prefix, payload in (
        ("Request", DataRequest),
        ("Response", DataResponse),
        ("Vector", VectorRequest),
        ("Halt", Halt),
        ("Trace", Trace),
    ):
        for key, part in data.Layout.cast(payload):
            values[prefix + _camel(str(key))] = part.offset
            if (prefix, key) == ("Halt", "cause"):
                values["HaltCauseWidth"] = part.width
    lines = [f"[[maybe_unused]] constexpr uint32_t k{k} = {v:#x};" for k, v in values.items()]
    lines.append(f"constexpr int kStallCount = {len(STALLS)};")
    lines.append("constexpr uint32_t kHaltFields[] = {kHaltCause, kHaltPc, kHaltValue};")
    return lines


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
