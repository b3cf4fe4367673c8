"""The engine ``rtl``: its report of a run, and waveforms with instructions as text."""

from pathlib import Path

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.riscv.cluster import Ending
from fanweave.golden.riscv.program import parse_program
from fanweave.hw.cluster.config import PRESETS
from fanweave.sim.benches.cluster.engine import fpu_utilisation, run
from fanweave.sim.benches.cluster.verilated import program_image, run_cluster
from fanweave.sim.waves.vcd_reader import read_header, read_waveform
from fanweave.sw.kernels.compiler import build_program
from fanweave.sw.kernels.engines import RunRequest, find_engine

pytestmark = pytest.mark.verilator

#: Twenty sums of four elements each, of registers of 128 bits; that many beats of 8 bytes, twice.
SOURCE = """
#include <fanweave/runtime.h>
static float numbers[4] = {1, 2, 3, 4};
int main(void) {
  __asm__ volatile("vsetivli zero, 4, e32, m1, ta, ma");
  __asm__ volatile("vle32.v v1, (%0)" ::"r"(numbers) : "memory");
  for (int i = 0; i < 20; i++) __asm__ volatile("vfadd.vv v2, v2, v1");
  __asm__ volatile("vse32.v v2, (%0)" ::"r"(numbers) : "memory");
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    source = tmp_path_factory.mktemp("program") / "program.c"
    source.write_text(SOURCE)
    return parse_program(build_program([source]), "program")


def test_lanes_are_counted(program):
    config = PRESETS["small"]
    outcome = run_cluster(
        program_image(program, config), boot=program.entry, limit=100_000, config=config
    )
    (core,) = outcome.cores
    counted = core.vector
    assert outcome.ending == "pass"
    # Each element is four bytes, each beat eight.
    assert counted["float_bytes"] == 20 * 4 * 4
    assert counted["working"] == 20 * 2
    assert counted["product_bytes"] == 0
    kinds = ("working", "idle", "memory", "products", "waits")
    assert sum(counted[kind] for kind in kinds) == outcome.cycles
    assert fpu_utilisation(core, outcome.cycles, config) == 320 / (8 * outcome.cycles)


def test_the_report_has_utilisation_and_lost_cycles(program):
    result = run(RunRequest(program=program, preset="small", limit=100_000))
    assert result.ending is Ending.PASS
    assert result.measures["FPU busy"].endswith("%")
    assert "no vector instruction" in result.measures["FPU idle"]
    assert "fetch" in result.measures["no instruction issued"]


@pytest.mark.long("a cluster with waveforms is built for more than a minute")
def test_waves_show_instructions_as_text(program, capsys):
    request = RunRequest(program=program, preset="small", limit=100_000, waves="0:2000")
    assert run(request).ending is Ending.PASS
    said = capsys.readouterr().err
    assert "not in the dump" not in said
    save = said.rpartition("gtkwave ")[2].strip()
    dump = save.replace(".gtkw", ".vcd")
    slots = [f"text.slot_0_{slot}" for slot in range(PRESETS["small"].vector.slots)]
    names = ["text.core_0", "text.execute_0", *slots]
    assert set(names) <= {signal.path for signal in read_header(dump).signals}
    shown = read_waveform(dump, names).changes
    texts = {name: [str(text) for _, text in shown[name]] for name in names}
    adds = [text for text in texts["text.core_0"] if text.startswith("vfadd.vv")]
    assert len(adds) == 20
    for name in slots:
        assert any(text.startswith("vfadd.vv") for text in texts[name]), name
        # What is over is not shown any more.
        assert texts[name][-1] == "", name
    assert "slot_0_0" in Path(save).read_text()


@pytest.mark.parametrize(
    ("engine", "fields", "message"),
    [
        ("golden", {"waves": "0:10"}, "engine golden has no waveform; add --engine rtl"),
        ("rtl", {"waves": "10"}, "window '10' must be FROM:TO in cycles"),
        ("rtl", {"preset": "large"}, "unknown preset 'large' of unit cluster"),
    ],
)
def test_bad_requests_are_refused(program, engine, fields, message):
    with pytest.raises(InputError, match=message):
        find_engine(engine)(RunRequest(program=program, **fields))
