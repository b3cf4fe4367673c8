"""Benches of a core with its vector unit."""
