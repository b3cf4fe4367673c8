"""All files that are generated for a unit, as texts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from fanweave import __version__
from fanweave.hw.generate.documents import core_description, register_document, waivers
from fanweave.hw.generate.settings import as_data
from fanweave.hw.generate.units import Unit

__all__ = ["package"]


def package(
    unit: Unit,
    config: Any,
    *,
    preset: str,
    tops: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, str]:
    """Generate a unit.

    Parameters
    ----------
    unit : Unit
        The unit.
    config : frozen dataclass
        Its parameters.
    preset : str
        Where they came from, for the map.
    tops : sequence of str
        Names of the tops, in the unit's `tops`.
    progress : callable
        Called with the name of each module before its conversion.

    Returns
    -------
    dict of str to str
        Texts by file name; the same for the same version and parameters, always.
    """
    # Only now: describing hardware is slow to import.
    from fanweave.hw.generate.convert import to_verilog
    from fanweave.hw.generate.ports import port_map

    files: dict[str, str] = {}
    described: dict[str, Any] = {}
    for name in tops:
        top = unit.tops[name]
        progress(top.module)
        component = top.build(config)
        files[f"{top.module}.v"] = to_verilog(component, name=top.module)
        files[f"{top.module}.vlt"] = waivers(f"{top.module}.v")
        described[name] = {
            "module": top.module,
            "file": f"{top.module}.v",
            "description": top.description,
            "ports": port_map(component, top),
        }
    chosen = [(name, unit.tops[name]) for name in tops]
    files[f"{unit.name}.core"] = core_description(unit, chosen, version=__version__)
    files[f"{unit.name}-registers.md"] = register_document(unit)
    document = {
        "unit": unit.name,
        "version": __version__,
        "preset": preset,
        "configuration": as_data(config),
        "tops": described,
        "registers": [
            {"byte_address": 4 * entry.address, **asdict(entry)} for entry in unit.registers
        ],
        "csrs": [{"number": entry.address, **asdict(entry)} for entry in unit.csrs],
    }
    files[f"{unit.name}.json"] = json.dumps(document, indent=2) + "\n"
    return files
