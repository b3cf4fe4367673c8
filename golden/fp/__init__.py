"""Bit-exact number formats and multiply-accumulate in numpy."""
