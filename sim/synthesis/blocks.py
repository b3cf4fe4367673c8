"""Areas of large designs: each block is synthesised once, alone, and kept by its content.

A block's cells do not depend on what is around it, as nothing is optimised across borders. So a
design that shares most of its blocks with one that was synthesised before costs little.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.golden.files import replace_file
from fanweave.hw.generate.share_rtlil import SharedDesign, share_rtlil
from fanweave.sim.runner.cache import content_key
from fanweave.sim.runner.toolchain import build_root
from fanweave.sim.synthesis.asic import AsicArea, map_modules
from fanweave.sim.synthesis.library import genlib_text, liberty_text
from fanweave.sim.synthesis.memories import find_memories
from fanweave.sim.synthesis.yosys import yosys_version

__all__ = ["MACRO_READS", "block_areas"]

#: Ports that a RAM macro reads by at most; a memory with more is built from flip-flops.
MACRO_READS = 2
#: Text of blocks that one run of Yosys takes: what it has mapped is kept before the next.
_RUN_BYTES = 2_000_000
#: Changes when the same block would come to another result.
_RECIPE = "1"

_MODULE = re.compile(
    r"^(?:attribute [^\n]*\n)*module \\(?P<name>\S+)\n(?P<body>.*?)^end\n", re.M | re.S
)
_PORT = re.compile(r"^  wire [^\n]*\b(?:input|output) \d+ [^\n]*$", re.MULTILINE)
_CHILD = re.compile(r"^  cell \\(\S+) ", re.MULTILINE)
_NUMBERED = re.compile(r"\\[^\s$]*(?:\$\d+)+")
_NUMBER = re.compile(r"\$\d+")


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A block: its text, its key, and a module with its ports and nothing inside."""

    name: str
    text: str
    key: str
    shell: str
    children: tuple[str, ...]


def block_areas(
    rtlil: str, module: str, *, limit: float = 3600.0, folder: Path | None = None
) -> tuple[AsicArea, ...]:
    """Map a design to the library's cells, each block by itself.

    Parameters
    ----------
    rtlil : str
        The design by `to_rtlil`.
    module : str
        Its top module.
    limit : float
        Seconds after which a run of Yosys is stopped.
    folder : Path or None
        Where blocks are kept; ``build/synth/blocks`` if not given.

    Returns
    -------
    tuple of AsicArea
        One a block, by name, the top first; their sum is the design.

    Raises
    ------
    FaultError
        If Yosys refuses a block or takes too long.
    InputError
        If Yosys is not installed, or a result cannot be kept.
    """
    shared = share_rtlil(rtlil)
    blocks = _blocks(shared)
    place = folder or build_root() / "synth" / "blocks"
    place.mkdir(parents=True, exist_ok=True)
    missing = [block for block in blocks.values() if not (place / f"{block.key}.json").exists()]
    for run in _runs(missing):
        _synthesise(run, blocks, place, limit)
    found: dict[str, dict[str, Any]] = {}
    for name, block in blocks.items():
        found[name] = json.loads((place / f"{block.key}.json").read_text())
    areas = [
        AsicArea(block=path.removeprefix(module).removeprefix("."), **found[kept])
        for path, kept in shared.kept.items()
    ]
    return tuple(sorted(areas, key=lambda area: area.block))


def _blocks(shared: SharedDesign) -> dict[str, _Block]:
    texts = {found["name"]: found for found in _MODULE.finditer(shared.text)}
    shells = {name: "\n".join(_PORT.findall(found["body"])) for name, found in texts.items()}
    tools = [_RECIPE, yosys_version(), liberty_text(), genlib_text()]
    blocks = {}
    for name, found in texts.items():
        children = tuple(dict.fromkeys(_CHILD.findall(found["body"])))
        # What a block holds is known by its ports alone; names of places in the design do not
        # count, nor do numbers that run through all of it.
        text = found["body"]
        for child in sorted(children, key=len, reverse=True):
            text = text.replace(f"cell \\{child} ", f"cell {_anonymous(shells[child])} ")
        blocks[name] = _Block(
            name=name,
            # Yosys would leave out what is not below a top.
            text=found[0].replace("attribute \\top 1\n", ""),
            key=content_key([*tools, _anonymous(text)]),
            shell=f"attribute \\blackbox 1\nmodule \\{name}\n{shells[name]}\nend\n",
            children=children,
        )
    return blocks


def _anonymous(text: str) -> str:
    numbers: dict[str, str] = {}
    return _NUMBERED.sub(
        lambda found: numbers.setdefault(found[0], f"{_NUMBER.sub('$', found[0])}{len(numbers)}"),
        text,
    )


def _runs(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Small blocks first, so that what takes long loses little when it is stopped."""
    run: list[_Block] = []
    size = 0
    for block in sorted({block.key: block for block in blocks}.values(), key=lambda b: len(b.text)):
        if run and size + len(block.text) > _RUN_BYTES:
            yield run
            run, size = [], 0
        run.append(block)
        size += len(block.text)
    if run:
        yield run


def _synthesise(
    run: Sequence[_Block], blocks: Mapping[str, _Block], place: Path, limit: float
) -> None:
    """Map some blocks at once and keep what each comes to."""
    inside = {block.name for block in run}
    around = {child for block in run for child in block.children} - inside
    text = "".join(
        [*(block.text + "\n" for block in run), *(blocks[each].shell for each in sorted(around))]
    )
    subject = f"{len(run)} blocks, {run[-1].name} the largest"
    memories = find_memories(text, macro_reads=MACRO_READS)
    mapped = map_modules(text, memories, subject=subject, limit=limit)
    if lost := sorted(inside - set(mapped)):
        raise FaultError(f"yosys left out {lost[0]}")
    for name in inside:
        replace_file(place / f"{blocks[name].key}.json", json.dumps(mapped[name]).encode())
