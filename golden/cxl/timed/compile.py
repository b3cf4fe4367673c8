"""Compiles functions of this package, see `golden.machine_code`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanweave.golden.machine_code import compile_function

__all__ = ["compiled"]

_HERE = Path(__file__).parent


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that makes no arrays; its callers hold those that it is given."""
    return compile_function(function, _HERE, _nrt=False)
