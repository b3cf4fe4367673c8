"""Ethernet frames with IPv4 and TCP, as programs see them. Checksums are zero; nobody looks."""

import struct

from fanweave.golden.errors import InputError

__all__ = ["FRAME_BYTES", "IPV4", "TCP", "UDP", "VLAN", "context_of", "ethernet", "ipv4", "tcp"]

#: As in ``frame.h``: bytes of the context.
FRAME_BYTES = 144
IPV4 = 0x0800
VLAN = 0x8100
TCP, UDP = 6, 17
_WORD = 4


def ethernet(payload: bytes, *, kind: int = IPV4, vlan: int | None = None) -> bytes:
    """A frame.

    Parameters
    ----------
    payload : bytes
        What it carries.
    kind : int
        EtherType.
    vlan : int, optional
        Tag before it.
    """
    tag = b"" if vlan is None else struct.pack(">HH", VLAN, vlan)
    return bytes.fromhex("020000000001 020000000002") + tag + struct.pack(">H", kind) + payload


def ipv4(
    payload: bytes,
    *,
    destination: str = "10.0.0.2",
    protocol: int = TCP,
    options: bytes = b"",
    fragment: int = 0,
    words: int | None = None,
) -> bytes:
    """A packet.

    Parameters
    ----------
    payload : bytes
        What it carries.
    destination : str
        Address with dots.
    protocol : int
        Number.
    options : bytes
        Of the header, whole words.
    fragment : int
        The field, with its three flags.
    words : int, optional
        What the header says of its length, if not the truth.
    """
    length = 5 + len(options) // _WORD
    fields = (
        *(0x40 | (length if words is None else words), 0),
        *(_WORD * length + len(payload), 1, fragment, 64, protocol, 0),
    )
    addresses = bytes((10, 0, 0, 1)) + bytes(int(part) for part in destination.split("."))
    return struct.pack(">BBHHHBBH", *fields) + addresses + options + payload


def tcp(
    source: int,
    destination: int,
    *,
    options: bytes = b"",
    payload: bytes = b"",
    words: int | None = None,
) -> bytes:
    """A segment.

    Parameters
    ----------
    source, destination : int
        Ports.
    options : bytes
        Whole words.
    payload : bytes
        Data.
    words : int, optional
        What the header says of its length, if not the truth.
    """
    length = 5 + len(options) // _WORD if words is None else words
    head = struct.pack(">HHIIBBHHH", source, destination, 1, 2, length << 4, 0x10, 8192, 0, 0)
    return head + options + payload


def context_of(frame: bytes) -> bytes:
    """The first `FRAME_BYTES` bytes of a frame, filled up with zeros.

    Raises
    ------
    InputError
        If the frame is empty.
    """
    if not frame:
        raise InputError("the frame is empty; a frame has 14 bytes at least")
    return frame[:FRAME_BYTES].ljust(FRAME_BYTES, b"\0")
