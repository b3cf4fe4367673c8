"""Runs programs on the Linux kernel's own eBPF machine, to hold the golden one against it."""

from fanweave.golden.ebpf.linux.machine import LinuxMachine, RefusedError
from fanweave.golden.ebpf.linux.maps import LinuxMap
from fanweave.golden.ebpf.linux.system import LinuxError, why_unavailable

__all__ = ["LinuxError", "LinuxMachine", "LinuxMap", "RefusedError", "why_unavailable"]
