"""Programs that Python packages bring."""

import sys
import sysconfig
from pathlib import Path

from fanweave.golden.errors import InputError

__all__ = ["installed_program"]


def installed_program(name: str, *, extra: str = "dev") -> str:
    """Path of a program that came with a Python package of this environment.

    Parameters
    ----------
    name : str
        The program.
    extra : str
        The extra of the project that brings it.

    Raises
    ------
    InputError
        If it is not there; the message says how to install it.
    """
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.is_file():
        raise InputError(
            f"program {name!r} is not in {path.parent}; install it with "
            f"'{sys.executable} -m pip install \"fanweave[{extra}]\"'"
        )
    return str(path)
