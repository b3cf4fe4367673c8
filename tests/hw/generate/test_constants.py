"""Bits that are constant beside others that are not."""

import shutil
import subprocess

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.generate.constants import wake_constant_blocks
from fanweave.hw.generate.convert import to_verilog


class Half(wiring.Component):
    """A payload of which one field depends on an input, under a condition."""

    i: In(4)
    o: Out(data.StructLayout({"low": 4, "high": 4}))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.high.eq(0)
        with m.If(self.i[0]):
            m.d.comb += self.o.low.eq(self.i)
        return m


def test_a_constant_part_is_woken():
    text = to_verilog(Half(), name="half")
    assert "always @*\n    o[7:4] = 4'h0;" not in text
    assert r"    if (\always_wakes ) begin end" in text
    assert text.count(r"reg \always_wakes = 0;") == 1
    assert "    o[7:4] = 4'h0;" in text


def test_other_blocks_stay():
    text = (
        "module a(x);\n  always @*\n    x[1:0] = { 1'h0, y };\n  always @*\n    z = y;\nendmodule\n"
    )
    assert wake_constant_blocks(text) == text


def test_concatenated_constants_are_constant():
    text = "module a(x);\n  always @*\n    x[8:0] = { 1'h0 , 8'hff };\nendmodule\n"
    assert "always_wakes" in wake_constant_blocks(text)


def test_the_block_runs_in_an_event_driven_simulator(tmp_path):
    iverilog = shutil.which("iverilog")
    if iverilog is None:
        pytest.skip("iverilog is not installed")
    bench = (
        "module bench; reg [3:0] i = 5; wire [7:0] o; half dut(.i(i), .o(o));\n"
        'initial begin #1 $display("%b", o); end endmodule\n'
    )
    (tmp_path / "t.v").write_text(to_verilog(Half(), name="half") + bench)
    subprocess.run([iverilog, "-o", tmp_path / "t", tmp_path / "t.v"], check=True)
    shown = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "00000101"
