"""Replaces files whole or not at all."""

import os
import tempfile
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file through a temporary one beside it.

    A link stays, and its target is replaced. A device or a pipe is written to, for there is
    nothing to keep.

    Parameters
    ----------
    path : Path
        The file; what was there stays if anything fails.
    content : bytes
        All of it.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
        return
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        # mkstemp makes files that only their owner may read.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
