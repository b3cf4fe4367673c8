import shutil
import textwrap

import pytest

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.icarus.replay import Port, port_list, replay
from fanweave.sim.runner import Design, VerilogSource

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")
COUNTER = """
module counter(clk, rst, step, count, odd);
  input clk;
  input rst;
  input [3:0] step;
  output [7:0] count;
  output odd;
  reg [7:0] count = 8'h00;
  assign odd = count[0];
  always @(posedge clk) if (rst) count <= 8'h00; else count <= count {sign} step;
endmodule
"""
#: The first cycle behind a reset, with a step of 3, and one with a step of 4.
DUMP = textwrap.dedent("""\
    $timescale 1ns $end
    $scope module counter $end
    $var wire 1 ! clk $end
    $var wire 1 " rst $end
    $var wire 4 # step $end
    $var wire 8 $ count $end
    $var wire 1 % odd $end
    $upscope $end
    $enddefinitions $end
    #0
    0!
    0"
    b0011 #
    b00000000 $
    0%
    #5
    1!
    b00000011 $
    1%
    #10
    0!
    b0100 #
    #15
    1!
    b00000111 $
    """)


def design(sign="+"):
    source = VerilogSource(name="counter.v", text=COUNTER.format(sign=sign))
    return Design(name="counter", toplevel="counter", sources=(source,))


def written(folder):
    file = folder / "run.vcd"
    file.write_text(DUMP)
    return file


def test_ports_have_widths_and_directions():
    assert port_list(design()) == [
        Port(name="clk", width=1, driven=False),
        Port(name="count", width=8, driven=True),
        Port(name="odd", width=1, driven=True),
        Port(name="rst", width=1, driven=False),
        Port(name="step", width=4, driven=False),
    ]


@needs_icarus
def test_equal_outputs_are_counted(tmp_path):
    outcome = replay(design(), written(tmp_path), tmp_path / "run")
    assert (outcome.steps, outcome.outputs) == (4, 9)


@needs_icarus
def test_the_first_port_that_differs_is_named(tmp_path):
    message = "port count differs at time 5 of the dump: 0xfd in Icarus Verilog, 0x3 in Verilator"
    with pytest.raises(FaultError, match=message):
        replay(design(sign="-"), written(tmp_path), tmp_path / "run")


@needs_icarus
def test_an_unknown_output_differs(tmp_path):
    text = COUNTER.format(sign="+").replace("assign odd = count[0];", "")
    undriven = Design(
        name="counter", toplevel="counter", sources=(VerilogSource(name="c.v", text=text),)
    )
    with pytest.raises(FaultError, match=r"port odd differs at time 0 .*: 0bz in Icarus"):
        replay(undriven, written(tmp_path), tmp_path / "run")


@needs_icarus
def test_verilog_that_is_none_is_refused_with_its_line(tmp_path):
    text = COUNTER.format(sign="+").replace("assign odd", "assing odd")
    broken = Design(
        name="counter", toplevel="counter", sources=(VerilogSource(name="c.v", text=text),)
    )
    with pytest.raises(FaultError, match=r"refuses 'counter':\n.*c\.v:"):
        replay(broken, written(tmp_path), tmp_path / "run")


@needs_icarus
def test_a_dump_of_something_else_is_refused(tmp_path):
    file = tmp_path / "other.vcd"
    file.write_text(DUMP.replace("module counter", "module timer"))
    with pytest.raises(InputError, match="has no scope 'counter'"):
        replay(design(), file, tmp_path / "run")


def test_without_icarus_the_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"missing Icarus Verilog .* iverilog"):
        replay(design(), written(tmp_path), tmp_path / "run")
