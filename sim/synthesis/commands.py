"""``fanweave verilog``: generates a unit's Verilog and the files that go with it."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import click

from fanweave.golden.errors import InputError
from fanweave.hw.generate.documents import register_document
from fanweave.hw.generate.package import package
from fanweave.hw.generate.settings import as_data, with_settings
from fanweave.hw.generate.units import UNITS, Unit, find_unit
from fanweave.sim.report.files import (
    STANDARD,
    check_output,
    check_writable,
    write_json,
    write_text,
)
from fanweave.sim.runner.progress import Progress

__all__ = ["verilog", "write_package"]

_EXAMPLE = """\b
Examples:
  fanweave verilog --list
  fanweave verilog ventaglio --config fp16 --set accumulators=512 -o build/verilog
  fanweave verilog ebpf --for policy.o -o build/verilog
  fanweave verilog ebpf --config tiny --synth ecp5 --json area.json -o build/verilog
"""


@click.command(epilog=_EXAMPLE)
@click.argument("unit_name", metavar="[UNIT]", required=False)
@click.option(
    "--config",
    "preset_name",
    default="default",
    show_default=True,
    metavar="PRESET",
    help="Named configuration.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Another value of one parameter; may be given several times.",
)
@click.option(
    "--for",
    "objects",
    multiple=True,
    metavar="OBJECT",
    help="Of unit ebpf: make memories as large as this eBPF object needs; repeatable.",
)
@click.option(
    "--top",
    metavar="TOP",
    default="all",
    show_default=True,
    help="Which top to write, by its name in the list.",
)
@click.option("-o", "--output", "folder", metavar="DIR", help="Folder for the files.")
@click.option(
    "--synth",
    "flow",
    is_flag=False,
    flag_value="generic",
    type=click.Choice(["generic", "ecp5"]),
    help="Synthesise each top with Yosys: count its cells, or what each block takes of an ECP5.",
)
@click.option("--json", "json_file", metavar="FILE", help="With --synth: write the counts here.")
@click.option("--list", "lists", is_flag=True, help="Describe units, tops and presets.")
@click.option("--registers", is_flag=True, help="Print the register document and nothing else.")
def verilog(
    unit_name: str | None,
    preset_name: str,
    settings: tuple[str, ...],
    objects: tuple[str, ...],
    top: str,
    folder: str | None,
    flow: str | None,
    json_file: str | None,
    lists: bool,
    registers: bool,
) -> None:
    """Generate Verilog of UNIT for synthesis, with its map, core file and register document.

    The files are the same for the same version and parameters, byte for byte.
    """
    if lists:
        _list_units()
        return
    if unit_name is None:
        raise InputError("no unit is named; fanweave verilog --list describes them")
    unit = find_unit(unit_name)
    if registers:
        click.echo(register_document(unit), nl=False)
        return
    if folder is None:
        raise InputError("no folder is named; add -o DIR")
    config = unit.preset(preset_name)
    if objects:
        config = _sized(unit, config, objects)
    config = with_settings(config, settings)
    if top not in ("all", *unit.tops):
        raise InputError(
            f"unit {unit.name} has no top {top!r}; choose one of all, {', '.join(unit.tops)}"
        )
    if json_file is not None and flow is None:
        raise InputError("--json holds what a synthesis counts; add --synth")
    check_output(json_file)
    tops = list(unit.tops) if top == "all" else [top]
    target = _checked_folder(Path(folder))
    with Progress(f"converting {unit.name} to Verilog"):
        files = package(unit, config, preset=preset_name, tops=tops)
    write_package(target, files)
    # The document alone goes to standard output when it was asked for there.
    stream = sys.stderr if json_file == STANDARD else sys.stdout
    for name, text in sorted(files.items()):
        click.echo(f"{target / name}  {len(text.splitlines()):,} lines", file=stream)
    if flow is None:
        return
    if flow == "generic":
        counts = _count_cells(unit, tops, target, stream)
    else:
        counts = _areas(unit, tops, config, stream)
    if json_file is not None:
        document = {"unit": unit.name, "parameters": as_data(config), "flow": flow, "tops": counts}
        write_json(json_file, document)


def _sized(unit: Unit, config: Any, objects: tuple[str, ...]) -> Any:
    """The engine with memories that hold any of some objects."""
    from fanweave.sw.ebpf.object.loader import load_object
    from fanweave.sw.ebpf.object.sizing import sized_for

    if unit.name != "ebpf":
        raise InputError(f"--for sizes the unit ebpf by an object; unit {unit.name} has no maps")
    loaded = []
    for name in objects:
        try:
            loaded.append(load_object(Path(name).read_bytes(), name))
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}") from None
    return sized_for(loaded, config)


def _checked_folder(folder: Path) -> Path:
    """Refuse a folder that cannot be written before any work is done for it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output {folder} is a file; name a folder")
    parent = folder if folder.exists() else folder.absolute().parent
    if not parent.is_dir():
        raise InputError(f"output {folder}: folder {parent} does not exist; create it first")
    check_writable(folder, parent)
    return folder


def write_package(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a package, or leave the folder as it was.

    Parameters
    ----------
    folder : Path
        Is made if its parent exists; files of the same names are replaced.
    files : mapping of str to str
        Texts by file name.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    parent = folder.absolute().parent
    try:
        staged = Path(tempfile.mkdtemp(dir=parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise InputError(f"output {folder} cannot be written: {error.strerror}") from error
    try:
        for name, text in files.items():
            write_text(staged / name, text)
        folder.mkdir(exist_ok=True)
        for name in files:
            os.replace(staged / name, folder / name)
    except OSError as error:
        raise InputError(f"output {folder} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _list_units() -> None:
    from fanweave.sim.report.table import Column, print_table

    for unit in UNITS.values():
        click.echo(f"{unit.name}: {unit.description}")
        for name, top in unit.tops.items():
            click.echo(f"  --top {name:6} module {top.module}: {top.description}")
        summaries = {name: unit.summary(config) for name, config in unit.presets.items()}
        headings = list(next(iter(summaries.values())))
        print_table(
            [
                Column(heading="--config", numeric=False),
                *(Column(heading=h, numeric=h != headings[0]) for h in headings),
            ],
            [[name, *summary.values()] for name, summary in summaries.items()],
        )


def _count_cells(unit: Unit, tops: list[str], folder: Path, stream: TextIO) -> list[dict[str, Any]]:
    from fanweave.sim.report.table import Column, format_number, print_table
    from fanweave.sim.synthesis.yosys import synthesise

    counts = []
    for name in tops:
        module = unit.tops[name].module
        counts.append(synthesise(folder / f"{module}.v", module))
    print_table(
        [
            Column(heading="module", numeric=False),
            Column(heading="cells"),
            Column(heading="of them flip-flops"),
        ],
        [[c.module, format_number(c.cells), format_number(c.flip_flops)] for c in counts],
        title="yosys synth: generic cells, memories taken apart into flip-flops",
        stream=stream,
    )
    return [asdict(count) for count in counts]


def _areas(unit: Unit, tops: list[str], config: Any, stream: TextIO) -> list[dict[str, Any]]:
    from fanweave.hw.generate.convert import to_rtlil
    from fanweave.sim.synthesis.area_table import print_areas
    from fanweave.sim.synthesis.ecp5 import areas_by_block, total_area

    documents = []
    for name in tops:
        top = unit.tops[name]
        areas = areas_by_block(to_rtlil(top.build(config), name=top.module), top.module)
        print_areas(areas, top.module, stream=stream)
        documents.append(
            {
                "module": top.module,
                "total": total_area(areas).as_data(),
                "blocks": [area.as_data() for area in areas],
            }
        )
    return documents
