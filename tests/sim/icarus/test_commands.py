import shutil

import pytest
from click.testing import CliRunner

from fanweave.golden.entries import load_entry
from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli
from fanweave.sim.icarus.commands import UNITS
from fanweave.sim.runner import Design, VerilogSource, run


def test_an_unknown_unit_is_named():
    with pytest.raises(InputError, match="unit 'gpu' is not known; choose one of ventaglio, ebpf"):
        CliRunner().invoke(cli, ["icarus", "gpu"], catch_exceptions=False)


def test_every_unit_can_be_played():
    for entry in UNITS.values():
        assert callable(load_entry(entry))


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")
def test_ventaglio_is_bit_exact_in_the_same_cycles(monkeypatch):
    units = load_entry(UNITS["ventaglio"]).__globals__
    monkeypatch.setitem(units, "_PROGRAMS", 1)
    outcome = CliRunner().invoke(cli, ["icarus", "ventaglio"], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    assert "1 programs" in outcome.stdout
    assert "bit-exact with golden in both" in outcome.stdout


def test_waves_are_left_to_verilator(tmp_path):
    from fanweave.sim.runner import WaveWindow

    source = VerilogSource(name="x.v", text="module x(clk);\n  input clk;\nendmodule\n")
    with pytest.raises(InputError, match="Icarus Verilog dumps no waveforms here"):
        run(
            Design(name="x", toplevel="x", sources=(source,)),
            test_module="none",
            results_dir=tmp_path,
            waves=WaveWindow(file=tmp_path / "x.vcd"),
            simulator="icarus",
        )
