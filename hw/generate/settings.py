"""Changes single parameters of a configuration from text."""

import dataclasses
import enum
import typing
from collections.abc import Iterable, Iterator, Mapping
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
        enumeration go by their names. A field of a part is ``PART.FIELD``.

    Raises
    ------
    InputError
        If there is no such field, its value does not read, or the configuration refuses it.
    """
    hints = dict(_parameters(config))
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"setting {setting!r} is not of the form FIELD=VALUE")
        if name not in hints:
            raise InputError(f"unknown parameter {name!r}; choose one of {', '.join(hints)}")
        if name in values:
            raise InputError(f"parameter {name!r} is set twice")
        values[name] = _read(name, text, hints[name])
    return _changed(config, values)


def _parameters(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and types of what can be set, those of parts with the part's name before them."""
    for name, kind in typing.get_type_hints(type(config)).items():
        if dataclasses.is_dataclass(kind):
            yield from _parameters(getattr(config, name), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", kind


def _changed(config: Any, values: Mapping[str, Any]) -> Any:
    """All at once in each part, for a part's fields may only fit together."""
    changes: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        part, dot, field = name.partition(".")
        if dot:
            inside.setdefault(part, {})[field] = value
        else:
            changes[name] = value
    for part, fields in inside.items():
        changes[part] = _changed(getattr(config, part), fields)
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
    if dataclasses.is_dataclass(value):
        return as_data(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.name if isinstance(value, enum.Enum) else value
