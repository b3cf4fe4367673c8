"""Synthesises for silicon: area in gate equivalents by block, and the longest path."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.share_rtlil import share_rtlil
from fanweave.sim.synthesis.library import (
    CELLS,
    FLIP_FLOP,
    TIES,
    area_of,
    genlib_text,
    liberty_text,
)
from fanweave.sim.synthesis.memories import MACRO_MARK, Memory, find_memories, mark_macros
from fanweave.sim.synthesis.netlist import MACRO
from fanweave.sim.synthesis.timing import LongestPath, longest_path
from fanweave.sim.synthesis.yosys import run_yosys

__all__ = ["AsicArea", "AsicResult", "map_modules", "synthesise_asic", "total_of"]

#: Memories that become flip-flops are taken out into modules of this ending.
_MEMORY = "memory"


@dataclass(frozen=True, kw_only=True)
class AsicArea:
    """What a block takes, what is below it not counted.

    Attributes
    ----------
    block : str
        Path of the block in its top, parts separated by dots; empty for the top itself.
    cells : mapping of str to int
        Cells of the library that are not of memories.
    memory_cells : mapping of str to int
        Cells of memories that are built from flip-flops, with what writes and reads them.
    macro_bits : int
        Bits of memories that would be RAM macros; no area is given for them.
    """

    block: str
    cells: Mapping[str, int] = field(default_factory=dict)
    memory_cells: Mapping[str, int] = field(default_factory=dict)
    macro_bits: int = 0

    @property
    def logic_ge(self) -> float:
        """Area of gates, in gate equivalents."""
        return area_of({kind: n for kind, n in self.cells.items() if kind != FLIP_FLOP})

    @property
    def flip_flops(self) -> int:
        """Flip-flops that are not of memories."""
        return self.cells.get(FLIP_FLOP, 0)

    @property
    def flip_flop_ge(self) -> float:
        """Their area in gate equivalents."""
        return area_of({FLIP_FLOP: self.flip_flops})

    @property
    def memory_flip_flops(self) -> int:
        """Flip-flops of memories."""
        return self.memory_cells.get(FLIP_FLOP, 0)

    @property
    def memory_ge(self) -> float:
        """Area of memories that are no macros, in gate equivalents."""
        return area_of(self.memory_cells)

    @property
    def area_ge(self) -> float:
        """All but macros, in gate equivalents."""
        return self.logic_ge + self.flip_flop_ge + self.memory_ge

    def as_data(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "block": self.block,
            "area_ge": round(self.area_ge, 1),
            "logic_ge": round(self.logic_ge, 1),
            "flip_flops": self.flip_flops,
            "flip_flop_ge": round(self.flip_flop_ge, 1),
            "memory_flip_flops": self.memory_flip_flops,
            "memory_ge": round(self.memory_ge, 1),
            "macro_bits": self.macro_bits,
        }


@dataclass(frozen=True, kw_only=True)
class AsicResult:
    """What a synthesis for silicon comes to.

    Attributes
    ----------
    areas : tuple of AsicArea
        One a block, by name, the top first; their sum is the design.
    path : LongestPath
        The longest path.
    """

    areas: tuple[AsicArea, ...]
    path: LongestPath


def synthesise_asic(rtlil: str, module: str, *, limit: float = 3600.0) -> AsicResult:
    """Map a design to the library's cells, blocks kept apart and equal ones mapped once.

    Nothing is optimised across the borders of blocks, so the sum is an upper limit.

    Parameters
    ----------
    rtlil : str
        The design by `to_rtlil`, with sources for a path that names them.
    module : str
        Its top module.
    limit : float
        Seconds after which Yosys is stopped.

    Raises
    ------
    FaultError
        If Yosys refuses the design or takes too long, or gates form a loop.
    InputError
        If Yosys is not installed.
    """
    shared = share_rtlil(rtlil)
    memories = find_memories(shared.text)
    modules = _mapped(shared.text, memories, subject=module, top=module, limit=limit)
    areas = [
        AsicArea(
            block=block.removeprefix(module).removeprefix("."),
            **_counted(modules, kept, memories),
        )
        for block, kept in shared.kept.items()
    ]
    areas.sort(key=lambda area: area.block)
    return AsicResult(areas=tuple(areas), path=longest_path(modules, module))


def total_of(areas: Sequence[AsicArea], block: str = "") -> AsicArea:
    """Sum of a block and all below it.

    Parameters
    ----------
    areas : sequence of AsicArea
        All of a design.
    block : str
        The block; empty for the whole design.
    """
    cells: Counter[str] = Counter()
    memory_cells: Counter[str] = Counter()
    macro_bits = 0
    for area in areas:
        if not block or area.block == block or area.block.startswith(f"{block}."):
            cells.update(area.cells)
            memory_cells.update(area.memory_cells)
            macro_bits += area.macro_bits
    return AsicArea(block=block, cells=cells, memory_cells=memory_cells, macro_bits=macro_bits)


def map_modules(
    rtlil: str, memories: Mapping[str, Sequence[Memory]], *, subject: str, limit: float
) -> dict[str, dict[str, Any]]:
    """Map modules that need not be a whole design; what is not there is a black box.

    Parameters
    ----------
    rtlil : str
        The modules, and black boxes for others that they hold.
    memories : mapping of str to sequence of Memory
        What the modules have.
    subject : str
        What they are, for messages.
    limit : float
        Seconds after which Yosys is stopped.

    Returns
    -------
    dict of str to dict
        ``cells``, ``memory_cells`` and ``macro_bits`` by module, as `AsicArea` has them.
    """
    modules = _mapped(rtlil, memories, subject=subject, top=None, limit=limit)
    return {
        name: _counted(modules, name, memories)
        for name, each in modules.items()
        if "blackbox" not in each["attributes"]
    }


def _mapped(
    rtlil: str,
    memories: Mapping[str, Sequence[Memory]],
    *,
    subject: str,
    top: str | None,
    limit: float,
) -> dict[str, Any]:
    """The modules as Yosys writes them when they are mapped."""
    files = run_yosys(
        _script(top),
        mark_macros(rtlil, memories),
        subject=subject,
        limit=limit,
        files={"cells.lib": liberty_text(), "cells.genlib": genlib_text()},
    )
    modules: dict[str, Any] = json.loads(files["mapped.json"])["modules"]
    return modules


def _counted(
    modules: Mapping[str, Any], name: str, memories: Mapping[str, Sequence[Memory]]
) -> dict[str, Any]:
    """What a module takes, without what it holds."""
    return {
        "cells": _cells(modules, name),
        "memory_cells": _cells(modules, f"{name}_{_MEMORY}"),
        "macro_bits": sum(each.bits for each in memories.get(name, ()) if each.is_macro),
    }


def _script(module: str | None) -> tuple[str, ...]:
    # Memories that are no macros become modules of their own before they become flip-flops.
    own = f"t:{MACRO} a:{MACRO_MARK} %d"
    return (
        "read_rtlil design",
        f"synth {'' if module is None else f'-top {module} '}-noshare -run begin:fine",
        f'setattr -set submod "{_MEMORY}" {own}',
        "submod",
        "opt -fast -full",
        f"memory_map -attr !{MACRO_MARK}",
        "opt -undriven -fine",
        "techmap",
        "opt -fast",
        "dfflibmap -liberty cells.lib",
        "abc -genlib cells.genlib",
        "opt_clean",
        "write_json mapped.json",
    )


def _cells(modules: Mapping[str, Any], name: str) -> dict[str, int]:
    """Cells of the library in a module; what it holds besides is counted by itself."""
    if name not in modules:
        return {}
    counted = Counter(cell["type"] for cell in modules[name]["cells"].values())
    for kind in counted:
        if kind not in (*CELLS, *TIES, MACRO, *modules):
            raise FaultError(f"yosys uses a cell that the library does not have: {kind}")
    return {kind: number for kind, number in counted.items() if kind in CELLS}
