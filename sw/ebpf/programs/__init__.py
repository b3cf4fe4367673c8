"""Classic programs for packets, in C, that other machines' cycles are published for."""
