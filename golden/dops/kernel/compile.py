"""Compiles functions and keeps the machine code for the next process.

Numba's own cache looks at the file of a function alone, and would go on with the old code of
functions that it calls from another file. So the folder of the cache is named after all sources
here.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["compiled", "counted_by_callers"]


@functools.cache
def _folder() -> str:
    here = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(here.glob("*.py")))
    name = f"kernel-{hashlib.sha256(sources).hexdigest()[:16]}"
    home = here / "__pycache__"
    if not os.access(home if home.is_dir() else here, os.W_OK):
        home = Path.home() / ".cache" / "fanweave"
    folder = home / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in home.glob("kernel-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        # Numba finds a place of its own.
        return ""
    return str(folder)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call."""
    return _compiled(function)


def counted_by_callers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that makes no arrays and counts no references to those it is given.

    The machine's functions get dozens of arrays and call one another; counting references at
    each call takes several times as long as what they do. Their callers hold the arrays.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder()
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
