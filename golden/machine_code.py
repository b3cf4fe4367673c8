"""Compiles functions and keeps the machine code for the next process.

Numba's own cache looks at the file of a function alone, and would go on with the old code of
functions that it calls from another file. So the folder of the cache is named after all sources of
a package.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["compile_function"]


@functools.cache
def _folder(here: Path) -> str:
    sources = b"".join(path.read_bytes() for path in sorted(here.glob("*.py")))
    kind = f"{here.parent.name}-{here.name}"
    name = f"{kind}-{hashlib.sha256(sources).hexdigest()[:16]}"
    home = here / "__pycache__"
    if not os.access(home if home.is_dir() else here, os.W_OK):
        home = Path.home() / ".cache" / "fanweave"
    folder = home / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in home.glob(f"{kind}-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        # Numba finds a place of its own.
        return ""
    return str(folder)


def compile_function(
    function: Callable[..., Any], here: Path, **options: bool | str
) -> Callable[..., Any]:
    """Compile a function on its first call.

    Parameters
    ----------
    function : callable
        In the subset of Python that numba compiles.
    here : Path
        The folder whose sources decide whether old machine code still holds.
    **options : bool or str
        Of `numba.njit`.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder(here)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
