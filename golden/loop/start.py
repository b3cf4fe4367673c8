"""What the loop begins with: the platform's costs, those of an earlier run, or wrong ones."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

from fanweave.golden.dops.tables import check_keys, number, read_toml
from fanweave.golden.errors import InputError
from fanweave.golden.loop.costs import Cost, Costs, check_cost, costs_from

__all__ = ["PLATFORM", "WRONG", "begin_with"]

#: Names of starts that are no files.
PLATFORM, WRONG = "platform", "wrong"


def begin_with(name: str, costs: Costs) -> dict[str, Cost]:
    """Costs of the first round.

    Parameters
    ----------
    name : str
        ``platform``; ``wrong``, the factors of ``wrong.toml``; a TOML file with a table `factors`
        (pattern of names -> factor) or `values` (pattern -> value), or both; or the JSON of an
        earlier run.
    costs : Costs
        The platform's.

    Raises
    ------
    InputError
        If there is no such file, or it does not fit.
    """
    if name == PLATFORM:
        return dict(costs)
    if name == WRONG:
        text = resources.files(__package__).joinpath("wrong.toml").read_text()
        return _changed("wrong.toml", tomllib.loads(text), costs)
    path = Path(name)
    if path.suffix == ".toml":
        return _changed(name, read_toml(path), costs)
    if path.suffix == ".json":
        return costs_from(name, _rows(path), costs)
    raise InputError(
        f"start costs {name!r} are not known; use {PLATFORM}, {WRONG}, a .toml file of factors, or "
        "the .json of an earlier run"
    )


def _rows(path: Path) -> list[Any]:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    rows = document.get("costs") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{path}: 'costs' is missing; use the JSON of `fanweave system run`")
    return rows


def _changed(where: str, table: Mapping[str, Any], costs: Costs) -> dict[str, Cost]:
    check_keys(where, table, required=(), optional=("factors", "values"))
    found = dict(costs)
    for key in ("factors", "values"):
        rows = table.get(key, {})
        if not isinstance(rows, dict):
            raise InputError(f"{where}: {key} must be a table of patterns and numbers")
        for pattern, given in rows.items():
            amount = number(where, pattern, given)
            names = [name for name in costs if fnmatchcase(name, pattern)]
            if not names:
                raise InputError(
                    f"{where}: {key}: no cost is like {pattern!r}; they are such as "
                    f"{', '.join(list(costs)[:2])}"
                )
            for name in names:
                was = found[name]
                value = was.value * amount if key == "factors" else amount
                words = f"{amount:g} times {was.source}" if key == "factors" else where
                found[name] = replace(was, value=value, origin="assumed", source=words)
                check_cost(where, name, found[name], costs)
    return found
