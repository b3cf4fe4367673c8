"""Compilers, importers, kernels and policies."""
