"""Looks named configurations of units up."""

from collections.abc import Mapping
from typing import TypeVar

from fanweave.golden.errors import InputError

__all__ = ["find_preset"]

_Config = TypeVar("_Config")


def find_preset(unit: str, name: str, presets: Mapping[str, _Config]) -> _Config:
    """A configuration by its name.

    Parameters
    ----------
    unit : str
        Whose presets they are, for the message.
    name : str
        Name of a preset.
    presets : mapping of str to a configuration
        Those that there are.

    Raises
    ------
    InputError
        If there is no such preset; the message lists those that exist.
    """
    if name not in presets:
        raise InputError(
            f"unknown preset {name!r} of unit {unit}; choose one of {', '.join(sorted(presets))} "
            "(fanweave verilog --list describes them)"
        )
    return presets[name]
