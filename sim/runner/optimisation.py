"""How hard the compiler works on the code of a model that runs in every cycle."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["long_runs", "optimisation"]

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


@contextmanager
def long_runs() -> Iterator[None]:
    """Build models for speed meanwhile, those of processes that are started as well."""
    if _VARIABLE in os.environ:
        yield
        return
    os.environ[_VARIABLE] = _LONG
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
