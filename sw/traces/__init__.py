"""Sparse layer traces: capture, synthesis, import, container."""
