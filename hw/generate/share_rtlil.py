"""Makes identical modules of an RTLIL text one module."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["SharedDesign", "share_rtlil"]

_MODULE = re.compile(
    r"^(?P<head>(?:attribute [^\n]*\n)*)module (?P<name>\\\S+)\n(?P<body>.*?^end\n)",
    re.MULTILINE | re.DOTALL,
)
_CELL = re.compile(r"^  cell (?P<type>\\\S+) (?P<name>\\\S+)\n(?P<body>.*?)^  end\n", re.M | re.S)
_CONNECT = re.compile(r"^(    connect )(\\\S+)", re.MULTILINE)
#: Public names that carry a number which runs through the whole design.
_NUMBERED = re.compile(r"\\[^\s$]*(?:\$\d+)+")
_NUMBER = re.compile(r"\$\d+")


@dataclass(frozen=True, kw_only=True)
class SharedDesign:
    """A design of which equal modules are one.

    Attributes
    ----------
    text : str
        Its RTLIL.
    kept : mapping of str to str
        Path of each block of the design (``t.a.b``, the top's own name first) to the module that
        describes it, which has the path of the first block like it.
    """

    text: str
    kept: Mapping[str, str]


def share_rtlil(text: str) -> SharedDesign:
    """Keep one of the modules that differ in nothing but their names.

    Synthesis treats each of them once, which saves most of its time where there are many lanes
    and banks.

    Parameters
    ----------
    text : str
        RTLIL by Amaranth: a module for each instance, named by its path.

    Returns
    -------
    SharedDesign
        The same design, its hierarchy and the names of its instances untouched.
    """
    modules = {found["name"]: (found["head"], found["body"]) for found in _MODULE.finditer(text)}
    kept: dict[str, str] = {}
    first: dict[str, str] = {}
    result = dict(modules)
    # The deepest come first: a block is like another only if what is in it is.
    for name in sorted(modules, key=lambda each: each.count("."), reverse=True):
        head, body = result[name]
        body = _with_kept(body, kept, modules)
        result[name] = head, body
        kept[name] = first.setdefault(_anonymous(body), name)
        if kept[name] != name:
            del result[name]
    written = "".join(f"{head}module {name}\n{body}\n" for name, (head, body) in result.items())
    return SharedDesign(
        text=written,
        kept={name[1:]: other[1:] for name, other in kept.items()},
    )


def _anonymous(body: str) -> str:
    """A module's text with names that do not depend on the rest of the design."""
    numbers: dict[str, str] = {}
    return _NUMBERED.sub(
        lambda found: numbers.setdefault(found[0], f"{_NUMBER.sub('$', found[0])}{len(numbers)}"),
        body,
    )


def _with_kept(body: str, kept: Mapping[str, str], modules: Mapping[str, tuple[str, str]]) -> str:
    """Let instances name the modules that are kept, and the ports as they are called there."""

    def renamed(cell: re.Match[str]) -> str:
        kind = cell["type"]
        if kept.get(kind, kind) == kind:
            return cell[0]
        other = kept[kind]
        here, there = (_NUMBERED.findall(modules[each][1]) for each in (kind, other))
        ports = dict(zip(here, there, strict=True))
        connections = _CONNECT.sub(
            lambda found: found[1] + ports.get(found[2], found[2]), cell["body"]
        )
        return f"  cell {other} {cell['name']}\n{connections}  end\n"

    return _CELL.sub(renamed, body)
