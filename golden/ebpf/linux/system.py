"""The ``bpf`` system call.

Source: Linux's user-space interface (``linux/bpf.h``, ``union bpf_attr``).
"""

import ctypes
import enum
import os
import platform
import struct
import sys
from functools import cache

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf import INSTRUCTION_BYTES, encode_program

__all__ = [
    "Command",
    "LinuxError",
    "create_map",
    "element",
    "load_program",
    "test_run",
    "why_unavailable",
]

#: Number of the system call by machine.
_SYSTEM_CALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
#: A filter of packets at a socket: what such a program may do is the least that depends on a host.
_SOCKET_FILTER = 1
_LICENSE = b"GPL"
_LOG_BYTES = 1 << 20
#: The least that Linux takes for a packet is an Ethernet header.
_PACKET = bytes(64)


class Command(enum.IntEnum):
    """First argument of the system call."""

    MAP_CREATE = 0
    MAP_LOOKUP_ELEM = 1
    MAP_UPDATE_ELEM = 2
    MAP_DELETE_ELEM = 3
    MAP_GET_NEXT_KEY = 4
    PROG_LOAD = 5
    PROG_TEST_RUN = 10
    MAP_LOOKUP_AND_DELETE_ELEM = 21


class LinuxError(FaultError):
    """A system call failed.

    Attributes
    ----------
    number : int
        Error number, positive.
    """

    def __init__(self, command: Command, number: int) -> None:
        super().__init__(f"bpf({command.name}): {os.strerror(number)}")
        self.number = number


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(command: Command, attributes: bytes) -> tuple[int, bytes]:
    """The result, and the attributes as Linux leaves them."""
    number = _SYSTEM_CALL.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        raise LinuxError(command, 38)  # ENOSYS
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = _library().syscall(number, int(command), buffer, len(attributes))
    if result < 0:
        raise LinuxError(command, ctypes.get_errno())
    return result, buffer.raw


def _pointer(buffer: "ctypes.Array[ctypes.c_char] | None") -> int:
    return 0 if buffer is None else ctypes.addressof(buffer)


def _buffer(data: bytes) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(data, len(data))


def create_map(
    kind: int, key_size: int, value_size: int, max_entries: int, flags: int, inner: int = 0
) -> int:
    """Create a map; returns its descriptor.

    Raises
    ------
    LinuxError
        If Linux refuses.
    """
    attributes = struct.pack("<6I", kind, key_size, value_size, max_entries, flags, inner)
    return _call(Command.MAP_CREATE, attributes)[0]


def element(
    command: Command, descriptor: int, key: bytes | None, value: bytes | None, flags: int = 0
) -> bytes:
    """An operation on a map's elements.

    Parameters
    ----------
    command : Command
        Which one.
    descriptor : int
        Of the map.
    key : bytes, optional
        Queues have none.
    value : bytes, optional
        What is written, or as many bytes as are read.
    flags : int
        Of the command.

    Returns
    -------
    bytes
        The value, or the next key.

    Raises
    ------
    LinuxError
        If it fails.
    """
    keys = None if key is None else _buffer(key)
    values = None if value is None else _buffer(value)
    _call(command, struct.pack("<IxxxxQQQ", descriptor, _pointer(keys), _pointer(values), flags))
    return b"" if values is None else values.raw


def load_program(code: bytes) -> tuple[int, str]:
    """Let Linux verify and translate a program.

    Returns
    -------
    int, str
        Descriptor, or -1 and what the verifier said.
    """
    instructions, license_text = _buffer(code), ctypes.create_string_buffer(_LICENSE)
    log = ctypes.create_string_buffer(_LOG_BYTES)
    reason = ""
    # The log costs time, and is wanted only after a refusal.
    for level, size, place in ((0, 0, 0), (1, _LOG_BYTES, _pointer(log))):
        attributes = struct.pack(
            "<IIQQIIQII16x",
            *(_SOCKET_FILTER, len(code) // INSTRUCTION_BYTES),
            *(_pointer(instructions), _pointer(license_text), level, size, place, 0, 0),
        )
        try:
            return _call(Command.PROG_LOAD, attributes)[0], ""
        except LinuxError as error:
            reason = log.value.decode(errors="replace") or str(error)
    return -1, reason


def test_run(descriptor: int) -> int:
    """Run a program once on a packet of zeros; returns the low 32 bits of its r0.

    Raises
    ------
    LinuxError
        If Linux refuses.
    """
    packet = _buffer(_PACKET)
    attributes = struct.pack(
        "<IIIIQQII40x", descriptor, 0, len(_PACKET), 0, _pointer(packet), 0, 1, 0
    )
    _, after = _call(Command.PROG_TEST_RUN, attributes)
    result: int = struct.unpack_from("<I", after, 4)[0]
    return result


@cache
def why_unavailable() -> str:
    """Why programs cannot be run on this machine's kernel; empty if they can."""
    descriptor, reason = -1, ""
    try:
        descriptor, reason = load_program(encode_program([mov(0, 7), leave()]))
        if descriptor < 0:
            return f"Linux does not load programs here: {reason.strip()}"
        return "" if test_run(descriptor) == 7 else "Linux's test run does not work here"
    except LinuxError as error:
        return str(error)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
