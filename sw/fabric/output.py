"""What a compilation is written as: objects, sources, maps, a manifest a runtime, a report."""

import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Graph, PlaceKind
from fanweave.golden.isa.bpftime import DEVICE_MAPS
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES
from fanweave.sw.ebpf.object.maps_json import maps_to_json
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.compile import Compilation
from fanweave.sw.fabric.unit import RUNTIMES, budget_of

__all__ = ["MARK", "files_of", "manifest", "report_document", "report_text", "write_folder"]

#: The file by which a folder is known to be one of ours.
MARK = "report.json"


def files_of(compilation: Compilation) -> dict[str, bytes]:
    """All files by name; the same to the byte for the same graph."""
    files: dict[str, bytes] = {}
    for name, built in compilation.built.items():
        files[f"{name}.c"] = built.unit.source.encode()
        files[f"{name}.o"] = built.data
        files[f"{name}.maps.json"] = maps_to_json(built.loaded, built.contents).encode()
    for runtime in dict.fromkeys(built.unit.runtime for built in compilation.built.values()):
        files[f"attach.{runtime}.json"] = _json(manifest(compilation, runtime))
    files[MARK] = _json(report_document(compilation))
    files["report.txt"] = report_text(compilation).encode()
    return files


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def manifest(compilation: Compilation, runtime: str) -> dict[str, Any]:
    """How a runtime attaches its objects, and which states it has to keep up to date."""
    devices = {
        name: {
            "object": f"{name}.o",
            "maps": f"{name}.maps.json",
            "map_types": _map_types(built),
            **built.unit.attach,
            "publishes": [asdict(state) for state in compilation.states if state.owner == name],
            "receives": [asdict(state) for state in compilation.states if state.reader == name],
        }
        for name, built in compilation.built.items()
        if built.unit.runtime == runtime
    }
    return {"graph": compilation.graph.name, "runtime": runtime, "devices": devices}


def _map_types(built: Built) -> dict[str, int]:
    """Numbers of the types of maps as the object has them."""
    numbers = {made.name: int(made.spec.kind) for made in built.loaded.maps}
    if built.unit.runtime == RUNTIMES[PlaceKind.GPU]:
        device = next(row.number for row in DEVICE_MAPS if row.name == "GPU_ARRAY_MAP")
        numbers = dict.fromkeys(numbers, device)
    return numbers


def report_document(compilation: Compilation) -> dict[str, Any]:
    """Which movement each program serves, and what it takes at most."""
    return {
        "graph": compilation.graph.name,
        "programs": [
            {
                "device": name,
                "runtime": built.unit.runtime,
                "program": program.name,
                "section": program.section,
                "steps": list(program.steps),
                "movements": list(program.movements),
                "slots": built.reports[program.name].slots,
                "worst_case_instructions": built.reports[program.name].worst_case_instructions,
                "budget": budget_of(built.unit.place),
                "may_be_late": _may_be_late(built, program.name),
            }
            for name, built in compilation.built.items()
            for program in built.unit.programs
        ],
        "states": [asdict(state) for state in compilation.states],
        "unserved": unserved(compilation),
    }


def _may_be_late(built: Built, program: str) -> bool:
    """Whether a request may have to go on without the verdict, even of an engine that does one
    instruction a cycle."""
    inline = any(
        rule["program"] == program and rule["inline"] for rule in built.unit.attach.get("rules", ())
    )
    worst = built.reports[program].worst_case_instructions
    return inline and worst > MAX_VERDICT_CYCLES


def unserved(compilation: Compilation) -> list[str]:
    """Movements that no program sees."""
    served = {
        name
        for built in compilation.built.values()
        for program in built.unit.programs
        for name in program.movements
    }
    return [name for name in compilation.graph.movements if name not in served]


def report_text(compilation: Compilation) -> str:
    """The report for people."""
    lines = [f"graph {compilation.graph.name}"]
    for row in report_document(compilation)["programs"]:
        late = "; may come later than a request waits" if row["may_be_late"] else ""
        lines += [
            f"{row['device']} ({row['runtime']}): {row['program']}",
            f"  steps: {', '.join(row['steps'])}",
            f"  serves: {', '.join(row['movements']) or 'no movement'}",
            f"  worst case: {row['worst_case_instructions']} of {row['budget']} instructions{late}",
        ]
    for state in compilation.states:
        lines.append(
            f"state {state.name} of {state.owner}: {state.reader} has a copy in {state.copy}, "
            f"every {state.period_ns} ns, for {', '.join(state.movements)}"
        )
    missed = unserved(compilation)
    if missed:
        lines.append(f"without a program: {', '.join(missed)}")
    return "\n".join(lines) + "\n"


def write_folder(folder: Path, files: dict[str, bytes], graph: Graph) -> None:
    """Write all files into a new folder, or in place of one that was written before.

    Raises
    ------
    InputError
        If there is something else, or it cannot be written; then nothing is changed.
    """
    parent = folder.absolute().parent
    if folder.exists() and not (folder.is_dir() and _is_ours(folder)):
        raise InputError(
            f"output {folder} exists and was not written by this command; name a new folder for "
            f"{graph.name}"
        )
    try:
        temporary = Path(tempfile.mkdtemp(dir=parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise InputError(f"output {folder} cannot be written: {error.strerror}") from None
    try:
        made, old = temporary / "new", temporary / "old"
        made.mkdir()
        for name, data in files.items():
            (made / name).write_bytes(data)
        if folder.exists():
            os.replace(folder, old)
        os.replace(made, folder)
    except OSError as error:
        raise InputError(f"output {folder} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    present = list(folder.iterdir())
    return not present or (folder / MARK).is_file()
