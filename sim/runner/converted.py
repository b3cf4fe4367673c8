"""Verilog of components, converted once for each state of the sources."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import amaranth

import fanweave
from fanweave.golden.files import replace_file
from fanweave.sim.runner.cache import BuildCache, content_key
from fanweave.sim.runner.design import Design, VerilogSource
from fanweave.sim.runner.toolchain import build_root

__all__ = ["MUTATION", "converted_design", "package_texts"]

#: Variable of the environment that asks for faults in whatever is converted, as JSON; see
#: `fanweave.sim.mutation`.
MUTATION = "FANWEAVE_MUTATION"


def package_texts(patterns: Sequence[str]) -> list[str]:
    """Names and texts of files in the package, for a cache's key."""
    root = Path(fanweave.__file__).resolve().parent
    files = [file for pattern in patterns for file in sorted(root.glob(pattern))]
    return [f"{file.relative_to(root)}\n{file.read_text()}" for file in files]


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
    texts = package_texts(sources)

    if asked := os.environ.get(MUTATION):
        return _mutated(build, name, [key, *texts], asked, extra)

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


def _mutated(
    build: Callable[[], Any], name: str, key: list[str], asked: str, extra: Sequence[VerilogSource]
) -> Design:
    """The component with faults in it, and a list of them where it is wanted."""
    from fanweave.sim.mutation.mutants import MutationRequest, mutate

    request = MutationRequest.parse(asked)

    def convert(folder: Path) -> Sequence[Path]:
        from fanweave.hw.generate.convert import to_rtlil

        rtlil = to_rtlil(build(), name=name, sources=True)
        text, mutants = mutate(rtlil, name, request)
        files = folder / f"{name}.v", folder / "mutants.json", folder / "design.il"
        files[2].write_text(rtlil)
        files[0].write_text(text)
        files[1].write_text(json.dumps([asdict(mutant) for mutant in mutants]))
        return files

    entry = BuildCache(build_root() / "converted").obtain(
        content_key([name, asked, amaranth.__version__, *key]),
        convert,
        label=f"putting mutants into {name}",
    )
    listing = Path(request.listing)
    replace_file(listing, (entry.folder / "mutants.json").read_bytes())
    replace_file(listing.with_suffix(".il"), (entry.folder / "design.il").read_bytes())
    verilog = VerilogSource.from_file(entry.folder / f"{name}.v")
    return Design(name=name, toplevel=name, sources=(verilog, *extra))
