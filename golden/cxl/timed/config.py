"""What stands around timed islands: devices, links between islands, and hosts."""

from dataclasses import dataclass, field

from fanweave.golden.errors import InputError

__all__ = ["DeviceTiming", "HostPort", "IslandLink", "MemoryPort", "SystemConfig"]


@dataclass(frozen=True, kw_only=True)
class DeviceTiming:
    """A memory: one server for reads and writes, in the order in which they come.

    Attributes
    ----------
    latency : int
        Cycles from the beginning of an access to its answer.
    read, write : int
        Cycles that an access keeps the server busy.
    turn : int
        Cycles lost when a read follows a write, or a write a read.
    loads : tuple of int
        Cycles that an access had to wait from which on its answer says optimal, moderate overload
        and severe overload.

    Raises
    ------
    InputError
        If a number is below its least value, or the loads do not grow.
    """

    latency: int = 100
    read: int = 1
    write: int = 1
    turn: int = 0
    loads: tuple[int, int, int] = (8, 64, 192)

    def __post_init__(self) -> None:
        for name, least in (("latency", 1), ("read", 1), ("write", 1), ("turn", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} = {value!r} of a device must be an integer from {least}")
        if len(self.loads) != 3 or list(self.loads) != sorted(self.loads) or self.loads[0] < 1:
            raise InputError(
                f"loads = {list(self.loads)} of a device must be three growing numbers from 1"
            )


@dataclass(frozen=True, kw_only=True)
class HostPort:
    """A host: which port of which island it sends into, and how much it has open.

    Attributes
    ----------
    island, port : int
    outstanding : int
        Requests that it has open at most.
    """

    island: int
    port: int
    outstanding: int = 64


@dataclass(frozen=True, kw_only=True)
class MemoryPort:
    """A memory behind a port of an island; ports count hosts too."""

    island: int
    port: int
    timing: DeviceTiming = field(default_factory=DeviceTiming)


@dataclass(frozen=True, kw_only=True)
class IslandLink:
    """A port of an island that leads into a host's port of another.

    Attributes
    ----------
    island, port : int
        Where requests leave.
    to_island, to_port : int
        Where they come in.
    latency : int
        Cycles on the way, in each direction.
    """

    island: int
    port: int
    to_island: int
    to_port: int
    latency: int = 20


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """Islands' surroundings.

    Attributes
    ----------
    islands : int
    hosts : tuple of HostPort
    memories : tuple of MemoryPort
    links : tuple of IslandLink
    """

    islands: int
    hosts: tuple[HostPort, ...]
    memories: tuple[MemoryPort, ...]
    links: tuple[IslandLink, ...] = ()
