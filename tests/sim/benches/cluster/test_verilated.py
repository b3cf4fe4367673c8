"""Programs on a small cluster in Verilator, held against the golden cluster."""

from pathlib import Path

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.riscv.cluster import Cluster, Ending
from fanweave.golden.riscv.program import Program, Segment, parse_program
from fanweave.hw.cluster.config import PRESETS
from fanweave.sim.benches.cluster.verilated import OuterMemory, program_image, run_cluster
from fanweave.sw.kernels.compiler import build_program

pytestmark = pytest.mark.verilator

CONFIG = PRESETS["small"]
#: Scalar: the compiler knows registers of 512 bits, and this cluster has shorter ones.
SOURCE = """
#include <fanweave/runtime.h>

static FANWEAVE_OUTER uint32_t far[256] = {7, 11, 13};
static uint32_t near[256], sums[4];

int main(void) {
  dma_start((uint32_t)near, (uint32_t)far, sizeof(far), 1, 0, 0);
  dma_wait();
  for (int i = 0; i < 256; i++) {
    near[i] += (uint32_t)i * 3;
    __atomic_fetch_add(&sums[i & 3], near[i], __ATOMIC_RELAXED);
  }
  dma_start((uint32_t)far, (uint32_t)near, 16, 8, 48, 64);
  dma_wait();
  print("sum ");
  print_number(sums[0] + sums[1] + sums[2] + sums[3]);
  return 0;
}
"""
TRAP = "#include <fanweave/runtime.h>\nint main(void) { return *(volatile int *)0x40; }\n"
ENDLESS = '#include <fanweave/runtime.h>\nint main(void) { for (;;) print(""); }\n'


def build(tmp_path: Path, text: str):
    source = tmp_path / "program.c"
    source.write_text(text)
    return parse_program(build_program([source]), "program")


def play(program, *, limit=200_000, **outer):
    return run_cluster(
        program_image(program, CONFIG),
        boot=program.entry,
        limit=limit,
        config=CONFIG,
        outer=OuterMemory(**outer),
        keep_memory=True,
    )


@pytest.mark.parametrize(
    "outer", [{}, {"latency": 3, "bytes_per_cycle": 4, "pause": 0.5, "seed": 3}]
)
def test_memory_and_output_are_golden(tmp_path, outer):
    program = build(tmp_path, SOURCE)
    golden = Cluster(program)
    expected = golden.run()
    run = play(program, **outer)
    assert run.ending == "pass"
    assert run.output == expected.output == b"sum 97951"
    assert run.cores[0].instructions >= expected.instructions[0] - 50
    for name in (RegionName.L1, RegionName.OUTER):
        region = next(region for region in REGIONS if region.name is name)
        size = min(len(run.memory[name]), 64 * 1024)
        wanted = golden.memory.span(region.base, size, dma=True)
        differ = np.flatnonzero(run.memory[name][:size] != wanted)
        assert not differ.size, f"{name} differs first at {region.base + int(differ[0]):#x}"


def test_a_slow_outer_memory_takes_longer(tmp_path):
    program = build(tmp_path, SOURCE)
    assert play(program, latency=2000).cycles > play(program, latency=2).cycles + 2 * 1900


def test_a_trap_ends_a_run(tmp_path):
    program = build(tmp_path, TRAP)
    run = play(program)
    expected = Cluster(program).run()
    assert run.ending == "trap"
    assert expected.ending is Ending.TRAP
    assert run.trap == (expected.trap.cause, expected.trap.pc, expected.trap.value)


def test_a_program_without_an_end_is_stopped(tmp_path):
    program = build(tmp_path, ENDLESS)
    run = play(program, limit=3000)
    assert run.ending == "limit"
    assert program.place(run.cores[0].pc).startswith(("main", "print"))


def test_a_program_that_is_too_large_is_refused():
    code = next(region for region in REGIONS if region.name is RegionName.INSTRUCTIONS)
    size = CONFIG.instruction_bytes + 4
    segment = Segment(address=code.base, data=b"", size=size)
    program = Program(name="big", entry=0, segments=(segment,), symbols={}, functions=())
    with pytest.raises(InputError, match=rf"big puts {size} bytes at .*; of instructions"):
        program_image(program, CONFIG)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"latency": 0}, "latency is 0"),
        ({"bytes_per_cycle": 65}, "bytes_per_cycle is 65"),
        ({"pause": 1.0}, "pause is 1.0"),
    ],
)
def test_outer_memories_are_checked(fields, message):
    with pytest.raises(InputError, match=message):
        OuterMemory(**fields)
