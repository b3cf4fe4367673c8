"""Compiles semantic movement graphs into eBPF objects, maps and attach manifests of devices."""
