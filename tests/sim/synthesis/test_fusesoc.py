"""FuseSoC accepts the core file of every unit, and runs the lint that it describes."""

import subprocess

import pytest

from fanweave import __version__
from fanweave.hw.generate.documents import core_description, waivers
from fanweave.hw.generate.units import UNITS
from fanweave.sim.runner.programs import installed_program
from fanweave.sim.runner.toolchain import find_toolchain

GOOD = """module {module}(input clk, input rst, output reg [3:0] count);
always @(posedge clk) count <= rst ? 4'd0 : count + 4'd1;
endmodule
"""


def fusesoc(folder, *arguments):
    return subprocess.run(
        [installed_program("fusesoc"), "--cores-root", "cores", *arguments],
        cwd=folder,
        env=find_toolchain().environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write_cores(folder, units, verilog):
    """Core files as generated, with some Verilog in place of the units."""
    cores = folder / "cores"
    cores.mkdir()
    for unit in units:
        text = core_description(unit, unit.tops.items(), version=__version__)
        (cores / f"{unit.name}.core").write_text(text)
        for top in unit.tops.values():
            (cores / f"{top.module}.v").write_text(verilog.format(module=top.module))
            (cores / f"{top.module}.vlt").write_text(waivers(f"{top.module}.v"))


def test_every_core_is_accepted(tmp_path):
    write_cores(tmp_path, UNITS.values(), GOOD)
    listed = fusesoc(tmp_path, "core", "list")
    assert listed.returncode == 0, listed.stderr
    for unit in UNITS.values():
        assert f"fanweave:rtl:{unit.name}:{__version__} " in listed.stdout
    shown = fusesoc(tmp_path, "core", "show", "fanweave:rtl:ventaglio")
    assert shown.returncode == 0, shown.stderr
    for top in UNITS["ventaglio"].tops:
        assert f"lint_{top} " in shown.stdout


def test_a_core_with_an_unknown_key_is_not(tmp_path):
    write_cores(tmp_path, [UNITS["core"]], GOOD)
    file = tmp_path / "cores" / "core.core"
    file.write_text(file.read_text().replace("toplevel:", "top_level:"))
    listed = fusesoc(tmp_path, "core", "list")
    assert "fanweave:rtl:core" not in listed.stdout
    assert "top_level" in listed.stderr + listed.stdout


@pytest.mark.verilator
@pytest.mark.parametrize("top", sorted(UNITS["ventaglio"].tops))
def test_the_lint_target_runs_verilator(top, tmp_path):
    write_cores(tmp_path, [UNITS["ventaglio"]], GOOD)
    run = fusesoc(tmp_path, "run", "--target", f"lint_{top}", "fanweave:rtl:ventaglio")
    assert run.returncode == 0, run.stderr
    assert "deprecated" not in run.stderr
    options = next(tmp_path.glob(f"build/**/lint_{top}/*.vc")).read_text().split()
    assert {"--lint-only", "-Wall", UNITS["ventaglio"].tops[top].module} <= set(options)


@pytest.mark.verilator
def test_the_lint_target_fails_on_a_fault(tmp_path):
    write_cores(tmp_path, [UNITS["core"]], GOOD.replace("count + 4'd1", "nothing"))
    run = fusesoc(tmp_path, "run", "--target", "lint_plain", "fanweave:rtl:core")
    assert run.returncode != 0
    assert "nothing" in run.stderr + run.stdout
