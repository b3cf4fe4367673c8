"""A Verilated policy engine in a process of its own, kept alive for many programs."""

from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.engine_design import engine_design
from fanweave.sim.benches.host_process import HOST_PORT, HostProcess
from fanweave.sim.runner.loop import build_loop

__all__ = ["EngineServer", "EngineVerdict"]

_WORD_BYTES = 8


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


class EngineServer(HostProcess):
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
        super().__init__(executable, "the policy engine")

    def offer(
        self, context: bytes, *, tag: int, program: int, time_ns: int = 0, engine: int = 0
    ) -> None:
        """Offer an event; it is taken as soon as a thread is free."""
        words = (context[at : at + _WORD_BYTES] for at in range(0, len(context), _WORD_BYTES))
        text = " ".join(f"{int.from_bytes(word, 'little'):x}" for word in words)
        self.send(f"E {engine:x} {len(context):x} {tag:x} {program:x} {time_ns:x} {text}")

    def verdict(self, engine: int = 0) -> EngineVerdict:
        """Wait for the next verdict of an engine.

        Raises
        ------
        FaultError
            If none comes.
        """
        r0, cause, tag, instructions, begin, end, *words = self.ask(f"V {engine:x}")
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
        self.confirm()
        self.send("X")

    def tick(self, cycles: int) -> int:
        """Let time go by; returns the cycle."""
        return self.ask(f"T {cycles:x}")[0]

    def begin_dump(self, file: Path) -> None:
        """Write a waveform from now on."""
        self.send(f"D {file}")

    def end_dump(self) -> None:
        """End it."""
        self.send("d")
        self.tick(0)  # an answer shows that it is written


def _main_text(config: EbpfConfig) -> str:
    template = (Path(__file__).resolve().parent / "server.cpp").read_text()
    ports = "\n".join(_port(number) for number in range(config.engines))
    for name, text in (
        ("PORTS", ports),
        ("CONTEXT_BYTES", str(config.context_bytes)),
        ("HOST_PORT", HOST_PORT),
    ):
        template = template.replace(f"@{name}@", text)
    return template


def _port(number: int) -> str:
    members = [
        f"top->{stream}___05F{number}___05F{part}"
        for stream in ("events", "contexts", "verdicts", "contexts_after")
        for part in ("valid", "ready", "payload")
    ]
    return f"        ports_.emplace_back(new Port{{{', '.join(members)}}});"
