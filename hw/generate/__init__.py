"""Verilog for synthesis."""
