"""The cluster in Verilator: one program a process."""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.riscv.program import Program
from fanweave.hw.cluster.config import ClusterConfig
from fanweave.sim.benches.cluster.loop_text import ACTIVITY, VECTOR_COUNTS, loop_text
from fanweave.sim.benches.core.verilated import STALLS, Image
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.loop import build_loop
from fanweave.sim.runner.progress import Progress

__all__ = [
    "SOURCES",
    "ClusterRun",
    "CoreCounts",
    "OuterMemory",
    "Waves",
    "cluster_design",
    "program_image",
    "run_cluster",
]

_NAME = "cluster"
#: Lanes share their code: half of the C++, built in a fraction of the time, and as fast.
_BUILD_ARGS = ("-fno-inline",)
#: Sources that decide what the conversion gives: those that the cluster imports, as a test checks.
SOURCES = (
    "golden/errors.py",
    "golden/fp/*.py",
    "golden/isa/*.py",
    "golden/presets.py",
    "golden/riscv/config.py",
    "golden/ventaglio/*.py",
    "hw/*.py",
    "hw/cluster/*.py",
    "hw/core/*.py",
    "hw/fp/*.py",
    "hw/generate/*.py",
    "hw/stream/*.py",
    "hw/vector/*.py",
    "hw/ventaglio/*.py",
)


@dataclass(frozen=True, kw_only=True)
class OuterMemory:
    """A model of the memory outside.

    Parameters
    ----------
    latency : int
        Cycles from a request to its response, 1 to 100000.
    bytes_per_cycle : int
        What it moves, loads and stores together; 1 to 64.
    pause : float
        Chance that it, and the host, do nothing in a cycle; below 1.
    seed : int
        Of these pauses.

    Raises
    ------
    InputError
        If one of them is not as said.
    """

    latency: int = 100
    bytes_per_cycle: int = 64
    pause: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, most in (("latency", 100_000), ("bytes_per_cycle", 64)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise InputError(f"{name} is {value!r}; expected an integer from 1 to {most}")
        if not 0 <= self.pause < 1:
            raise InputError(f"pause is {self.pause!r}; expected 0 or more, and less than 1")


@dataclass(frozen=True, kw_only=True)
class Waves:
    """A waveform that is wanted.

    Attributes
    ----------
    dump : Path
        The VCD to write; ten units of its time are a cycle of the program.
    first : int
        First cycle.
    last : int or None
        Last cycle; None is the end.
    """

    dump: Path
    first: int = 0
    last: int | None = None


@dataclass(frozen=True, kw_only=True)
class CoreCounts:
    """What a core did.

    Attributes
    ----------
    pc : int
        Of its last instruction.
    instructions : int
        Those that completed.
    stalls : dict of str to int
        Cycles without an instruction, by cause.
    vector : dict of str to int
        What its vector unit did; see `VECTOR_COUNTS`.
    """

    pc: int
    instructions: int
    stalls: dict[str, int]
    vector: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class ClusterRun:
    """How a run ended.

    Attributes
    ----------
    ending : str
        ``pass``, ``fail``, ``trap`` (the program says so), ``halt`` (a trap without a handler) or
        ``limit``.
    code, hart : int
        Exit code, and who ended the run.
    trap : tuple of int
        Cause, address and value, after a trap.
    cycles : int
        From the start to the end.
    seconds : float
        What their simulation took.
    output : bytes
        What the program printed.
    activity : dict of str to int
        Sums over all cycles; see `Activity`.
    cores : tuple of CoreCounts
    memory : dict of RegionName to ndarray of uint8
        Contents at the end, from the beginning of each region; empty unless they were wanted.
    """

    ending: str
    code: int
    hart: int
    trap: tuple[int, int, int]
    cycles: int
    seconds: float
    output: bytes
    activity: dict[str, int]
    cores: tuple[CoreCounts, ...]
    memory: dict[RegionName, np.ndarray] = field(repr=False)


def cluster_design(config: ClusterConfig) -> Design:
    """A cluster."""

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.cluster.cluster import Cluster

        return Cluster(config=config)

    design = converted_design(build, name=_NAME, key=repr(config), sources=SOURCES)
    return replace(design, build_args=_BUILD_ARGS)


def program_image(program: Program, config: ClusterConfig) -> Image:
    """What a program puts into memory.

    Raises
    ------
    InputError
        If it puts something where the cluster has no memory.
    """
    image = []
    for part in program.segments:
        room = [
            (r.base, config.instruction_bytes if r.name is RegionName.INSTRUCTIONS else r.size)
            for r in REGIONS
            if r.dma
        ]
        if not any(b <= part.address and part.address + part.size <= b + s for b, s in room):
            raise InputError(
                f"{program.name} puts {part.size} bytes at {part.address:#x}; of instructions the "
                f"cluster has {config.instruction_bytes} bytes"
            )
        image.append((part.address, part.data.ljust(part.size, b"\0")))
    return image


def run_cluster(
    image: Image,
    *,
    boot: int,
    tohost: int = 0,
    limit: int,
    config: ClusterConfig | None = None,
    outer: OuterMemory | None = None,
    keep_memory: bool = False,
    waves: Waves | None = None,
) -> ClusterRun:
    """Run a program.

    Parameters
    ----------
    image : list of (int, bytes)
        Contents of memory.
    boot : int
        First address.
    tohost : int
        Address of a word in memory whose store ends the run; 0 is none.
    limit : int
        Cycles at most.
    config : ClusterConfig or None
        Of the cluster.
    outer : OuterMemory or None
        What is outside.
    keep_memory : bool
        Whether contents of memory are wanted at the end.
    waves : Waves or None
        What is dumped.

    Raises
    ------
    InputError
        If the cluster does not build.
    FaultError
        If the simulation fails.
    """
    config, outer = config or ClusterConfig(), outer or OuterMemory()
    executable = build_loop(
        cluster_design(config),
        loop_text(config, stalls=len(STALLS)),
        label=f"building the cluster of {config.cores} cores",
        waves=waves is not None,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "image", "wb") as stream:
            for address, content in image:
                stream.write(np.array([address, len(content)], np.uint32).tobytes() + content)
        memory = folder / "memory" if keep_memory else "-"
        command: list[object] = [executable, folder / "image", memory, hex(boot), hex(tohost)]
        command += [limit, outer.latency, outer.bytes_per_cycle, outer.seed]
        command += [min(255, round(256 * outer.pause))]
        if waves is not None:
            command += [waves.dump, waves.first, limit if waves.last is None else waves.last]
        with Progress("simulating the cluster"):
            outcome = subprocess.run(
                [str(part) for part in command], capture_output=True, text=True, check=False
            )
        if outcome.returncode != 0:
            raise FaultError(
                f"the simulation of the cluster ended with status {outcome.returncode}: "
                f"{outcome.stderr.strip()}"
            )
        contents = _memory(Path(memory).read_bytes()) if keep_memory else {}
    return _result(outcome.stdout, contents)


def _memory(content: bytes) -> dict[RegionName, np.ndarray]:
    """Stretches, by their region."""
    found = {}
    while content:
        base, size = (int(number) for number in np.frombuffer(content[:8], np.uint32))
        region = next(region for region in REGIONS if region.base == base)
        found[region.name] = np.frombuffer(content[8 : 8 + size], np.uint8)
        content = content[8 + size :]
    return found


def _result(text: str, memory: dict[RegionName, np.ndarray]) -> ClusterRun:
    lines = [line.split() for line in text.splitlines()]
    found: dict[str, list[str]] = {name: rest for name, *rest in lines}
    counts = [[int(number) for number in rest] for name, *rest in lines if name == "core"]
    cause, pc, value = (int(number) for number in found["trap"])
    return ClusterRun(
        ending=found["ending"][0],
        code=int(found["code"][0]),
        hart=int(found["hart"][0]),
        trap=(cause, pc, value),
        cycles=int(found["cycles"][0]),
        seconds=float(found["seconds"][0]),
        output=bytes(int(rest[0]) for name, *rest in lines if name == "putchar"),
        activity=dict(zip(ACTIVITY, map(int, found["activity"]), strict=True)),
        cores=tuple(_core(numbers) for numbers in counts),
        memory=memory,
    )


def _core(numbers: Sequence[int]) -> CoreCounts:
    pc, instructions, *lost = numbers
    vector = dict(zip(VECTOR_COUNTS, lost[len(STALLS) :], strict=True))
    causes = zip(STALLS, lost[: len(STALLS)], strict=True)
    stalls = {name: count for name, count in causes if count}
    return CoreCounts(pc=pc, instructions=instructions, stalls=stalls, vector=vector)
