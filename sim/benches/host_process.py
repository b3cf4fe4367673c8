"""A simulation in a process of its own that does what lines say: a bus for an engine's driver."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from fanweave.golden.errors import FaultError

__all__ = ["HOST_PORT", "HostProcess"]

#: C++ of the other side.
HOST_PORT = (Path(__file__).resolve().parent / "host_port.h").read_text()

#: Writes whose answers may be on their way: fewer than fill a pipe.
_UNCONFIRMED = 500


class HostProcess:
    """Talks with a program around a Verilated engine, see ``host_port.h``.

    Parameters
    ----------
    executable : Path
        The program.
    what : str
        What it simulates, for messages.
    folder : Path, optional
        Where it runs.
    """

    def __init__(self, executable: Path, what: str, *, folder: Path | None = None) -> None:
        self._what = what
        self._unconfirmed: list[tuple[int, int]] = []
        self._process = subprocess.Popen(
            [str(executable)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            try:
                self._process.communicate("Q\n", timeout=10)
            except (subprocess.TimeoutExpired, OSError, ValueError):
                self._process.kill()
                self._process.wait()

    def read(self, address: int) -> int:
        """Read a register.

        Raises
        ------
        FaultError
            If the engine refuses, or does not answer.
        """
        response, value = self.ask(f"R {address:x}")
        if response:
            raise FaultError(f"the engine refuses to read its register {address:#x}")
        return value

    def write(self, address: int, value: int) -> None:
        """Write a register.

        Raises
        ------
        FaultError
            If the engine refuses, or does not answer; for this write with a later call, because
            nobody waits for each answer.
        """
        self.send(f"W {address:x} {value:x}")
        self._unconfirmed.append((address, value))
        if len(self._unconfirmed) >= _UNCONFIRMED:
            self.confirm()

    def send(self, line: str) -> None:
        """Send a line that has no answer.

        Raises
        ------
        FaultError
            If nobody is there.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
        except OSError as error:
            raise FaultError(f"the simulation of {self._what} has ended: {error}") from error

    def ask(self, line: str) -> list[int]:
        """Send a line, and give the numbers of its answer.

        Raises
        ------
        FaultError
            If there is none, or it is something else.
        """
        self.confirm()
        self.send(line)
        self._flush()
        return self._answer(line)

    def confirm(self) -> None:
        """Read the answers to writes.

        Raises
        ------
        FaultError
            If one of them was refused.
        """
        asked, self._unconfirmed = self._unconfirmed, []
        self._flush()
        for address, value in asked:
            (response,) = self._answer(f"W {address:x} {value:x}")
            if response:
                raise FaultError(f"the engine refuses {value:#x} for its register {address:#x}")

    def _flush(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.flush()
        except OSError as error:
            raise FaultError(f"the simulation of {self._what} has ended: {error}") from error

    def _answer(self, line: str) -> list[int]:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        try:
            return [int(word, 16) for word in answer.split()] if answer.strip() else self._lost()
        except ValueError:
            raise FaultError(
                f"the simulation of {self._what} answers {answer.strip()!r} to {line!r}"
            ) from None

    def _lost(self) -> list[int]:
        status = self._process.wait()
        raise FaultError(f"the simulation of {self._what} ended with status {status}")
