"""Whole systems: islands in Verilator beside their timed model."""
