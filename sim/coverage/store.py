"""Keeps what runs have hit, one file a unit in the build folder."""

import fcntl
import json
import os
from collections import Counter
from pathlib import Path

from fanweave.golden.files import replace_file
from fanweave.sim.coverage.cross import Cell, Hits
from fanweave.sim.runner.converted import MUTATION
from fanweave.sim.runner.toolchain import build_root

__all__ = ["coverage_folder", "read_hits", "record"]


def coverage_folder() -> Path:
    """Where the files are."""
    return build_root() / "coverage"


def read_hits(unit: str) -> dict[str, Counter[Cell]]:
    """What all runs have hit; nothing if there was none, or its file is broken."""
    try:
        kept = json.loads((coverage_folder() / f"{unit}.json").read_text())
        return {
            cross: Counter({tuple(cell.split("|")): int(n) for cell, n in cells.items()})
            for cross, cells in kept.items()
        }
    except (OSError, ValueError, AttributeError):
        return {}


def record(unit: str, hits: Hits) -> None:
    """Add what a run has hit; one of a design with faults put into it counts for nothing."""
    if os.environ.get(MUTATION):
        return
    folder = coverage_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{unit}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        merged = read_hits(unit)
        for cross, cells in hits.items():
            merged.setdefault(cross, Counter()).update(cells)
        kept = {
            cross: {"|".join(cell): n for cell, n in sorted(cells.items())}
            for cross, cells in sorted(merged.items())
        }
        replace_file(folder / f"{unit}.json", json.dumps(kept, indent=0).encode())
