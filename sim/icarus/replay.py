"""Plays what one simulator saw at a design's ports in Icarus Verilog, and compares every output.

A dump of a whole run holds the inputs and the outputs of the top after every half of a cycle. A
bench in Verilog gives the inputs to the design again and looks at all outputs after each step, so
any unit can be played, whatever program drove it first.
"""

import bisect
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.icarus import compile_design, find_icarus
from fanweave.sim.waves.vcd_reader import Waveform, read_header, read_waveform

__all__ = ["Port", "Replay", "port_list", "replay"]

_DECLARATION = re.compile(r"^\s*(input|output)\s+(?:\[(\d+):0\]\s*)?(\S+)\s*;", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of the top: its name, its width in bits, and whether the design drives it."""

    name: str
    width: int
    driven: bool


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What was compared.

    Attributes
    ----------
    steps
        Halves of cycles in which all outputs were equal.
    outputs
        Bits that were compared in each.
    """

    steps: int
    outputs: int


def port_list(design: Design) -> list[Port]:
    """Return the ports of a design's top, in the order of their names."""
    for source in design.sources:
        text = re.search(
            rf"^module {re.escape(design.toplevel)}\(.*?^endmodule", source.text, re.M | re.S
        )
        if text is not None:
            found = _DECLARATION.findall(text[0])
            ports = [
                Port(name=name, width=int(high or 0) + 1, driven=direction == "output")
                for direction, high, name in found
            ]
            return sorted(ports, key=lambda port: port.name)
    raise InputError(f"design {design.name!r}: no source defines module {design.toplevel!r}")


def replay(design: Design, dump: Path, folder: Path) -> Replay:
    """Play a dump's inputs again, and compare the outputs.

    Parameters
    ----------
    design
        The design, with the ports ``clk`` and ``rst``.
    dump
        A VCD that begins with a reset, or in the first cycle behind one.
    folder
        Where the files of the run go.

    Raises
    ------
    InputError
        If Icarus Verilog is not installed, or a port is not in the dump.
    FaultError
        If an output differs; the message names the port, the time in the dump and both values.
    """
    program = find_icarus().simulator
    folder.mkdir(parents=True, exist_ok=True)
    ports = port_list(design)
    inputs = [port for port in ports if not port.driven and port.name != design.clock]
    outputs = [port for port in ports if port.driven]
    times, rows = _steps(design, dump, inputs, outputs)
    (folder / "steps.hex").write_text("\n".join(rows) + "\n")
    bench = VerilogSource(name="replay.sv", text=_bench(design, inputs, outputs, steps=len(rows)))
    compiled = folder / "replay.vvp"
    compile_design(design, compiled, bench=[bench], toplevel="replay")
    outcome = subprocess.run(
        [program, "-n", str(compiled)], cwd=folder, capture_output=True, text=True, check=False
    )
    words = next((ln.split() for ln in outcome.stdout.splitlines() if ln.startswith("replay ")), [])
    if words[1:] == ["equal", str(len(rows))]:
        return Replay(steps=len(rows), outputs=sum(port.width for port in outputs))
    if words[1:2] == ["differs"]:
        raise FaultError(_difference(design, outputs, times[int(words[2])], *words[3:]))
    raise FaultError(
        f"Icarus Verilog ended {design.name!r} early (status {outcome.returncode}): "
        f"{(outcome.stderr or outcome.stdout).strip()[-500:]}"
    )


def _steps(
    design: Design, dump: Path, inputs: list[Port], outputs: list[Port]
) -> tuple[list[int], list[str]]:
    """Times in the dump, and a row of the clock, inputs and outputs for each."""
    ports = [*outputs, *inputs, Port(name=design.clock, width=1, driven=False)]
    scopes = [
        signal.scope
        for signal in read_header(dump).signals
        if signal.name == design.clock and signal.scope.rpartition(".")[2] == design.toplevel
    ]
    if not scopes:
        raise InputError(f"waveform {dump} has no scope {design.toplevel!r}: dump the whole design")
    paths = [f"{scopes[0]}.{port.name}" for port in ports]
    waveform = read_waveform(dump, paths)
    times = sorted({time for path in paths for time, _ in waveform.changes[path]})
    width = sum(port.width for port in ports)
    rows = []
    for values in _values(waveform, paths, times):
        row, at = 0, 0
        for port, value in zip(ports, values, strict=True):
            row |= value << at
            at += port.width
        rows.append(f"{row:0{-(-width // 4)}x}")
    return times, rows


def _values(waveform: Waveform, paths: list[str], times: list[int]) -> Iterator[list[int]]:
    """Values of all signals at each time."""
    columns = []
    for path in paths:
        changes = waveform.changes[path]
        starts = [time for time, _ in changes]
        columns.append((starts, [_integer(path, value) for _, value in changes]))
    for time in times:
        yield [values[max(0, bisect.bisect_right(starts, time) - 1)] for starts, values in columns]


def _integer(path: str, value: object) -> int:
    if not isinstance(value, int):
        raise InputError(f"signal {path!r} is {value!r} in the dump: only whole numbers are played")
    return value


def _bench(design: Design, inputs: list[Port], outputs: list[Port], *, steps: int) -> str:
    """The bench: it resets the design, then gives it a row after the other."""
    inside, outside = (sum(port.width for port in ports) for ports in (inputs, outputs))
    lines, at = [], {"inputs": 0, "outputs": 0}
    for port in (*inputs, *outputs):
        bus = "outputs" if port.driven else "inputs"
        lines.append(f"    .{port.name}({bus}[{at[bus]} +: {port.width}])")
        at[bus] += port.width
    reset = next((n for n, port in enumerate(inputs) if port.name == "rst"), None)
    if reset is None:
        raise InputError(f"design {design.name!r} has no port 'rst'")
    bit = sum(port.width for port in inputs[:reset])
    return f"""`timescale 1ns/1ns
module replay;
  reg [{inside + outside}:0] steps [0:{steps - 1}];
  reg clock = 0;
  reg [{inside - 1}:0] inputs = 0;
  wire [{outside - 1}:0] outputs;
  integer step;
  {design.toplevel} unit(
    .{design.clock}(clock),
{("," + chr(10)).join(lines)}
  );
  initial begin
    $readmemh("steps.hex", steps);
    inputs[{bit}] = 1;
    repeat (4) #1 clock = !clock;
    inputs[{bit}] = 0;
    for (step = 0; step < {steps}; step = step + 1) begin
      #1 inputs = steps[step][{outside} +: {inside}];
      #1 clock = steps[step][{inside + outside}];
      #1 if (outputs !== steps[step][0 +: {outside}]) begin
        $display("replay differs %0d %h %h", step, outputs, steps[step][0 +: {outside}]);
        $finish;
      end
    end
    if (step == {steps}) $display("replay equal %0d", step);
    $finish;
  end
endmodule
"""


def _difference(design: Design, outputs: list[Port], time: int, got: str, wanted: str) -> str:
    """Name the first port that differs."""
    width = sum(port.width for port in outputs)
    bits = [_bits(text, width) for text in (got, wanted)]
    at = width
    for port in outputs:
        here, there = (text[at - port.width : at] for text in bits)
        if here != there:
            return (
                f"{design.name}: port {port.name} differs at time {time} of the dump: "
                f"{_show(here)} in Icarus Verilog, {_show(there)} in Verilator"
            )
        at -= port.width
    return f"{design.name}: outputs differ at time {time} of the dump"


def _bits(text: str, width: int) -> str:
    """Digits to bits; unknown ones stay unknown."""
    known = {digit: f"{int(digit, 16):04b}" for digit in "0123456789abcdef"}
    bits = "".join(known.get(digit, digit.lower() * 4) for digit in text.lower())
    return bits[-width:].rjust(width, "0")


def _show(bits: str) -> str:
    return hex(int(bits, 2)) if set(bits) <= {"0", "1"} else f"0b{bits}"
