"""Fanweave: RTL generator and co-simulation testbench for sparse LLM inference."""

from importlib import metadata

__all__ = ["__version__"]

try:
    __version__ = metadata.version("fanweave")
except metadata.PackageNotFoundError:  # a bare checkout, not installed
    __version__ = "0+unknown"
