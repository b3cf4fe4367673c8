"""Synthesises for the ECP5 family of FPGAs and counts what each block takes."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.sim.synthesis.yosys import run_yosys

__all__ = ["Area", "areas_by_block", "total_area"]

_LUTS_OF = {"LUT4": 1, "CCU2C": 2}
_BLOCK_RAMS = ("DP16KD", "PDPW16KD")
#: Combine two look-up tables, or two of those pairs; every slice has them.
_WIRING = ("PFUMX", "L6MUX21")
_KNOWN = {*_LUTS_OF, *_BLOCK_RAMS, *_WIRING, "MULT18X18D", "TRELLIS_DPR16X4", "TRELLIS_FF"}


@dataclass(frozen=True, kw_only=True)
class Area:
    """What a block takes of an ECP5, what is below it not counted.

    Attributes
    ----------
    block : str
        Path of the block in its top, parts separated by dots; empty for the top itself.
    cells : mapping of str to int
        Primitives of the family by type.
    memory_bits : int
        Bits of its memories that fit neither kind of RAM and are taken apart into flip-flops; an
        upper limit, for bits that nothing reads are dropped.
    """

    block: str
    cells: Mapping[str, int] = field(default_factory=dict)
    memory_bits: int = 0

    @property
    def luts(self) -> int:
        """Look-up tables of four inputs for logic; a carry cell of two bits takes two."""
        return sum(number * self.cells.get(kind, 0) for kind, number in _LUTS_OF.items())

    @property
    def flip_flops(self) -> int:
        """Flip-flops, those of memories among them."""
        return self.cells.get("TRELLIS_FF", 0)

    @property
    def small_rams(self) -> int:
        """Distributed RAMs of 16 x 4 bits; each takes the place of four look-up tables."""
        return self.cells.get("TRELLIS_DPR16X4", 0)

    @property
    def block_rams(self) -> int:
        """Block RAMs of 18 kbit."""
        return sum(self.cells.get(kind, 0) for kind in _BLOCK_RAMS)

    @property
    def multipliers(self) -> int:
        """Multipliers of 18 x 18 bits."""
        return self.cells.get("MULT18X18D", 0)

    def as_data(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "block": self.block,
            "luts": self.luts,
            "flip_flops": self.flip_flops,
            "memory_bits_in_flip_flops": self.memory_bits,
            "distributed_rams": self.small_rams,
            "block_rams": self.block_rams,
            "multipliers": self.multipliers,
            "cells": dict(sorted(self.cells.items())),
        }


def areas_by_block(rtlil: str, module: str, *, limit: float = 3600.0) -> list[Area]:
    """Run ``yosys synth_ecp5`` and keep the hierarchy.

    Nothing is optimised across the borders of blocks, so a flow that takes them apart may come
    out smaller. Nothing is placed or routed.

    Parameters
    ----------
    rtlil : str
        The design; its modules are named by their paths, as `to_rtlil` does.
    module : str
        Its top module.
    limit : float
        Seconds after which Yosys is stopped.

    Returns
    -------
    list of Area
        One a block, by name, the top first. Their sum is the design.

    Raises
    ------
    FaultError
        If Yosys refuses the design or takes too long, or uses a primitive that is not known here.
    InputError
        If Yosys is not installed.
    """
    synth = f"synth_ecp5 -noflatten -top {module}"
    script = (
        "read_rtlil design",
        f"{synth} -run :map_ffram",
        # Memories that are still whole here fit no RAM.
        "select t:$mem_v2",
        "write_json -selected left.json",
        "select -clear",
        f"{synth} -run map_ffram:",
        "tee -q -o cells.json stat -json",
    )
    files = run_yosys(script, rtlil, subject=module, limit=limit)
    left = json.loads(files["left.json"])["modules"]
    modules = json.loads(files["cells.json"])["modules"]
    names = {name.removeprefix("\\") for name in modules}
    return sorted(
        (
            Area(
                block=name.removeprefix("\\").removeprefix(module).removeprefix("."),
                cells=_primitives(found["num_cells_by_type"], names),
                memory_bits=_memory_bits(left.get(name.removeprefix("\\"), {})),
            )
            for name, found in modules.items()
        ),
        key=lambda area: area.block,
    )


def total_area(areas: Sequence[Area], block: str = "") -> Area:
    """Sum of a block and all below it.

    Parameters
    ----------
    areas : sequence of Area
        All of a design.
    block : str
        The block; empty for the whole design.
    """
    inside = [
        area
        for area in areas
        if not block or area.block == block or area.block.startswith(f"{block}.")
    ]
    cells: Counter[str] = Counter()
    for area in inside:
        cells.update(area.cells)
    return Area(block=block, cells=cells, memory_bits=sum(area.memory_bits for area in inside))


def _primitives(cells: Mapping[str, int], modules: set[str]) -> dict[str, int]:
    """Cells that are no instances of modules, which are counted by themselves."""
    primitives = {kind: number for kind, number in cells.items() if kind not in modules}
    for kind in primitives:
        if kind not in _KNOWN:
            raise FaultError(f"yosys uses a primitive that is not known here: {kind}")
    return primitives


def _memory_bits(module: Mapping[str, Any]) -> int:
    parameters = [cell["parameters"] for cell in module.get("cells", {}).values()]
    return sum(int(each["WIDTH"], 2) * int(each["SIZE"], 2) for each in parameters)
