"""Reads tables of TOML or JSON with exact messages for whatever does not fit."""

import difflib
import math
import tomllib
from collections.abc import Collection, Mapping
from importlib.abc import Traversable
from pathlib import Path
from typing import Any

from fanweave.golden.errors import InputError

__all__ = [
    "check_keys",
    "find_toml",
    "names",
    "nearest",
    "number",
    "read_toml",
    "shipped_names",
    "text",
    "whole",
]

_TOML = ".toml"


def nearest(name: str, known: Collection[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known name next to a wrong one, or nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InputError
        If it cannot be read or is no TOML.
    """
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def shipped_names(folder: Traversable) -> list[str]:
    """Names of the TOML files in a folder that comes with the package."""
    names = (file.name for file in folder.iterdir())
    return sorted(name.removesuffix(_TOML) for name in names if name.endswith(_TOML))


def find_toml(what: str, name: str, folder: Traversable) -> Path:
    """The file that a name stands for: one that comes with the package, or the user's own.

    Parameters
    ----------
    what
        What is described there, for the message.
    name
        Name of a shipped one, or a file that ends in ``.toml``.
    folder
        Where the shipped ones are, as `importlib.resources` has it.

    Raises
    ------
    InputError
        If it is neither; the nearest known name is suggested.
    """
    known = shipped_names(folder)
    if name in known:
        return Path(str(folder.joinpath(f"{name}{_TOML}")))
    if name.endswith(_TOML):
        return Path(name)
    raise InputError(
        f"{what} {name!r} is not known{nearest(name.lower(), known)}; use a {_TOML} file or one of "
        f"{', '.join(known)}"
    )


def check_keys(
    where: str, table: Mapping[str, Any], *, required: Collection[str], optional: Collection[str]
) -> None:
    """Refuse what is no table, keys that mean nothing and missing ones.

    Parameters
    ----------
    where
        What the table is, for the message.
    table
        The table.
    required, optional
        Keys that must and may be there.

    Raises
    ------
    InputError
        For the first thing that does not fit; the nearest known key is suggested.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} = {table!r} must be a table of keys and values")
    known = [*required, *optional]
    for key in table:
        if key not in known:
            raise InputError(
                f"{where}: unknown key {key!r}{nearest(key, known)} "
                f"(known keys: {', '.join(sorted(known))})"
            )
    for key in required:
        if key not in table:
            raise InputError(f"{where}: key {key!r} is missing; add it")


def names(where: str, key: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings that are not empty.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, list):
        raise InputError(f"{where}: {key} = {value!r} must be a list of names")
    return tuple(text(where, key, name) for name in value)


def number(
    where: str,
    key: str,
    value: Any,
    *,
    least: float = 0.0,
    most: float = math.inf,
    strict: bool = False,
) -> float:
    """Return a finite number of at least (or, if strict, more than) `least`, and at most `most`.

    Raises
    ------
    InputError
        If it is none.
    """
    good = not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    if not good or not least <= value <= most or (strict and value == least):
        sign = "more than" if strict else "at least"
        limit = f" and at most {most:g}" if most < math.inf else ""
        raise InputError(
            f"{where}: {key} = {value!r} must be a finite number, {sign} {least:g}{limit}"
        )
    return float(value)


def whole(where: str, key: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Return an integer of at least `least`, and at most `most` if that is given.

    Raises
    ------
    InputError
        If it is none.
    """
    good = not isinstance(value, bool) and isinstance(value, int)
    if not good or value < least or (most is not None and value > most):
        limit = "" if most is None else f" and at most {most}"
        raise InputError(
            f"{where}: {key} = {value!r} must be an integer of at least {least}{limit}"
        )
    return value


def text(where: str, key: str, value: Any, *, one_of: Collection[str] = ()) -> str:
    """Return a string, one of those given if any are.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {key} = {value!r} must be a string that is not empty")
    if one_of and value not in one_of:
        raise InputError(
            f"{where}: {key} = {value!r} must be one of {', '.join(one_of)}{nearest(value, one_of)}"
        )
    return value
