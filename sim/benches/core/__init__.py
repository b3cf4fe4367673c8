"""Benches of the scalar core."""
