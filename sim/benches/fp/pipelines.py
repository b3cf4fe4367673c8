"""Arithmetic pipelines behind uniform ports, Verilated, and run on files of vectors."""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from fanweave.golden.errors import FaultError, InputError
from fanweave.hw.fp import AccumulatorConverter, MultiplyAccumulate
from fanweave.hw.generate.convert import to_verilog
from fanweave.sim.runner.cache import content_key
from fanweave.sim.runner.toolchain import find_toolchain
from fanweave.sim.runner.verilate import build_cache, shared_runtime

__all__ = ["CONTROL", "Outcome", "VectorBench", "build", "run_vectors"]

_HARNESS = Path(__file__).with_name("harness.cpp")
_OPTIONS = (
    *(
        "--cc",
        "--exe",
        "--build",
        "-O3",
        "--no-assert",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
    ),
    # Widths of intermediate values are what the generator makes of them.
    *("-Wno-fatal", "-Wno-lint"),
    *("--prefix", "Vbench", "--top-module", "bench", "-CFLAGS", "-O2 -std=c++17"),
)

#: Bit positions in the control word: the format or target code is at 0.
CONTROL = {"multiply": 3, "raw": 3, "source_integer": 4}


class VectorBench(wiring.Component):
    """A pipeline with its inputs registered, behind ports of one form for all.

    Parameters
    ----------
    pipeline : MultiplyAccumulate or AccumulatorConverter
        What is tested.

    Members
    -------
    first, second, third : ``In``, 32 bits
        Of a multiply-accumulate a, b and the addend; of a converter accumulator and scale.
    control : ``In``, 8 bits
        Format or target code, and flags at the places named in `CONTROL`.
    result : ``Out``, 32 bits
        Belongs to the inputs of ``latency`` cycles before.
    """

    def __init__(self, pipeline: MultiplyAccumulate | AccumulatorConverter):
        self.pipeline = pipeline
        super().__init__(
            {
                "first": In(32),
                "second": In(32),
                "third": In(32),
                "control": In(8),
                "result": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.pipeline = pipeline = self.pipeline
        control = Signal(8)
        m.d.sync += control.eq(self.control)
        if isinstance(pipeline, MultiplyAccumulate):
            m.d.sync += [
                pipeline.a.eq(self.first),
                pipeline.b.eq(self.second),
                pipeline.addend.eq(self.third),
            ]
            m.d.comb += [
                pipeline.format.eq(control[:3]),
                pipeline.multiply.eq(control[CONTROL["multiply"]]),
                self.result.eq(pipeline.sum),
            ]
        else:
            m.d.sync += [
                pipeline.accumulator.eq(self.first),
                pipeline.scale.eq(self.second),
            ]
            m.d.comb += [
                pipeline.target.eq(control[:3]),
                pipeline.raw.eq(control[CONTROL["raw"]]),
                pipeline.source_integer.eq(control[CONTROL["source_integer"]]),
                self.result.eq(pipeline.bits),
            ]
        return m


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run of vectors gave.

    Attributes
    ----------
    vectors, mismatches : int
        How many there were, and how many differed from what was expected.
    seconds : float
        Time of the loop.
    first_mismatches : tuple of (int, int)
        Position and result of the first of them.
    """

    vectors: int
    mismatches: int
    seconds: float
    first_mismatches: tuple[tuple[int, int], ...]


def build(pipeline: MultiplyAccumulate | AccumulatorConverter) -> Path:
    """Verilate a pipeline, or take it from the cache; the path of the program."""
    toolchain = find_toolchain()
    text = to_verilog(VectorBench(pipeline), name="bench")
    key = content_key([text, _HARNESS.read_text(), toolchain.verilator_version, *_OPTIONS])

    def compile_into(folder: Path) -> Sequence[Path]:
        (folder / "bench.v").write_text(text)
        objects = folder / "objects"
        objects.mkdir()
        with shared_runtime(objects, toolchain, waves=False):
            finished = subprocess.run(
                ["verilator", *_OPTIONS, "--Mdir", str(objects), "bench.v", str(_HARNESS)],
                cwd=folder,
                env=toolchain.environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            if finished.returncode:
                raise InputError(f"the arithmetic bench does not build:\n{finished.stderr[-2000:]}")
        return [objects / "Vbench"]

    name = type(pipeline).__name__
    entry = build_cache().obtain(key, compile_into, label=f"building {name}")
    return entry.folder / "objects" / "Vbench"


def run_vectors(
    program: Path,
    pipeline: MultiplyAccumulate | AccumulatorConverter,
    words: Sequence[NDArray[np.uint32]],
    control: NDArray[np.uint32] | int,
    expected: NDArray[np.uint32],
) -> Outcome:
    """Run vectors through a program made by `build` of the same pipeline.

    Parameters
    ----------
    program : Path
        The program.
    pipeline : MultiplyAccumulate or AccumulatorConverter
        What it was built from.
    words : sequence of arrays of uint32
        First, second and, if there is one, third input word of each vector.
    control : int or array of uint32
        Control word.
    expected : array of uint32
        Expected results.
    """
    records = np.zeros((len(expected), 5), dtype="<u4")
    for column, word in enumerate(words):
        records[:, column] = word
    records[:, 3] = control
    records[:, 4] = expected
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        records.tofile(file.name)
        finished = subprocess.run(
            [str(program), file.name, str(pipeline.latency)],
            capture_output=True,
            text=True,
            check=False,
        )
    if finished.returncode:
        raise FaultError(f"the arithmetic bench failed: {finished.stderr.strip()}")
    lines = [line.split() for line in finished.stdout.splitlines()]
    vectors, mismatches, seconds = lines[0]
    return Outcome(
        vectors=int(vectors),
        mismatches=int(mismatches),
        seconds=float(seconds),
        first_mismatches=tuple((int(position), int(result)) for position, result in lines[1:]),
    )
