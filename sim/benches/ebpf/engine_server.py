"""A Verilated policy engine in a process of its own, kept alive for many programs."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.engine_design import engine_design
from fanweave.sim.runner.loop import build_loop

__all__ = ["EngineServer", "EngineVerdict"]

_WORD_BYTES = 8
#: Writes whose answers may be on their way: fewer than fill a pipe.
_UNCONFIRMED = 500


@dataclass(frozen=True, kw_only=True)
class EngineVerdict:
    """What the engine says of an event.

    Attributes
    ----------
    r0 : int
        Result, or the default verdict.
    cause : FaultCause
        Why the event ended early, or `FaultCause.NONE`.
    tag : int
        Of the event.
    instructions : int
        Executed.
    begin, end : int
        Cycles in which the event was taken and the verdict given.
    context : bytes
        As the program left it, filled up to whole words.
    """

    r0: int
    cause: FaultCause
    tag: int
    instructions: int
    begin: int
    end: int
    context: bytes


class EngineServer:
    """Drives the registers and streams of a policy engine; a bus for its driver.

    Parameters
    ----------
    config : EbpfConfig
        The engine; it must return contexts.
    waves : bool
        Build a model that can dump.

    Raises
    ------
    InputError
        If the engine does not build.
    """

    def __init__(self, config: EbpfConfig, *, waves: bool = False) -> None:
        if not config.returns_context:
            raise ValueError("the server needs an engine with returns_context = True")
        self.config = config
        variant = " with waveforms" if waves else ""
        executable = build_loop(
            engine_design(config),
            _main_text(config),
            label=f"building the policy engine{variant}",
            waves=waves,
        )
        self._unconfirmed: list[tuple[int, int]] = []
        self._process = subprocess.Popen(
            [str(executable)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "EngineServer":
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
        response, value = self._ask(f"R {address:x}")
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
        self._send(f"W {address:x} {value:x}")
        self._unconfirmed.append((address, value))
        if len(self._unconfirmed) >= _UNCONFIRMED:
            self._confirm()

    def offer(
        self, context: bytes, *, tag: int, program: int, time_ns: int = 0, engine: int = 0
    ) -> None:
        """Offer an event; it is taken as soon as a thread is free."""
        words = (context[at : at + _WORD_BYTES] for at in range(0, len(context), _WORD_BYTES))
        text = " ".join(f"{int.from_bytes(word, 'little'):x}" for word in words)
        self._send(f"E {engine:x} {len(context):x} {tag:x} {program:x} {time_ns:x} {text}")

    def verdict(self, engine: int = 0) -> EngineVerdict:
        """Wait for the next verdict of an engine.

        Raises
        ------
        FaultError
            If none comes.
        """
        r0, cause, tag, instructions, begin, end, *words = self._ask(f"V {engine:x}")
        return EngineVerdict(
            r0=r0,
            cause=FaultCause(cause),
            tag=tag,
            instructions=instructions,
            begin=begin,
            end=end,
            context=b"".join(word.to_bytes(_WORD_BYTES, "little") for word in words),
        )

    def reset(self) -> None:
        """Reset the engine, and forget events that were offered."""
        self._confirm()
        self._send("X")

    def tick(self, cycles: int) -> int:
        """Let time go by; returns the cycle."""
        return self._ask(f"T {cycles:x}")[0]

    def begin_dump(self, file: Path) -> None:
        """Write a waveform from now on."""
        self._send(f"D {file}")

    def end_dump(self) -> None:
        """End it."""
        self._send("d")
        self.tick(0)  # an answer shows that it is written

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
        except OSError as error:
            raise FaultError(f"the simulation of the policy engine has ended: {error}") from error

    def _confirm(self) -> None:
        """Read the answers to writes."""
        asked, self._unconfirmed = self._unconfirmed, []
        self._flush()
        for address, value in asked:
            (response,) = self._answer(f"W {address:x} {value:x}")
            if response:
                raise FaultError(f"the engine refuses {value:#x} for its register {address:#x}")

    def _ask(self, line: str) -> list[int]:
        self._confirm()
        self._send(line)
        self._flush()
        return self._answer(line)

    def _flush(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.flush()
        except OSError as error:
            raise FaultError(f"the simulation of the policy engine has ended: {error}") from error

    def _answer(self, line: str) -> list[int]:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        try:
            return [int(word, 16) for word in answer.split()] if answer.strip() else self._lost()
        except ValueError:
            raise FaultError(
                f"the policy engine's simulation answers {answer.strip()!r} to {line!r}"
            ) from None

    def _lost(self) -> list[int]:
        status = self._process.wait()
        raise FaultError(f"the simulation of the policy engine ended with status {status}")


def _main_text(config: EbpfConfig) -> str:
    template = (Path(__file__).resolve().parent / "server.cpp").read_text()
    ports = "\n".join(_port(number) for number in range(config.engines))
    return template.replace("@PORTS@", ports).replace("@CONTEXT_BYTES@", str(config.context_bytes))


def _port(number: int) -> str:
    members = [
        f"top->{stream}___05F{number}___05F{part}"
        for stream in ("events", "contexts", "verdicts", "contexts_after")
        for part in ("valid", "ready", "payload")
    ]
    return f"        ports_.emplace_back(new Port{{{', '.join(members)}}});"
