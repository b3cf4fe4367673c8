"""The standard cells that a synthesis for silicon maps to: an assumption, with its sources.

Widths and delays are figures of the open library sky130_fd_sc_hd (SkyWater PDK, Apache-2.0):
cells of drive strength 1, corner tt, 25 degrees, 1.8 V. A width is the LEF's ``SIZE`` in sites of
0.46 um; NAND2 has three, and an area in gate equivalents is a width in widths of NAND2. A delay
is read from a cell's tables at an input transition of 53 ps, between the two nearest loads for
one of 7 fF, which is three inputs of NAND2; it is the mean of rise and fall of the last input.
So every fan-out is three and wires weigh nothing: good for ratios and for where the time goes,
not for the clock of a chip.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "CELLS",
    "FLIP_FLOP",
    "SETUP_PS",
    "TIES",
    "Cell",
    "area_of",
    "genlib_text",
    "liberty_text",
]

_SITES_OF_NAND2 = 3


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A standard cell with one output.

    Attributes
    ----------
    name : str
        Name in the Liberty file.
    sites : int
        Width in sites.
    delay_ps : int
        From any input to the output; of the flip-flop, from the clock.
    inputs : tuple of str
        Input pins.
    output : str
        Output pin.
    function : str
        Of the inputs, in Liberty's notation; of the flip-flop, its state.
    """

    name: str
    sites: int
    delay_ps: int
    inputs: tuple[str, ...]
    output: str
    function: str

    @property
    def area_ge(self) -> float:
        """Area in gate equivalents."""
        return self.sites / _SITES_OF_NAND2


#: Name of the flip-flop; it has no reset, which costs gates before its input.
FLIP_FLOP = "DFF"
#: Time before the clock edge at which a flip-flop's input must be there, mean of rise and fall.
SETUP_PS = 84

#: Constants, which ABC wants to be cells; they weigh nothing here.
TIES: Mapping[str, int] = {"ZERO": 0, "ONE": 1}

_AB, _ABC = ("A", "B"), ("A", "B", "C")
#: Cells by name.
CELLS: Mapping[str, Cell] = {
    name: Cell(
        name=name, sites=sites, delay_ps=delay, inputs=inputs, output=output, function=function
    )
    for name, sites, delay, inputs, output, function in (
        ("INV", 3, 65, ("A",), "Y", "!A"),
        ("BUF", 3, 114, ("A",), "Y", "A"),
        ("NAND2", 3, 76, _AB, "Y", "!(A&B)"),
        ("NOR2", 3, 95, _AB, "Y", "!(A|B)"),
        ("NAND3", 4, 104, _ABC, "Y", "!(A&B&C)"),
        ("AOI21", 4, 113, _ABC, "Y", "!((A&B)|C)"),
        ("OAI21", 4, 96, _ABC, "Y", "!((A|B)&C)"),
        ("XOR2", 7, 131, _AB, "Y", "(A&!B)|(!A&B)"),
        ("XNOR2", 7, 142, _AB, "Y", "(A&B)|(!A&!B)"),
        ("MUX2", 9, 281, ("A", "B", "S"), "Y", "(A&!S)|(B&S)"),
        (FLIP_FLOP, 16, 321, ("D",), "Q", "IQ"),
    )
}


def area_of(cells: Mapping[str, int]) -> float:
    """Area of some cells in gate equivalents.

    Parameters
    ----------
    cells : mapping of str to int
        How many of each.
    """
    return sum(number * CELLS[name].area_ge for name, number in cells.items())


def liberty_text() -> str:
    """The library as a Liberty file; delays in ns, areas in gate equivalents."""
    lines = [
        "library (fanweave_assumed) {",
        "  delay_model : table_lookup;",
        '  time_unit : "1ns";',
        '  voltage_unit : "1V";',
        '  current_unit : "1mA";',
        "  capacitive_load_unit (1, ff);",
        "  lu_table_template (constant) {",
        "    variable_1 : input_net_transition;",
        "    variable_2 : total_output_net_capacitance;",
        '    index_1 ("0, 1");',
        '    index_2 ("0, 100");',
        "  }",
    ]
    for cell in CELLS.values():
        lines += _cell_text(cell)
    return "\n".join([*lines, "}"]) + "\n"


def genlib_text() -> str:
    """The gates in the format that ABC maps to best; delays in ps, areas in gate equivalents."""
    lines = []
    for cell in CELLS.values():
        if cell.name == FLIP_FLOP:
            continue
        function = cell.function.replace("&", "*").replace("|", "+")
        arc = f"PIN * UNKNOWN 1 999 {cell.delay_ps} 0 {cell.delay_ps} 0"
        lines.append(f"GATE {cell.name} {cell.area_ge:.4f} {cell.output}={function}; {arc}")
    lines += [f"GATE {name} 0 Y=CONST{value};" for name, value in TIES.items()]
    return "\n".join(lines) + "\n"


def _cell_text(cell: Cell) -> list[str]:
    """A cell's group."""
    lines = [f"  cell ({cell.name}) {{", f"    area : {cell.area_ge:.4f};"]
    if cell.name == FLIP_FLOP:
        lines += [
            '    ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }',
            "    pin (C) { direction : input; capacitance : 1.8; clock : true; }",
        ]
    for name in cell.inputs:
        lines.append(f"    pin ({name}) {{ direction : input; capacitance : 2.3; }}")
    lines += [
        f"    pin ({cell.output}) {{",
        f'      direction : output; function : "{cell.function}";',
    ]
    for name in ("C",) if cell.name == FLIP_FLOP else cell.inputs:
        lines += _arc_text(name, cell)
    return [*lines, "    }", "  }"]


def _arc_text(pin: str, cell: Cell) -> list[str]:
    """The delay from a pin to the output."""
    delay = f"{cell.delay_ps / 1000:.4f}"
    row = f'"{delay}, {delay}"'
    lines = [f'      timing () {{ related_pin : "{pin}";']
    if cell.name == FLIP_FLOP:
        lines.append("        timing_type : rising_edge;")
    for table in ("cell_rise", "cell_fall"):
        lines.append(f"        {table} (constant) {{ values ({row}, {row}); }}")
    for table in ("rise_transition", "fall_transition"):
        lines.append(f'        {table} (constant) {{ values ("0.05, 0.05", "0.05, 0.05"); }}')
    return [*lines, "      }"]
