"""Benchmarks of eBPF."""
