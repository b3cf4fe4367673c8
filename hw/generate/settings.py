"""Changes single parameters of a configuration from text."""

import dataclasses
import enum
import typing
from collections.abc import Iterable
from typing import Any

from fanweave.golden.errors import InputError

__all__ = ["as_data", "with_settings"]


def with_settings(config: Any, settings: Iterable[str]) -> Any:
    """Return a configuration with other values of some fields.

    Parameters
    ----------
    config : frozen dataclass
        Where the other values come from.
    settings : iterable of str
        ``FIELD=VALUE`` each; a tuple's values are separated by commas, members of an
        enumeration go by their names.

    Raises
    ------
    InputError
        If there is no such field, its value does not read, or the configuration refuses it.
    """
    hints = typing.get_type_hints(type(config))
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"setting {setting!r} is not of the form FIELD=VALUE")
        if name not in hints:
            raise InputError(f"unknown parameter {name!r}; choose one of {', '.join(hints)}")
        if name in changes:
            raise InputError(f"parameter {name!r} is set twice")
        changes[name] = _read(name, text, hints[name])
    return dataclasses.replace(config, **changes)


def _read(name: str, text: str, kind: Any) -> Any:
    if typing.get_origin(kind) is tuple:
        (inner, _) = typing.get_args(kind)
        return tuple(_read(name, part.strip(), inner) for part in text.split(","))
    if issubclass(kind, enum.Enum):
        if text not in kind.__members__:
            raise InputError(
                f"parameter {name}: {text!r} is unknown; choose from {', '.join(kind.__members__)}"
            )
        return kind[text]
    if kind is bool:
        if text not in ("true", "false"):
            raise InputError(f"parameter {name}: {text!r} is neither true nor false")
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"parameter {name}: {text!r} is not of type {kind.__name__}") from None


def as_data(config: Any) -> dict[str, Any]:
    """Fields of a configuration as JSON has them; members of an enumeration by name."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.name if isinstance(value, enum.Enum) else value
