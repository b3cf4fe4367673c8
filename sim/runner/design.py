"""What is simulated: Verilog sources, a top, and how much of it a dump may show."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fanweave.golden.errors import InputError

__all__ = ["Design", "VerilogSource", "design_from_component", "ports_of"]

_IDENTIFIER = re.compile(r"\\\S+|[A-Za-z_][\w$]*")


@dataclass(frozen=True, kw_only=True)
class VerilogSource:
    """One source file: its name (with extension ``.v``, ``.sv`` or ``.vlt``) and its text."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if Path(self.name).name != self.name or Path(self.name).suffix not in (
            ".v",
            ".sv",
            ".vlt",
        ):
            raise InputError(
                f"source {self.name!r} must be a bare file name ending in .v, .sv or .vlt"
            )

    @classmethod
    def from_file(cls, path: Path | str) -> "VerilogSource":
        """Read a source from a file.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        path = Path(path)
        try:
            return cls(name=path.name, text=path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"source {path} cannot be read: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Design:
    """A design to be Verilated, known by its content.

    Attributes
    ----------
    name
        For messages and reports.
    toplevel
        Name of the top module, which has a definition in `sources`.
    sources
        All of its Verilog; waiver files (``.vlt``) may be among them.
    parameters
        Verilog parameters of the top.
    clock
        Name of the top's clock port.
    trace_max_array
        Memories up to this depth appear in waveforms.
    build_args
        Further arguments of Verilator.
    """

    name: str
    toplevel: str
    sources: tuple[VerilogSource, ...]
    parameters: Mapping[str, int | str] = field(default_factory=lambda: MappingProxyType({}))
    clock: str = "clk"
    trace_max_array: int = 1024
    build_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise InputError(f"design {self.name!r} has two sources named {', '.join(doubled)}")
        if self.clock not in self.ports:
            raise InputError(
                f"design {self.name!r}: module {self.toplevel!r} has no port {self.clock!r} "
                f"to be its clock; its ports are {', '.join(self.ports)}"
            )

    @property
    def ports(self) -> tuple[str, ...]:
        """Names of the top's ports."""
        for source in self.sources:
            if source.name.endswith(".vlt"):
                continue
            found = ports_of(source.text, self.toplevel)
            if found is not None:
                return found
        raise InputError(
            f"design {self.name!r}: no source defines module {self.toplevel!r}; sources are "
            f"{', '.join(source.name for source in self.sources)}"
        )


def ports_of(text: str, module: str) -> tuple[str, ...] | None:
    """Return the port names of a module's header, or None if `text` does not define it."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\(\*.*?\*\)", " ", text, flags=re.DOTALL)
    header = re.search(rf"\bmodule\s+{re.escape(module)}\b\s*", text)
    if header is None:
        return None
    rest = text[header.end() :]
    if rest.startswith("#"):
        _, rest = _parenthesised(rest[1:].lstrip())
    if not rest.lstrip().startswith("("):
        return ()
    inside, _ = _parenthesised(rest.lstrip())
    names = []
    for item in re.sub(r"\[[^\]]*\]", " ", inside).split(","):
        words = _IDENTIFIER.findall(item.partition("=")[0])
        if words:
            names.append(words[-1].removeprefix("\\"))
    return tuple(names)


def _parenthesised(text: str) -> tuple[str, str]:
    """Split "(a (b)) rest" into "a (b)" and " rest"."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:position], text[position + 1 :]
    raise InputError("Verilog source: a parenthesis in a module header is never closed")


def design_from_component(
    component: Any,
    *,
    name: str,
    toplevel: str | None = None,
    extra_sources: Iterable[VerilogSource | Path] = (),
    **options: Any,
) -> Design:
    """Convert an Amaranth component to a design.

    Parameters
    ----------
    component
        The component; becomes the module `name`.
    name
        Name of the design and of the component's module.
    toplevel
        Top module if it is one of `extra_sources`, such as a bench that holds the component.
    extra_sources
        More Verilog: sources, or paths of files.
    **options
        Further fields of `Design`.
    """
    # Only now: Amaranth is slow to import.
    from fanweave.hw.generate.convert import to_verilog

    sources = [VerilogSource(name=f"{name}.v", text=to_verilog(component, name=name))]
    for extra in extra_sources:
        sources.append(
            extra if isinstance(extra, VerilogSource) else VerilogSource.from_file(extra)
        )
    return Design(name=name, toplevel=toplevel or name, sources=tuple(sources), **options)
