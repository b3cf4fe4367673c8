"""Makes identical modules of a Verilog text one module."""

import re

__all__ = ["share_modules"]

_MODULE = re.compile(r"^module (\\\S+|[\w$]+)(?=[\s(]).*?^endmodule\n", re.MULTILINE | re.DOTALL)
#: Names that Yosys makes up; their numbers run through the whole text.
_MADE_UP = re.compile(r"(\$auto\$verilog_backend\.cc:\d+:dump_module\$)(\d+)")


def share_modules(text: str) -> str:
    """Keep one of the modules that differ in nothing but their names.

    Amaranth writes a module for every instance. Shared ones halve the text of a unit with many
    lanes and banks, let synthesis and Verilator treat them once, and change no hierarchy:
    instances keep their names.

    Parameters
    ----------
    text : str
        Verilog by Amaranth, without source locations.

    Returns
    -------
    str
        The same design. A shared module has the name of its first instance.
    """
    modules = {found.group(1): found.group(0) for found in _MODULE.finditer(text)}
    if not modules:
        return text
    preface = text[: text.index(next(iter(modules.values())))]
    while True:  # once for each level of the hierarchy, from the leaves up
        first: dict[str, str] = {}
        replaced: dict[str, str] = {}
        for name, body in modules.items():
            kept = first.setdefault(_anonymous(name, body), name)
            if kept != name:
                replaced[name] = kept
        if not replaced:
            return preface + "\n".join(modules.values())
        modules = {
            name: _with_instances(body, replaced)
            for name, body in modules.items()
            if name not in replaced
        }


def _anonymous(name: str, body: str) -> str:
    """A module's text without its own name and numbers from outside of it."""
    numbers: dict[str, str] = {}
    head, rest = body.split(";", 1)
    # Ports come in any order; instances connect them by name.
    ports = sorted(re.findall(r"\\\S+|[\w$]+", head.partition(name)[2]))
    return " ".join(ports) + _MADE_UP.sub(
        lambda found: found.group(1) + numbers.setdefault(found.group(2), str(len(numbers))),
        rest,
    )


def _with_instances(body: str, replaced: dict[str, str]) -> str:
    """Let instances name the modules that are kept."""
    return re.sub(
        r"^(  )(\\\S+|[\w$]+)(?=\s+(?:\\\S+|[\w$]+)\s*\($)",
        lambda found: found.group(1) + replaced.get(found.group(2), found.group(2)),
        body,
        flags=re.MULTILINE,
    )
