"""Verilog for synthesis: the command, and what Yosys makes of it."""
