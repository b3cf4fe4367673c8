"""Puts faults into RTL with Yosys: many in one design, of which a file selects one.

A fault inverts a bit, holds it, or takes a neighbour's, at an input or output of one cell. So a
model is built once, and each run of it has another fault.
"""

import json
import random
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from fanweave.golden.errors import InputError

__all__ = ["Mutant", "MutationRequest", "mutate"]

#: The control that selects a fault, and its bits. 0 selects none.
_CONTROL, _BITS = "mutant", 16
#: Of so many more than are asked for, those in the wanted sources are drawn.
_SURPLUS = 40
#: A fault that takes a neighbour's bit may close a loop, through bits that none goes round.
_WAIVER = "/* verilator lint_off UNOPTFLAT */\n"
_SOURCE = re.compile(r"-src (\S+)")
_OPTION = re.compile(r"-(mode|module|cell|port|portbit|ctrlbit) (\S+)")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A fault.

    Attributes
    ----------
    number : int
        What selects it, from 1.
    mode : str
        ``inv``, ``const0``, ``const1``, ``cnot0`` or ``cnot1``, as Yosys names them.
    module : str
        Instance that has it.
    place : str
        Source file and line, from the package's folder on.
    port : str
        Port of the cell, and its bit.
    fault : str
        Yosys's command for it.
    """

    number: int
    mode: str
    module: str
    place: str
    port: str
    fault: str


@dataclass(frozen=True, kw_only=True)
class MutationRequest:
    """What faults a design gets.

    Attributes
    ----------
    sources : tuple of str
        Folders in the package; only what they describe gets any.
    count, seed : int
        How many, and which.
    selected : str
        File with the number of the fault, in hexadecimal; read when a run begins.
    listing : str
        File to which the faults are written as JSON; the design without them goes beside it, with
        the suffix ``.il``.
    """

    sources: tuple[str, ...]
    count: int
    seed: int
    selected: str
    listing: str

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def parse(text: str) -> "MutationRequest":
        """The opposite of `text`."""
        fields = json.loads(text)
        return MutationRequest(**{**fields, "sources": tuple(fields["sources"])})


def mutate(rtlil: str, top: str, request: MutationRequest) -> tuple[str, list[Mutant]]:
    """Put faults into a design.

    Parameters
    ----------
    rtlil : str
        The design, with the file and line of each signal.
    top : str
        Its top module.
    request : MutationRequest
        Which faults.

    Returns
    -------
    verilog : str
        The design with all of them.
    mutants : list of Mutant

    Raises
    ------
    InputError
        If so many faults cannot be had there.
    """
    from fanweave.sim.synthesis.yosys import run_yosys

    read = ("read_rtlil design", f"hierarchy -top {top}", "proc")
    draw = f"mutate -list {_SURPLUS * request.count} -seed {request.seed} -o faults"
    lines = run_yosys((*read, draw), rtlil, subject=f"{top}, its faults")["faults"].splitlines()
    wanted = [line for line in lines if _places(line, request.sources)]
    if len(wanted) < request.count:
        raise InputError(
            f"only {len(wanted)} of {request.count} mutants were found in "
            f"{', '.join(request.sources)} of {top}; ask for fewer"
        )
    chosen = random.Random(request.seed).sample(wanted, request.count)
    apply = [
        line.replace("mutate ", f"mutate -ctrl {_CONTROL} {_BITS} {number} ", 1)
        for number, line in enumerate(chosen, 1)
    ]
    # The control is no port of the top, for its harness knows nothing of it.
    inner = (f"cd {top}", f"delete -port w:{_CONTROL}", "cd ..")
    script = (*read, *apply, *inner, "write_verilog -norename -noattr mutated")
    text = run_yosys(script, rtlil, subject=f"{top} with {request.count} mutants")["mutated"]
    mutants = [_described(line, number, request.sources) for number, line in enumerate(chosen, 1)]
    return _selected_by(text, request.selected), mutants


def _places(line: str, sources: tuple[str, ...]) -> list[str]:
    """Source lines of a fault that are in the wanted folders."""
    found = []
    for place in _SOURCE.findall(line):
        short = place.partition("/fanweave/")[2] or place
        if short.startswith(tuple(f"{folder}/" for folder in sources)):
            found.append(short)
    return found


def _described(line: str, number: int, sources: tuple[str, ...]) -> Mutant:
    options = dict(_OPTION.findall(line))
    return Mutant(
        number=number,
        mode=options["mode"],
        module=options["module"],
        place=_places(line, sources)[0],
        port=f"{options['port']}[{options.get('portbit', '0')}]",
        fault=line.partition(" -src ")[0],
    )


def _selected_by(text: str, selected: str) -> str:
    """Give the control of the top its value from a file."""
    declared = f"  wire [{_BITS - 1}:0] {_CONTROL};\n"
    reading = (
        f"  reg [{_BITS - 1}:0] {_CONTROL}_file [0:0];\n"
        f'  initial $readmemh("{Path(selected).as_posix()}", {_CONTROL}_file);\n'
        f"  wire [{_BITS - 1}:0] {_CONTROL} = {_CONTROL}_file[0];\n"
    )
    tops = [
        found.start()
        for found in re.finditer(re.escape(declared), text)
        if not text[: found.start()].rstrip().endswith(f"input [{_BITS - 1}:0] {_CONTROL};")
    ]
    assert len(tops) == 1, "the control is a port everywhere but in the top"
    return _WAIVER + text[: tops[0]] + reading + text[tops[0] + len(declared) :]
