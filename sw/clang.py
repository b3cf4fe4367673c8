"""Runs the clang that the `ziglang` package brings."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fanweave.golden.errors import InputError

__all__ = ["Outcome", "argument", "run_clang"]

_SECONDS = 120


class Outcome:
    """What became of a call.

    Attributes
    ----------
    ok : bool
        Whether it succeeded.
    said : str
        Errors and warnings.
    """

    def __init__(self, ok: bool, said: str) -> None:
        self.ok = ok
        self.said = said


def argument(path: Path | str) -> str:
    """A file's name that clang does not take for an option; it knows no ``--``."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def run_clang(arguments: Sequence[str], what: str) -> Outcome:
    """Call the compiler.

    Parameters
    ----------
    arguments : sequence of str
        Its options and files.
    what : str
        What is compiled, for messages.

    Raises
    ------
    InputError
        If there is no compiler, or it does not come to an end.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise InputError("the compiler is not installed; pip install ziglang brings it")
    command = [sys.executable, "-m", "ziglang", "cc", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{what} did not compile within {_SECONDS} seconds") from None
    return Outcome(done.returncode == 0, done.stderr.strip())
