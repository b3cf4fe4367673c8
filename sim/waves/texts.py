"""Adds signals to a dump that show values of others as text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file
from fanweave.sim.waves.vcd_reader import read_header

__all__ = ["MadeTexts", "StructTexts", "TextSignal", "add_texts"]

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
    gate
        Path of a signal, and a bit of it, without which nothing is shown; none if not given.
    """

    name: str
    path: str
    texts: Mapping[int, str] = field(repr=False)
    gate: tuple[str, int] | None = None


class MadeTexts(Mapping[int, str]):
    """Texts that are made when they are asked for, so none is there before."""

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


class StructTexts(MadeTexts):
    """Texts for the bits of a struct.

    Parameters
    ----------
    layout : StructLayout, or what can be cast to one
        Of the bits.
    """

    def __init__(self, layout: Any) -> None:
        from amaranth.lib import data

        self._fields = {
            name: (field.offset, field.width) for name, field in data.Layout.cast(layout)
        }

    def _field(self, bits: int, name: str) -> int:
        offset, width = self._fields[name]
        return bits >> offset & (1 << width) - 1


class _Follower:
    """What a text signal has seen so far."""

    def __init__(self, signal: TextSignal, code: bytes) -> None:
        self._signal = signal
        self._code = code
        self._value: int | None = None
        self._open = signal.gate is None

    @property
    def declaration(self) -> bytes:
        return b"$var string 1 " + self._code + b" " + self._signal.name.encode() + b" $end"

    def take(self, value: int | None) -> bytes:
        """The line for a new value of the signal that is followed."""
        self._value = value
        return self._line()

    def take_gate(self, value: int | None) -> bytes:
        """The line for a new value of the gate."""
        assert self._signal.gate is not None
        self._open = value is not None and bool(value >> self._signal.gate[1] & 1)
        return self._line()

    def _line(self) -> bytes:
        known = self._open and self._value is not None
        text = self._signal.texts.get(self._value, "") if known else ""  # type: ignore[arg-type]
        return b"s" + _escaped(text) + b" " + self._code


#: Code of a signal to what is done with its values.
_Followed = Mapping[bytes, list[Callable[[int | None], bytes]]]


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
    followed: dict[bytes, list[Callable[[int | None], bytes]]] = {}
    declared, missing = [], []
    for number, signal in enumerate(signals):
        # Starts with a letter that Verilator's codes, which are short, never have so often.
        follower = _Follower(signal, b"text" + str(number).encode())
        ways = [(signal.path, follower.take)]
        if signal.gate is not None:
            ways.append((signal.gate[0], follower.take_gate))
        found = [(header.find(path), path, take) for path, take in ways]
        gone = [path for place, path, _ in found if place is None]
        missing += gone
        if gone:
            continue
        declared.append(follower.declaration)
        for place, _, take in found:
            assert place is not None
            followed.setdefault(place.code.encode(), []).append(take)
    try:
        lines = dump.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"waveform {dump} cannot be read: {error}") from error
    replace_file(dump, b"\n".join(_with_texts(lines, declared, followed)))
    return missing


def _with_texts(lines: list[bytes], declared: list[bytes], followed: _Followed) -> list[bytes]:
    result = []
    inside = False
    for line in lines:
        if not inside and line.lstrip().startswith(_END):
            result += [b"$scope module " + _SCOPE.encode() + b" $end", *declared]
            result.append(b"$upscope $end")
            inside = True
        result.append(line)
        if inside and line and (change := _change(line)) is not None:
            value, code = change
            result += [take(value) for take in followed.get(code, ())]
    return result


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
