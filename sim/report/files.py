"""Writes result files whole or not at all."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file

__all__ = [
    "STANDARD",
    "check_output",
    "check_outputs",
    "check_writable",
    "write_json",
    "write_text",
]

#: Names standard output (or input) on a command line.
STANDARD = "-"


def check_output(path: Path | str | None) -> None:
    """Refuse an output file that cannot be written, before any work is done for it.

    Raises
    ------
    InputError
        If `path` is a folder, or its folder does not exist or cannot be written.
    """
    if path is None or str(path) == STANDARD:
        return
    path = Path(path)
    if path.is_dir():
        raise InputError(f"output {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"output {path}: folder {path.absolute().parent} does not exist; create it first"
        )
    check_writable(path, path.absolute().parent)


def check_writable(output: Path, folder: Path) -> None:
    """Refuse an output for which no file can be made in a folder.

    A file is tried, for what the system says of permissions is not all that can be in the way.

    Raises
    ------
    InputError
        If none can.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"output {output}: folder {folder} cannot be written: {error.strerror}"
        ) from None


def check_outputs(paths: Sequence[Path | str | None]) -> None:
    """Refuse output files of one run that cannot be written, or of which two are the same.

    Raises
    ------
    InputError
        See `check_output`.
    """
    for path in paths:
        check_output(path)
    names = [
        str(path) if str(path) == STANDARD else str(Path(path).resolve())
        for path in paths
        if path is not None
    ]
    for name in names:
        if names.count(name) > 1:
            what = "standard output" if name == STANDARD else name
            raise InputError(f"two outputs go to {what}; give each its own file")


def write_text(path: Path | str, text: str) -> None:
    """Write a text file through a temporary one beside it, or to standard output for ``-``.

    Raises
    ------
    InputError
        If the file cannot be written; what was there stays.
    """
    if str(path) == STANDARD:
        sys.stdout.write(text)
        return
    check_output(path)
    path = Path(path)
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise InputError(f"output {path} cannot be written: {error.strerror}") from error


def write_json(path: Path | str, document: Any) -> None:
    """Write a JSON document, indented, with a newline at its end; see `write_text`.

    Raises
    ------
    ValueError
        If the document holds a number that is not finite: JSON has none.
    """
    write_text(path, json.dumps(document, indent=2, allow_nan=False) + "\n")
