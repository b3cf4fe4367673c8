"""Finds the memories of a design, and marks those that a chip would build as RAM macros."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MACRO_BITS", "MACRO_MARK", "Memory", "find_memories", "mark_macros"]

#: A memory of so many bits or more, read by the clock alone, is a macro.
MACRO_BITS = 2048
#: Attribute of a memory that is one.
MACRO_MARK = "fanweave_macro"

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end\n", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^  memory width (\d+) size (\d+) \\(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^  cell \$mem(rd|wr)_v2 .*\n((?:    parameter .*\n)*)", re.MULTILINE)
_MEMID = re.compile(r'\\MEMID "\\\\(\S+)"')
_CLOCKED = re.compile(r"\\CLK_ENABLE (?:1'1|1)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory of a block.

    Attributes
    ----------
    name : str
        Its name in the block.
    width, depth : int
        Bits of a word, and words.
    reads, writes : int
        Ports.
    clocked : bool
        Whether every read is at a clock edge.
    macro_reads : int or None
        Read ports that a macro has at most; None is any number.
    """

    name: str
    width: int
    depth: int
    reads: int
    writes: int
    clocked: bool
    macro_reads: int | None = None

    @property
    def bits(self) -> int:
        """All of them."""
        return self.width * self.depth

    @property
    def is_macro(self) -> bool:
        """Whether a chip would have a RAM macro for it; what is never written is logic."""
        few = self.macro_reads is None or self.reads <= self.macro_reads
        return self.clocked and self.writes > 0 and self.bits >= MACRO_BITS and few


def find_memories(rtlil: str, *, macro_reads: int | None = None) -> dict[str, list[Memory]]:
    """The memories of each module that has any.

    Parameters
    ----------
    rtlil : str
        A design by Amaranth.
    macro_reads : int or None
        Read ports that a macro has at most; None is any number.
    """
    found = {}
    for module in _MODULE.finditer(rtlil):
        memories = _memories(module[2], macro_reads)
        if memories:
            found[module[1]] = memories
    return found


def mark_macros(rtlil: str, memories: Mapping[str, Sequence[Memory]]) -> str:
    """Give the memories that are macros the attribute that keeps them whole.

    Parameters
    ----------
    rtlil : str
        The design.
    memories : mapping of str to sequence of Memory
        What it has, from `find_memories`.
    """
    mark = f"  attribute \\{MACRO_MARK} 1\n"

    def marked(module: re.Match[str]) -> str:
        macros = {each.name for each in memories.get(module[1], ()) if each.is_macro}
        if not macros:
            return module[0]
        return _MEMORY.sub(lambda line: mark + line[0] if line[3] in macros else line[0], module[0])

    return _MODULE.sub(marked, rtlil)


def _memories(body: str, macro_reads: int | None) -> list[Memory]:
    ports: dict[str, dict[str, list[bool]]] = {}
    for port in _PORT.finditer(body):
        named = _MEMID.search(port[2])
        if named is not None:
            kinds = ports.setdefault(named[1], {"rd": [], "wr": []})
            kinds[port[1]].append(_CLOCKED.search(port[2]) is not None)
    return [
        Memory(
            name=line[3],
            width=int(line[1]),
            depth=int(line[2]),
            reads=len(ports.get(line[3], {}).get("rd", ())),
            writes=len(ports.get(line[3], {}).get("wr", ())),
            clocked=all(ports.get(line[3], {}).get("rd", ())),
            macro_reads=macro_reads,
        )
        for line in _MEMORY.finditer(body)
    ]
