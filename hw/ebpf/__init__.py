"""The eBPF policy engine in RTL."""
