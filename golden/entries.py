"""Tables of functions that are imported only when one is asked for.

An entry is ``"module:attribute"``. So a table may name what is slow to import, or what stands in
an upper layer, without importing it.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from fanweave.golden.errors import InputError

__all__ = ["find_entry", "load_entry"]


def load_entry(entry: str) -> Any:
    """What an entry stands for."""
    module, attribute = entry.split(":")
    return getattr(importlib.import_module(module), attribute)


def find_entry(what: str, name: str, table: Mapping[str, str]) -> Any:
    """What a name stands for in a table.

    Parameters
    ----------
    what : str
        Kind of the things in the table, for the message.
    name : str
        The name.
    table : mapping of str to str
        Entries by name.

    Raises
    ------
    InputError
        If there is none of this name; the message lists those that there are.
    """
    if name not in table:
        raise InputError(f"{what} {name!r} is not known; choose one of {', '.join(table)}")
    return load_entry(table[name])
