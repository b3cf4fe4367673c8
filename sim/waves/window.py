"""Windows of cycles on command lines."""

import re
from pathlib import Path

import click

from fanweave.golden.errors import FaultError, InputError

__all__ = ["WindowOption", "check_dumped", "parse_window"]


def parse_window(text: str) -> tuple[int, int | None]:
    """Return first and last cycle of ``FROM:TO``, ``FROM:`` or ``:TO``.

    Raises
    ------
    InputError
        If the text is of another form, or the window is empty.
    """
    match = re.fullmatch(r"(\d*):(\d*)", text)
    if match is None:
        raise InputError(f"window {text!r} must be FROM:TO in cycles, such as 100:140")
    start = int(match[1] or 0)
    stop = int(match[2]) if match[2] else None
    if stop is not None and stop <= start:
        raise InputError(f"window {text!r} is empty: FROM must be less than TO")
    return start, stop


def check_dumped(dump: Path, first: int) -> None:
    """Refuse a run that was over before the first cycle of its window.

    Raises
    ------
    FaultError
        If there is no such file.
    """
    if not dump.exists():
        raise FaultError(f"cycle {first} was not reached: nothing is dumped")


class WindowOption(click.ParamType):
    """``FROM:TO`` in cycles; a bare option means its default."""

    name = "FROM:TO"

    def convert(self, value: object, param: object, ctx: object) -> tuple[int, int | None]:
        """Parse the window."""
        return value if isinstance(value, tuple) else parse_window(str(value))
