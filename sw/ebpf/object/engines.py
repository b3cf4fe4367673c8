"""What can run a program: a registry that upper layers add to.

An engine is a function from a `RunRequest` to a `RunResult`. It is registered as
``"module:function"``, so that nobody imports it before it is used, and no layer one above it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fanweave.golden.ebpf.interpreter import Trace
from fanweave.golden.entries import find_entry
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET, FaultCause
from fanweave.sw.ebpf.object.contents import Contents
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram

__all__ = ["ENGINES", "ENGINES_WITH_WAVES", "Engine", "RunRequest", "RunResult", "find_engine"]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One event.

    Attributes
    ----------
    loaded : ObjectFile
        Maps and programs.
    program : ObjectProgram
        The program to run, checked.
    context : bytes
        What the event brings.
    contents : mapping
        What is put into the maps, after what the file itself says; see `initial_contents`.
    budget : int
        Instructions after which the watchdog ends the run.
    trace : callable or None
        Sees each instruction before it is executed.
    reference : bool
        Interpret, where an engine has a faster way.
    waves : Path or None
        Where to write a waveform, if the engine has one.
    """

    loaded: ObjectFile
    program: ObjectProgram
    context: bytes = b""
    contents: Contents = field(default_factory=dict)
    budget: int = DEFAULT_BUDGET
    trace: Trace | None = None
    reference: bool = False
    waves: Path | None = None


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What became of it.

    Attributes
    ----------
    r0 : int
        Result; unsigned, 64 bits.
    context : bytes
        What the program made of it.
    contents : mapping
        What is in all maps afterwards.
    fault : FaultCause
        Why it ended early, or `FaultCause.NONE`.
    slot, instructions : int or None
        Where it ended and after how many instructions, if the engine knows.
    cycles : int or None
        From the cycle in which the event was taken to that of the verdict, if there are any.
    """

    r0: int
    context: bytes
    contents: Contents
    fault: FaultCause = FaultCause.NONE
    slot: int | None = None
    instructions: int | None = None
    cycles: int | None = None


Engine = Callable[[RunRequest], RunResult]

#: By name: "module:function".
ENGINES: dict[str, str] = {
    "golden": "fanweave.sw.ebpf.object.golden_engine:run",
    "kernel": "fanweave.sw.ebpf.object.linux_engine:run",
    "rtl": "fanweave.sim.benches.ebpf.rtl_engine:run",
}

#: Those that can write a waveform.
ENGINES_WITH_WAVES = frozenset({"rtl"})


def find_engine(name: str) -> Engine:
    """The function that runs programs.

    Raises
    ------
    InputError
        If there is none of this name; the message lists those that there are.
    """
    engine: Engine = find_entry("engine", name, ENGINES)
    return engine
