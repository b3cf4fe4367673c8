"""Verilog of components, converted once for each state of the sources."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import amaranth

import fanweave
from fanweave.sim.runner.cache import BuildCache, content_key
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.toolchain import build_root

__all__ = ["converted_design"]


def converted_design(
    build: Callable[[], Any],
    *,
    name: str,
    key: str,
    sources: Sequence[str],
    extra: Sequence[VerilogSource] = (),
) -> Design:
    """A component as a design, with its text from the cache if it is there.

    The conversion takes longer than a short run, so its text is kept by the sources that it comes
    from.

    Parameters
    ----------
    build : callable
        Makes the component.
    name : str
        Name of its module.
    key : str
        What the text depends on beside the sources; its configuration.
    sources : sequence of str
        Patterns of files in the package.
    extra : sequence of VerilogSource
        More Verilog.
    """
    root = Path(fanweave.__file__).resolve().parent
    files = [file for pattern in sources for file in sorted(root.glob(pattern))]
    texts = [f"{file.relative_to(root)}\n{file.read_text()}" for file in files]

    def convert(folder: Path) -> Sequence[Path]:
        # Only now: Amaranth's back end is slow to import.
        from fanweave.hw.generate.convert import to_verilog

        file = folder / f"{name}.v"
        file.write_text(to_verilog(build(), name=name))
        return [file]

    entry = BuildCache(build_root() / "converted").obtain(
        content_key([name, key, amaranth.__version__, *texts]),
        convert,
        label=f"converting {name} to Verilog",
    )
    verilog = VerilogSource.from_file(entry.folder / f"{name}.v")
    return Design(name=name, toplevel=name, sources=(verilog, *extra))
