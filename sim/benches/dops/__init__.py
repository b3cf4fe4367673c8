"""The benchmark of placement: the recorded numbers, the published grid, ablations."""
