"""Proofs in a block that has something to spare: an adder whose highest bit is never used."""

import pytest

from fanweave.sim.mutation.equivalence import changes_nothing

DESIGN = """
module \\below
  wire input 1 \\a
  wire output 2 \\y
  connect \\y \\a
end
attribute \\top 1
module \\block
  wire input 1 \\clk
  wire width 4 input 2 \\a
  wire width 4 output 3 \\y
  wire output 4 \\z
  wire width 4 \\sum
  wire width 4 \\held
  cell $add $adder
    parameter \\A_SIGNED 0
    parameter \\B_SIGNED 0
    parameter \\A_WIDTH 4
    parameter \\B_WIDTH 4
    parameter \\Y_WIDTH 4
    connect \\A \\a
    connect \\B \\held
    connect \\Y \\sum
  end
  cell $dff $register
    parameter \\CLK_POLARITY 1
    parameter \\WIDTH 4
    connect \\CLK \\clk
    connect \\D { 1'0 \\sum [2:0] }
    connect \\Q \\held
  end
  cell \\below \\instance
    connect \\a \\sum [0]
    connect \\y \\z
  end
  connect \\y { 1'0 \\held [2:0] }
end
"""


def fault(mode, cell, port, bit):
    return f"mutate -mode {mode} -module block -cell {cell} -port {port} -portbit {bit}"


@pytest.mark.parametrize(
    ("line", "nothing"),
    [
        # The highest bit of the sum goes nowhere; the lower ones go on through the register.
        (fault("inv", "$adder", "Y", 3), True),
        (fault("const1", "$adder", "A", 3), True),
        (fault("inv", "$adder", "Y", 2), False),
        (fault("const0", "$adder", "A", 0), False),
        # What a register holds is an output, and what goes to an instance, too.
        (fault("inv", "$register", "D", 0), False),
        (fault("inv", "instance", "a", 0), False),
        # Not so in every state: it is never reached, but that is not looked at.
        (fault("const0", "$register", "D", 3), True),
    ],
)
def test_faults_that_change_nothing(line, nothing):
    assert changes_nothing(DESIGN, line) is nothing


def test_what_yosys_cannot_do_is_not_proved():
    assert not changes_nothing(DESIGN, fault("inv", "nowhere", "Y", 0))
