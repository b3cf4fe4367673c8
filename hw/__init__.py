"""Amaranth RTL, one package a unit, and the Verilog generator."""
