"""Compiled programs on the scalar core in RTL, and the same on golden's."""

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.riscv.cluster import Ending
from fanweave.golden.riscv.program import parse_program
from fanweave.sim.benches.core.engine import run
from fanweave.sim.command import cli
from fanweave.sw.kernels.compiler import build_program
from fanweave.sw.kernels.engines import RunRequest, run_golden

pytestmark = pytest.mark.verilator

PROGRAMS = {
    "sort": """#include <fanweave/runtime.h>
        static uint32_t numbers[100];
        static int check(float *sum) {
          for (int i = 1; i < 100; ++i) {
            if (numbers[i - 1] > numbers[i]) return 1;
            *sum += (float)numbers[i] / (float)i;
          }
          return 0;
        }
        int main(void) {
          uint32_t state = 1;
          for (int i = 0; i < 100; ++i) { state = state * 1103515245u + 12345u;
            numbers[i] = state % 1000u; }
          for (int i = 1; i < 100; ++i)
            for (int j = i; j > 0 && numbers[j - 1] > numbers[j]; --j) {
              uint32_t t = numbers[j]; numbers[j] = numbers[j - 1]; numbers[j - 1] = t; }
          float sum = 0; int bad = check(&sum);
          print("sum "); print_number((uint32_t)sum); print("\\n");
          return bad;
        }""",
    "fail": "int main(void) { return 3; }",
    "illegal": 'int main(void) { __asm__ volatile(".4byte 0xffffffff"); return 0; }',
    "overflow": """static int deeper(volatile int *p) {
        volatile int frame[64]; frame[0] = *p; return deeper(frame) + frame[3]; }
        int main(void) { volatile int x = 1; return deeper(&x); }""",
    "vector": 'int main(void) { __asm__ volatile("vsetivli x0, 4, e32, m1"); return 0; }',
    "endless": 'int main(void) { for (;;) __asm__ volatile(""); }',
    "outer": """#include <fanweave/runtime.h>
        FANWEAVE_OUTER uint32_t far[8] = {1};
        int main(void) { volatile uint32_t at = (uint32_t)far; return at == 0; }""",
}


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def build(name):
        path = folder / f"{name}.elf"
        if not path.exists():
            source = folder / f"{name}.c"
            source.write_text(PROGRAMS[name])
            path.write_bytes(build_program([source]))
        return path

    return build


def play(path, engine, **options):
    program = parse_program(path.read_bytes(), path.name)
    runs = {"rtl": run, "golden": run_golden}
    return runs[engine](RunRequest(program=program, **options))


@pytest.mark.parametrize("name", ["sort", "fail", "illegal", "overflow"])
def test_the_same_as_golden(elf, name):
    rtl, golden = play(elf(name), "rtl"), play(elf(name), "golden")
    assert rtl == golden or (rtl.pcs != golden.pcs and _without_pc(rtl) == _without_pc(golden))
    assert name != "sort" or rtl.output.startswith(b"sum ")


def _without_pc(result):
    """Golden names the next instruction, the RTL the last one."""
    return (result.ending, result.code, result.output, result.instructions, result.trap)


def test_what_there_is_not(elf):
    vector = play(elf("vector"), "rtl")
    assert (vector.ending, vector.trap.cause) == (Ending.TRAP, 2)
    assert play(elf("endless"), "rtl", limit=5000).ending is Ending.LIMIT
    with pytest.raises(InputError, match="engine rtl has one core"):
        play(elf("fail"), "rtl", harts=2)
    with pytest.raises(InputError, match="puts 32 bytes at 0xc0000000; engine rtl has the data"):
        play(elf("outer"), "rtl")


def test_the_command_runs_programs_on_a_cluster(elf):
    small = ["--engine", "rtl", "--config", "small"]
    result = CliRunner().invoke(cli, ["run", str(elf("sort")), *small])
    assert "passed after" in result.output
    assert "cycles: " in result.output
    result = CliRunner().invoke(cli, ["run", str(elf("fail")), *small])
    assert isinstance(result.exception, FaultError)
