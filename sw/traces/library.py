"""Traces by name: those shipped inside the package."""

from importlib import resources
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sw.traces.trace import Trace

__all__ = ["SHIPPED", "open_trace"]

#: Name -> file in ``fanweave/sw/traces/data``.
SHIPPED = {
    "smollm2-attention-2of4": "smollm2-135m-layer15-e4m3-2of4-attention.safetensors",
    "smollm2-layer": "smollm2-135m-layer15-fp16-unstructured50.safetensors",
}


def open_trace(name_or_path: str | Path) -> Trace:
    """Load a shipped trace by its name, or any trace by its path.

    Parameters
    ----------
    name_or_path : str or Path
        A key of :data:`SHIPPED`, else the path of a trace file.

    Raises
    ------
    InputError
        If it is neither; the message lists the names.
    """
    name = str(name_or_path)
    if name in SHIPPED:
        file = resources.files("fanweave.sw.traces") / "data" / SHIPPED[name]
        with resources.as_file(file) as path:
            return Trace.load(path)
    if not Path(name).is_file():
        raise InputError(
            f"trace {name!r}: neither a file nor a shipped trace; "
            f"shipped are: {', '.join(sorted(SHIPPED))}"
        )
    return Trace.load(name)
