"""How hard the compiler works on the code of a model that runs in every cycle."""

import os

__all__ = ["expect_long_runs", "optimisation"]

#: Variable of the environment with the compiler's options, for whoever wants others.
_VARIABLE = "FANWEAVE_OPTIMISE"
#: Compiles in less than half the time of the other, and runs up to a fifth slower: for a model that
#: is built for a run of seconds.
_SHORT = "-O1"
#: The code is long and runs straight on, so the smallest is the fastest: 15% over -O2, which also
#: takes longer to compile.
_LONG = "-Os"


def optimisation() -> str:
    """Compiler options of models that are built now."""
    return os.environ.get(_VARIABLE, _SHORT)


def expect_long_runs() -> None:
    """Build models of this process, and of those that it starts, for speed."""
    os.environ.setdefault(_VARIABLE, _LONG)
