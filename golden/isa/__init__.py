"""Specification tables: every encoding, register address and message layout, once, as data."""
