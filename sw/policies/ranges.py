"""Address ranges of a host as keys of tries, and what they are worth as grants."""

from collections.abc import Iterator

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode

__all__ = ["ADDRESS_BITS", "grant", "prefix_key", "prefixes"]

#: Bits of an address below those of the port.
ADDRESS_BITS = 56
_PORT_BITS = 8
_KEY_BITS = _PORT_BITS + ADDRESS_BITS


def prefix_key(port: int, address: int, bits: int) -> bytes:
    """Key of a trie with `struct place` as its keys.

    Parameters
    ----------
    port : int
        Of the host, 0 to 255.
    address : int
        First byte, less than 2^56.
    bits : int
        How many count, from the port's first one: 8 for all that a host has, 64 for a byte.

    Raises
    ------
    InputError
        If a number is out of its range.
    """
    limits = (("port", port, 1 << _PORT_BITS), ("address", address, 1 << ADDRESS_BITS))
    for name, value, limit in (*limits, ("bits", bits, _KEY_BITS + 1)):
        if not 0 <= value < limit:
            raise InputError(f"{name} = {value:#x}; it must be less than {limit:#x}")
    data = (port << ADDRESS_BITS | address).to_bytes(_KEY_BITS // 8, "big")
    return bits.to_bytes(4, "little") + data


def prefixes(port: int, first: int, end: int) -> Iterator[bytes]:
    """The fewest keys that together are a range of addresses.

    Parameters
    ----------
    port : int
        Of the host.
    first, end : int
        First byte, and the one behind the last.

    Raises
    ------
    InputError
        If the range is empty or goes beyond 2^56.
    """
    if not 0 <= first < end <= 1 << ADDRESS_BITS:
        raise InputError(
            f"range {first:#x} to {end:#x} is empty or not within {1 << ADDRESS_BITS:#x} bytes"
        )
    while first < end:
        # As large as where it begins allows, and as what is left does.
        aligned = (first & -first).bit_length() - 1 if first else ADDRESS_BITS
        size = min(aligned, (end - first).bit_length() - 1)
        yield prefix_key(port, first, _KEY_BITS - size)
        first += 1 << size


def grant(*opcodes: ReqOpcode | RwdOpcode) -> dict[str, int]:
    """Value of access control's `grants` that allows these opcodes."""
    allowed = {"req": 0, "rwd": 0}
    for opcode in opcodes:
        allowed["req" if isinstance(opcode, ReqOpcode) else "rwd"] |= 1 << opcode
    return allowed
