"""eBPF as it should be: a machine with maps and helpers, bit for bit."""
