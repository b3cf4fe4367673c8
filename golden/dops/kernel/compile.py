"""Compiles functions of this package, see `golden.machine_code`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanweave.golden.machine_code import compile_function

__all__ = ["compiled", "counted_by_callers"]

_HERE = Path(__file__).parent


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call."""
    return compile_function(function, _HERE)


def counted_by_callers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that makes no arrays and counts no references to those it is given.

    The machine's functions get dozens of arrays and call one another; counting references at
    each call takes several times as long as what they do. Their callers hold the arrays.
    """
    return compile_function(function, _HERE, _nrt=False)
