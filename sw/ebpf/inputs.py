"""What the commands read and write: files or standard streams, bytes or hexadecimal text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file

if TYPE_CHECKING:
    from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["hexadecimal", "object_of", "read_code", "read_text", "write_output"]

_STANDARD = "-"
#: Larger than any program, and than any map's contents as JSON.
_MOST_BYTES = 1 << 26


def read_text(file: str) -> str:
    """Text of a file, or of standard input for ``-``.

    Raises
    ------
    InputError
        If it cannot be read, is no text, or is too large.
    """
    try:
        return _read(file).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{file} is no text; instructions as they are need no --hex") from None


def _read(file: str) -> bytes:
    try:
        if file == _STANDARD:
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InputError(f"{file} has more than {_MOST_BYTES} bytes; no program or map needs them")
    return data


def read_code(file: str, is_hex: bool) -> bytes:
    """Bytes of a file, or of standard input for ``-``.

    Parameters
    ----------
    file : str
        Its name.
    is_hex : bool
        Whether they are written as hexadecimal text.

    Raises
    ------
    InputError
        If it cannot be read, is too large, or is not hexadecimal.
    """
    return hexadecimal(read_text(file), file) if is_hex else _read(file)


def object_of(data: bytes, file: str, maps: str | None, maps_name: str | None) -> "ObjectFile":
    """The object file that the bytes are, or raw instructions with maps.

    Parameters
    ----------
    data : bytes
        As `read_code` gives them.
    file : str
        Where they come from.
    maps, maps_name : str, optional
        A JSON document with definitions for raw instructions, and where it comes from.

    Raises
    ------
    InputError
        If the bytes or the definitions are malformed.
    """
    # Only now: few commands read objects.
    from fanweave.golden.ebpf.program import Program
    from fanweave.sw.ebpf.object.loader import is_object, load_object
    from fanweave.sw.ebpf.object.maps_json import read_definitions
    from fanweave.sw.ebpf.object.model import ObjectFile

    if is_object(data):
        return load_object(data, file)
    definitions = () if maps is None else read_definitions(maps, str(maps_name))
    try:
        program = Program.from_bytes(data, name=file)
    except InputError as error:
        raise InputError(
            f"{file}: {error}; expected instructions or an object file of `fanweave ebpf build`"
        ) from None
    return ObjectFile.of_code(program, definitions)


def hexadecimal(text: str, name: str) -> bytes:
    """Bytes of hexadecimal text.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return bytes.fromhex("".join(text.split()))
    except ValueError:
        raise InputError(
            f"{name}: not hexadecimal; expected pairs of digits, with blanks as you like"
        ) from None


def write_output(output: str | None, data: bytes) -> None:
    """Write a file, or standard output for ``-`` or None.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    if output is None or output == _STANDARD:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        replace_file(Path(output), data)
    except OSError as error:
        raise InputError(f"output {output} cannot be written: {error.strerror}") from None
