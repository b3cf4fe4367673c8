"""Reads the part of a VCD file that is wanted."""

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vcd.reader import Token, TokenKind, VCDParseError, tokenize

from fanweave.golden.errors import InputError

__all__ = ["Header", "Signal", "Waveform", "read_header", "read_waveform"]

_CHANGES = (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR, TokenKind.CHANGE_REAL)


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A variable of a dump.

    Attributes
    ----------
    path
        Scopes and name, joined by dots, without a bit range.
    bits
        Bit range as written, such as ``[31:0]``, or the empty string.
    width
        Number of bits.
    code
        Identifier in the file; several signals may share one.
    """

    path: str
    bits: str
    width: int
    code: str

    @property
    def scope(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, kw_only=True)
class Header:
    """Declarations of a dump, in their order, and its unit of time such as ``1 ns``."""

    signals: tuple[Signal, ...]
    timescale: str

    def find(self, path: str) -> Signal | None:
        """Return the signal of this path, or None."""
        return next((signal for signal in self.signals if signal.path == path), None)

    def clock(self) -> Signal | None:
        """Return the outermost signal that is named like a clock, or None."""
        named = [signal for signal in self.signals if signal.name in ("clk", "clock")]
        return min(named, key=lambda signal: signal.path.count("."), default=None)


@dataclass(frozen=True, kw_only=True)
class Waveform:
    """Values over a span of time.

    Attributes
    ----------
    start, stop
        First and last time, in units of the header's timescale.
    changes
        For each wanted signal's path its (time, value) in order; the first is at `start` or is
        the first known. A value is an integer, or text where bits are unknown.
    """

    header: Header
    start: int
    stop: int
    changes: dict[str, list[tuple[int, int | float | str]]] = field(repr=False)


def read_header(path: Path | str) -> Header:
    """Read only the declarations.

    Raises
    ------
    InputError
        If the file does not exist or is not a VCD.
    """
    with open_dump(path) as stream:
        header, _ = _split(path, stream)
        return header


def read_waveform(
    path: Path | str,
    paths: Collection[str],
    *,
    start: int = 0,
    stop: int | None = None,
) -> Waveform:
    """Read the values of some signals between two times.

    Parameters
    ----------
    path
        The VCD file.
    paths
        Paths of the wanted signals.
    start, stop
        First and last time; to the end if `stop` is None.

    Raises
    ------
    InputError
        If the file does not exist or is not a VCD, a signal is not in it, or nothing of the dump
        lies between the times.
    """
    with open_dump(path) as stream:
        header, tokens = _split(path, stream)
        wanted: dict[str, list[str]] = {}
        for name in paths:
            signal = header.find(name)
            if signal is None:
                raise InputError(f"waveform {path} has no signal {name!r}")
            wanted.setdefault(signal.code, []).append(name)
        return _collect(path, header, tokens, wanted, start, stop)


def open_dump(path: Path | str) -> BinaryIO:
    """Open a dump for reading, or refuse."""
    if not Path(path).is_file():
        raise InputError(f"waveform {path} does not exist; make one with: make sim WAVES=1")
    return open(path, "rb")


def _split(path: Path | str, stream: BinaryIO) -> tuple[Header, Iterator[Token]]:
    """Parse the declarations; return them and the tokens of the values.

    The declarations are parsed here: Verilator writes names such as ``$1`` (which Amaranth gives
    to intermediate results) without the escape that the parser of pyvcd insists on.
    """
    signals: list[Signal] = []
    scopes: list[str] = []
    timescale = ""
    for keyword, words in _declarations(path, stream):
        if keyword == "$scope" and len(words) == 2:
            scopes.append(words[1])
        elif keyword == "$upscope" and scopes:
            scopes.pop()
        elif keyword == "$timescale":
            timescale = re.sub(r"(\d)(\D)", r"\1 \2", "".join(words))
        elif keyword == "$var":
            signals.append(_signal(path, words, scopes))
    header = Header(signals=tuple(signals), timescale=timescale)
    return header, _checked(path, tokenize(stream))


def _declarations(path: Path | str, stream: BinaryIO) -> Iterator[tuple[str, list[str]]]:
    """Yield (keyword, words) up to the end of the declarations, and leave the stream there."""
    keyword = ""
    words: list[str] = []
    for line in stream:
        for word in line.decode("ascii", errors="replace").split():
            if not keyword:
                if not word.startswith("$"):
                    raise InputError(f"waveform {path} is not a VCD file: it has {word[:20]!r}")
                keyword = word
            elif word == "$end":
                if keyword == "$enddefinitions":
                    return
                yield keyword, words
                keyword, words = "", []
            else:
                words.append(word)
    raise InputError(f"waveform {path} is not a VCD file, or ends within its declarations")


def _signal(path: Path | str, words: list[str], scopes: list[str]) -> Signal:
    try:
        _, width, code, name, *rest = words
        bits = "".join(rest)
        # A name that ends in one index is an element of a memory.
        if not bits and (match := re.fullmatch(r"(.+)(\[\d+:\d+\])", name)):
            name, bits = match.groups()
        elif bits and ":" not in bits:
            name, bits = name + bits, ""
        path_in_dump = ".".join([*scopes, name.removeprefix("\\")])
        return Signal(path=path_in_dump, bits=bits, width=int(width), code=code)
    except ValueError as error:
        raise InputError(f"waveform {path}: bad declaration $var {' '.join(words)}") from error


def _checked(path: Path | str, tokens: Iterator[Token]) -> Iterator[Token]:
    try:
        yield from tokens
    except (VCDParseError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"waveform {path} is not a VCD file, or is damaged: {error}") from error


def _collect(
    path: Path | str,
    header: Header,
    tokens: Iterator[Token],
    wanted: dict[str, list[str]],
    start: int,
    stop: int | None,
) -> Waveform:
    changes: dict[str, list[tuple[int, int | float | str]]] = {
        name: [] for name in itertools.chain.from_iterable(wanted.values())
    }
    now = last = 0
    first: int | None = None
    for token in tokens:
        if token.kind is TokenKind.CHANGE_TIME:
            now = token.time_change
            first = now if first is None else first
            if stop is not None and now > stop:
                last = stop
                break
            last = now
        elif token.kind in _CHANGES:
            change = token.data
            for name in wanted.get(change.id_code, ()):
                known = changes[name]
                if now <= start:
                    known.clear()
                known.append((max(now, start), _value(change.value)))
    end = last if stop is None else stop
    if first is None or last < start or first > end:
        span = "is empty" if first is None else f"has no values from {start} to {end}"
        raise InputError(f"waveform {path} {span} ({header.timescale}); it begins at {first}")
    return Waveform(
        header=header,
        start=max(start, first),
        stop=last,
        changes=changes,
    )


def _value(value: int | float | str) -> int | float | str:
    """Return scalar values as integers, as vectors already are."""
    return int(value) if value in ("0", "1") else value
