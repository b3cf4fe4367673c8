"""Adds signals to a dump that show values of others as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file
from fanweave.sim.waves.vcd_reader import read_header

__all__ = ["TextSignal", "add_texts"]

_SCOPE = "text"
_END = b"$enddefinitions"


@dataclass(frozen=True, kw_only=True)
class TextSignal:
    """A signal of type string that follows another one.

    Attributes
    ----------
    name
        Its name, in the scope ``text``.
    path
        Path of the signal that it follows.
    texts
        What it shows for a value; nothing for one that is not there.
    """

    name: str
    path: str
    texts: Mapping[int, str] = field(repr=False)


def add_texts(dump: Path, signals: list[TextSignal]) -> list[str]:
    """Rewrite a VCD with further signals in it.

    Parameters
    ----------
    dump
        The VCD.
    signals
        What to add.

    Returns
    -------
    list of str
        Paths that the dump does not have; their texts are left out.

    Raises
    ------
    InputError
        If the file does not exist, is not a VCD, or cannot be written.
    """
    header = read_header(dump)
    followed: dict[bytes, list[tuple[bytes, TextSignal]]] = {}
    missing = []
    for number, signal in enumerate(signals):
        found = header.find(signal.path)
        if found is None:
            missing.append(signal.path)
            continue
        # Starts with a letter that Verilator's codes, which are short, never have so often.
        code = b"text" + str(number).encode()
        followed.setdefault(found.code.encode(), []).append((code, signal))
    try:
        lines = dump.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"waveform {dump} cannot be read: {error}") from error
    replace_file(dump, b"\n".join(_with_texts(lines, followed)))
    return missing


def _with_texts(
    lines: list[bytes], followed: Mapping[bytes, list[tuple[bytes, TextSignal]]]
) -> list[bytes]:
    result = []
    declared = False
    for line in lines:
        if not declared and line.lstrip().startswith(_END):
            result += _declarations(followed)
            declared = True
        result.append(line)
        if declared and line and (change := _change(line)) is not None:
            value, code = change
            for text_code, signal in followed.get(code, ()):
                text = signal.texts.get(value, "") if value is not None else ""
                result.append(b"s" + _escaped(text) + b" " + text_code)
    return result


def _declarations(followed: Mapping[bytes, list[tuple[bytes, TextSignal]]]) -> list[bytes]:
    lines = [b"$scope module " + _SCOPE.encode() + b" $end"]
    for group in followed.values():
        for code, signal in group:
            lines.append(b"$var string 1 " + code + b" " + signal.name.encode() + b" $end")
    return [*lines, b"$upscope $end"]


def _change(line: bytes) -> tuple[int | None, bytes] | None:
    """Value and code of a change; None as the value if bits of it are unknown."""
    first = line[:1]
    if first in b"01xzXZ":
        return (int(first) if first in b"01" else None), line[1:].strip()
    if first in b"bB":
        bits, _, code = line[1:].partition(b" ")
        return (int(bits, 2) if set(bits) <= set(b"01") else None), code.strip()
    return None


def _escaped(text: str) -> bytes:
    """A string ends at the first blank, so viewers take a no-break space for one."""
    return text.replace(" ", "\N{NO-BREAK SPACE}").encode()
