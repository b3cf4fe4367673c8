import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.runner import Design, VerilogSource, run_bare

COUNTER = VerilogSource(
    name="bare_counter.v",
    text="""
module bare_counter (
  input wire clk, input wire rst, input wire [31:0] goal__value, output reg done
);
  reg [31:0] count;
  always @(posedge clk)
    if (rst) begin count <= 0; done <= 0; end
    else begin count <= count + 1; done <= count + 1 == goal__value; end
endmodule
""",
)


@pytest.fixture(scope="module")
def design():
    return Design(name="bare_counter", toplevel="bare_counter", sources=(COUNTER,))


@pytest.mark.verilator
def test_it_runs_until_a_port_says_so(design):
    result = run_bare(design, cycles=10**6, inputs={"goal__value": 5000}, until="done")
    assert result.cycles == 5000
    assert result.cycles_per_second > 10_000


@pytest.mark.verilator
def test_it_stops_at_the_limit(design):
    result = run_bare(design, cycles=700, inputs={"goal__value": 5000}, until="done")
    assert result.cycles == 700


def test_an_unknown_port_is_refused(design):
    with pytest.raises(InputError) as caught:
        run_bare(design, cycles=1, until="finished")
    assert str(caught.value) == (
        "design 'bare_counter' has no port 'finished'; its ports are clk, rst, goal__value, done"
    )
