"""What can run a program of the cluster: a registry that upper layers add to.

An engine is a function from a `RunRequest` to a `Result`. It is registered as
``"module:function"``, so that nobody imports it before it is used, and no layer one above it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fanweave.golden.entries import find_entry
from fanweave.golden.errors import InputError
from fanweave.golden.riscv.cluster import Cluster, Result
from fanweave.golden.riscv.program import Program

__all__ = ["ENGINES", "Engine", "RunRequest", "find_engine", "run_golden"]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One run.

    Attributes
    ----------
    program : Program
        What is run.
    harts : int
        On how many harts.
    limit : int
        Instructions (the RTL: cycles) after which a run is ended.
    preset : str
        Of the cluster in RTL; golden takes no notice of it.
    waves : str or None
        Cycles ``FROM:TO`` that are wanted as a waveform; golden has none.
    """

    program: Program
    harts: int = 1
    limit: int = 100_000_000
    preset: str = "default"
    waves: str | None = None


Engine = Callable[[RunRequest], Result]

#: By name: "module:function".
ENGINES: dict[str, str] = {
    "golden": "fanweave.sw.kernels.engines:run_golden",
    "rtl": "fanweave.sim.benches.cluster.engine:run",
}


def find_engine(name: str) -> Engine:
    """The function that runs programs.

    Raises
    ------
    InputError
        If there is none of this name; the message lists those that there are.
    """
    engine: Engine = find_entry("engine", name, ENGINES)
    return engine


def run_golden(request: RunRequest) -> Result:
    """Run on the instruction-set simulator.

    Raises
    ------
    InputError
        If a waveform is wanted.
    """
    if request.waves is not None:
        raise InputError("engine golden has no waveform; add --engine rtl")
    return Cluster(request.program, harts=request.harts).run(request.limit)
