"""Compiles functions of this package, see `golden.machine_code`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanweave.golden.machine_code import compile_function

__all__ = ["compiled", "inlined"]

_HERE = Path(__file__).parent


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call."""
    return compile_function(function, _HERE)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function into each that calls it."""
    return compile_function(function, _HERE, inline="always")
