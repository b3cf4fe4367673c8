"""Builds and runs Verilated models."""
