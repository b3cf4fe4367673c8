"""Shows that something long is still running."""

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

__all__ = ["Progress"]

_FIRST_S = 3.0
_REPEAT_S = 10.0


class Progress:
    """Context that prints a line, with the time so far, once its body takes more than seconds.

    On a terminal the line is rewritten; elsewhere a new line appears every ten seconds.

    Parameters
    ----------
    label
        What is being done, such as ``"building ventaglio"``.
    stream
        Where to print; standard error if not given.
    """

    def __init__(self, label: str, *, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._start = 0.0

    @property
    def seconds(self) -> float:
        """Time since the context was entered."""
        return time.monotonic() - self._start

    def __enter__(self) -> "Progress":
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _show(self) -> None:
        terminal = self._stream.isatty()
        shown = False
        wait = _FIRST_S
        while not self._ended.wait(wait):
            end = "\r" if terminal else "\n"
            self._stream.write(f"{self._label} ... {self.seconds:.0f} s{end}")
            self._stream.flush()
            shown = True
            wait = 1.0 if terminal else _REPEAT_S
        if shown and terminal:
            self._stream.write(f"{self._label}: {self.seconds:.0f} s \n")
            self._stream.flush()
