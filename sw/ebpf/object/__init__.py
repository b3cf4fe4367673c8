"""Object files of eBPF programs: built from C, read, linked, run."""
