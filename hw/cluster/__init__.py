"""The cluster: core complexes and what they share."""
