"""Numbers of bpftime's device side: types of maps from 1501, helpers from 501, sections.

Source: bpftime's public sources (github.com/eunomia-bpf/bpftime, MIT), its document of GPU support
and ``attach/nv_attach_impl/trampoline/default_trampoline.cu``.
"""

from dataclasses import dataclass

from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["DEVICE_HELPERS", "DEVICE_MAPS", "ENTRY", "RETURN", "DeviceHelper", "DeviceMap"]

#: Prefixes of a program's section; the name of the kernel follows.
ENTRY = "kprobe/"
RETURN = "kretprobe/"


@dataclass(frozen=True, kw_only=True)
class DeviceMap:
    """A type of map in the memory of a GPU.

    Attributes
    ----------
    number : int
    name : str
        Without ``BPF_MAP_TYPE_``.
    stands_for : MapType or None
        What does the same on the golden machine, an engine for a thread; None if nothing does.
    meaning : str
        In a line.
    """

    number: int
    name: str
    stands_for: MapType | None
    meaning: str


@dataclass(frozen=True, kw_only=True)
class DeviceHelper:
    """A helper of programs on a GPU.

    Attributes
    ----------
    number : int
    name : str
        Without ``bpf_``.
    arguments : int
        How many.
    stands_for : str
        Name of a helper of the golden machine with the same arguments and kind of result; empty if
        there is none.
    meaning : str
        In a line.
    """

    number: int
    name: str
    arguments: int
    stands_for: str
    meaning: str


def _map(number: int, name: str, stands_for: MapType | None, meaning: str) -> DeviceMap:
    return DeviceMap(number=number, name=name, stands_for=stands_for, meaning=meaning)


def _helper(number: int, name: str, arguments: int, stands_for: str, meaning: str) -> DeviceHelper:
    return DeviceHelper(
        number=number, name=name, arguments=arguments, stands_for=stands_for, meaning=meaning
    )


_M = MapType
DEVICE_MAPS = (
    _map(1501, "GPU_HASH_MAP", _M.HASH, "Values by key, one for all threads."),
    _map(1502, "PERGPUTD_ARRAY_MAP", _M.PERCPU_ARRAY, "Values by number, for each thread."),
    _map(1503, "GPU_ARRAY_MAP", _M.ARRAY, "Values by number, one for all threads."),
    _map(1504, "GPU_KERNEL_SHARED_ARRAY_MAP", _M.ARRAY, "Shared with Linux and its processes."),
    _map(1512, "PERGPUTD_ARRAY_HOST_MAP", _M.PERCPU_ARRAY, "As 1502, in the host's memory."),
    _map(1513, "GPU_ARRAY_HOST_MAP", _M.ARRAY, "As 1503, in the host's memory."),
    _map(1527, "GPU_RINGBUF_MAP", None, "A ring a thread, written by perf_event_output."),
)
DEVICE_HELPERS = (
    _helper(501, "puts", 1, "", "Prints a string at the host."),
    _helper(502, "get_globaltimer", 0, "ktime_get_ns", "The GPU's time, ns."),
    _helper(503, "get_block_idx", 3, "", "Stores the block's numbers."),
    _helper(504, "get_block_dim", 3, "", "Stores the block's sizes."),
    _helper(505, "get_thread_idx", 3, "", "Stores the thread's numbers."),
    _helper(506, "gpu_membar", 0, "", "A fence for the whole system."),
    _helper(507, "gpu_exit", 0, "", "Ends the thread."),
    _helper(508, "get_grid_dim", 3, "", "Stores the grid's sizes."),
    _helper(509, "get_sm_id", 0, "get_smp_processor_id", "The multiprocessor's number."),
    _helper(510, "get_warp_id", 0, "get_smp_processor_id", "The warp's number."),
    _helper(511, "get_lane_id", 0, "get_smp_processor_id", "The thread's number in its warp."),
)
