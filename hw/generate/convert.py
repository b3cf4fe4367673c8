"""Converts a component to Verilog or RTLIL: the same text every time, as fast as it goes."""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fanweave.hw.generate.constants import wake_constant_blocks
from fanweave.hw.generate.share import share_modules

__all__ = ["to_rtlil", "to_verilog"]

#: A source file's path up to its package, which is of this machine.
_PLACE = re.compile(
    r'^( *attribute \\src ")/\S*/(?:fanweave|site-packages|python3\.\d+)/', re.MULTILINE
)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Spare the collector's walks over millions of objects that all stay alive; saves 40%."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def to_verilog(component: Any, *, name: str) -> str:
    """Convert a component; its submodules are named after it.

    Parameters
    ----------
    component : wiring.Component
        The top.
    name : str
        Name of its module.

    Returns
    -------
    str
        Verilog without source locations, which would hold paths of this machine; modules that
        are the same are one.
    """
    from amaranth.back import verilog

    with _no_garbage_collection():
        text = verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)
    return share_modules(wake_constant_blocks(text))


def to_rtlil(component: Any, *, name: str, sources: bool = False) -> str:
    """Convert a component to what Yosys works on.

    Synthesis does better with it than with Verilog, where a memory with a write enable for each
    byte becomes an assignment for each bit.

    Parameters
    ----------
    component : wiring.Component
        The top.
    name : str
        Name of its module.
    sources : bool
        Whether signals have the file and line of their source, from the package's folder on.

    Returns
    -------
    str
        RTLIL. A module for each instance, named by its path: submodule ``b`` of ``a`` in the top
        ``t`` is ``t.a.b``.
    """
    from amaranth.back import rtlil

    with _no_garbage_collection():
        text: str = rtlil.convert(component, name=name, emit_src=sources)
    return _PLACE.sub(r"\1", text) if sources else text
