"""Reads the part of a VCD file that is wanted."""

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fanweave.golden.errors import InputError

__all__ = ["Header", "Signal", "Waveform", "read_header", "read_waveform", "rising_edges"]

Value = int | float | str


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
    changes: dict[str, list[tuple[int, Value]]] = field(repr=False)


def read_header(path: Path | str) -> Header:
    """Read only the declarations.

    Raises
    ------
    InputError
        If the file does not exist or is not a VCD.
    """
    with open_dump(path) as stream:
        return _read_declarations(path, stream)


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
        header = _read_declarations(path, stream)
        wanted: dict[bytes, list[str]] = {}
        for name in paths:
            signal = header.find(name)
            if signal is None:
                raise InputError(f"waveform {path} has no signal {name!r}")
            wanted.setdefault(signal.code.encode(), []).append(name)
        return _collect(path, header, _values(path, stream, wanted), wanted, start, stop)


def rising_edges(path: Path | str, name: str, *, count: int) -> list[int]:
    """Return the times of the first `count` rising edges of a wire, or of fewer if that is all.

    Raises
    ------
    InputError
        As `read_waveform`.
    """
    edges: list[int] = []
    with open_dump(path) as stream:
        signal = _read_declarations(path, stream).find(name)
        if signal is None:
            raise InputError(f"waveform {path} has no signal {name!r}")
        for now, code, value in _values(path, stream, {signal.code.encode()}):
            if code is not None and value == 1:
                edges.append(now)
                if len(edges) == count:
                    break
    return edges


def open_dump(path: Path | str) -> BinaryIO:
    """Open a dump for reading, or refuse."""
    if not Path(path).is_file():
        raise InputError(f"waveform {path} does not exist; make one with: make sim WAVES=1")
    return open(path, "rb")


def _read_declarations(path: Path | str, stream: BinaryIO) -> Header:
    """Parse the declarations and leave the stream behind them.

    The parser of pyvcd is not used: Verilator writes names such as ``$1`` (which Amaranth gives
    to intermediate results) without the escape that it insists on, and dumps are too long for it.
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
    return Header(signals=tuple(signals), timescale=timescale)


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


_Change = tuple[int, bytes | None, Value]


def _values(path: Path | str, stream: BinaryIO, wanted: Collection[bytes]) -> Iterator[_Change]:
    """Yield (time, code, value) for the wanted codes, and (time, None, 0) for each new time."""
    now = 0
    for line in stream:
        kind = line[:1]
        if kind in b"01xXzZ":
            code = line[1:].rstrip()
            if code in wanted:
                yield now, code, int(kind) if kind in b"01" else kind.decode()
        elif kind in b"bBrRsS":
            text, _, code = line[1:].rstrip().rpartition(b" ")
            if code in wanted:
                yield now, code, _vector(path, kind, text)
        elif kind == b"#":
            try:
                now = int(line[1:])
            except ValueError:
                raise _damaged(path, line) from None
            yield now, None, 0
        elif kind != b"$" and line.strip():
            raise _damaged(path, line)


def _vector(path: Path | str, kind: bytes, text: bytes) -> Value:
    try:
        if kind in b"rR":
            return float(text)
        if kind in b"bB" and not text.strip(b"01"):
            return int(text, 2)
        # Texts have no-break spaces, which are no ASCII.
        return text.decode("utf-8" if kind in b"sS" else "ascii")
    except ValueError:
        raise _damaged(path, kind + text) from None


def _damaged(path: Path | str, line: bytes) -> InputError:
    text = line[:40].decode("ascii", errors="replace").strip()
    return InputError(f"waveform {path} is not a VCD file, or is damaged: it has {text!r}")


def _collect(
    path: Path | str,
    header: Header,
    values: Iterator[_Change],
    wanted: dict[bytes, list[str]],
    start: int,
    stop: int | None,
) -> Waveform:
    changes: dict[str, list[tuple[int, Value]]] = {
        name: [] for name in itertools.chain.from_iterable(wanted.values())
    }
    last = 0
    first: int | None = None
    for now, code, value in values:
        if code is None:
            first = now if first is None else first
            if stop is not None and now > stop:
                last = stop
                break
            last = now
            continue
        for name in wanted[code]:
            known = changes[name]
            if now <= start:
                known.clear()
            known.append((max(now, start), value))
    end = last if stop is None else stop
    if first is None or last < start or first > end:
        span = "is empty" if first is None else f"has no values from {start} to {end}"
        raise InputError(f"waveform {path} {span} ({header.timescale}); it begins at {first}")
    return Waveform(header=header, start=max(start, first), stop=last, changes=changes)
