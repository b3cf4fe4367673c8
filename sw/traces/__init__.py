"""Sparse layer traces: capture, synthesis, import, container."""

from fanweave.sw.traces.library import open_trace
from fanweave.sw.traces.trace import Layout, Operand, Trace

__all__ = ["Layout", "Operand", "Trace", "open_trace"]
