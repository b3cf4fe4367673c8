"""Arithmetic blocks."""
