import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.runner import Design, VerilogSource
from fanweave.sim.runner.design import ports_of

ANSI = """
// module other(input wrong);
module top #(parameter W = (1 + 2), parameter D = 3) (
  input wire clk, rst, /* input hidden, */
  input wire [W-1:0] data,
  (* keep *) output reg [7:0] result = 8'd0
);
endmodule
module leaf(a, b, \\odd.name );
  input a;
endmodule
module bare;
endmodule
"""


@pytest.mark.parametrize(
    ("module", "ports"),
    [
        ("top", ("clk", "rst", "data", "result")),
        ("leaf", ("a", "b", "odd.name")),
        ("bare", ()),
        ("other", None),
    ],
)
def test_ports_are_read_from_the_header(module, ports):
    assert ports_of(ANSI, module) == ports


def design(**changes):
    source = VerilogSource(name="top.v", text=ANSI)
    return Design(**{"name": "d", "toplevel": "top", "sources": (source,), **changes})


def test_a_design_knows_its_ports():
    assert design().ports == ("clk", "rst", "data", "result")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"toplevel": "nope"}, "design 'd': no source defines module 'nope'; sources are top.v"),
        (
            {"clock": "clock"},
            "design 'd': module 'top' has no port 'clock' to be its clock; its ports are "
            "clk, rst, data, result",
        ),
        (
            {"sources": (VerilogSource(name="top.v", text=ANSI),) * 2},
            "design 'd' has two sources named top.v",
        ),
    ],
)
def test_a_design_that_cannot_work_is_refused(changes, message):
    with pytest.raises(InputError) as caught:
        design(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["top.vhd", "folder/top.v", "top"])
def test_a_source_needs_a_verilog_name(name):
    with pytest.raises(InputError, match=r"must be a bare file name ending in \.v, \.sv or \.vlt"):
        VerilogSource(name=name, text="")


def test_a_source_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"source .*missing\.v cannot be read"):
        VerilogSource.from_file(tmp_path / "missing.v")
