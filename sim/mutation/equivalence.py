"""Proves that a fault changes nothing: its module does the same in every state, on every input."""

import re

from fanweave.golden.errors import FaultError
from fanweave.sim.synthesis.yosys import run_yosys

__all__ = ["changes_nothing"]

_LIMIT = 120.0
_MODULE = re.compile(r"-module \S+")
_PROVED = "SUCCESS!"


def changes_nothing(rtlil: str, fault: str) -> bool:
    """Whether a module with a fault is proved to be the one without.

    Instances below it and its flip-flops become inputs and outputs: so whatever state it is in,
    and whatever the other modules do, all that it gives, and its next state, have to be equal.
    A fault that only shows in states that are never reached is not proved.

    Parameters
    ----------
    rtlil : str
        The design, as `mutate` got it.
    fault : str
        Yosys's command for the fault.
    """
    module = re.search(r"-module (\S+)", fault)
    assert module is not None
    script = (
        "read_rtlil design",
        "hierarchy -auto-top",
        "proc",
        f"rename {module[1]} right",
        "select right",
        "memory_map",
        "select -clear",
        "copy right faulty",
        _MODULE.sub("-module faulty", fault),
        "expose -evert -evert-dff -dff right faulty",
        "miter -equiv -make_assert -flatten right faulty both",
        "tee -q -o answer sat -prove-asserts both",
    )
    try:
        files = run_yosys(script, rtlil, subject=f"{module[1]}, a fault", limit=_LIMIT)
    except FaultError:
        return False  # Yosys cannot tell, or not in time
    return _PROVED in files.get("answer", "")
