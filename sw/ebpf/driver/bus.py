"""How a driver reaches registers.

The driver is written once, as coroutines, so that a simulator can let time go by in each
transfer. Over a bus that answers at once no coroutine ever waits, and `run_now` runs it through.
"""

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

__all__ = ["Bus", "PlainBus", "over", "run_now"]

_Result = TypeVar("_Result")


class Bus(Protocol):
    """Registers of 32 bits by byte address; a refusal is a `FaultError`."""

    async def read(self, address: int) -> int:
        """Read a register."""

    async def write(self, address: int, value: int) -> None:
        """Write a register."""


class PlainBus(Protocol):
    """The same without coroutines."""

    def read(self, address: int) -> int:
        """Read a register."""

    def write(self, address: int, value: int) -> None:
        """Write a register."""


class _Over:
    def __init__(self, plain: PlainBus) -> None:
        self._plain = plain

    async def read(self, address: int) -> int:
        return self._plain.read(address)

    async def write(self, address: int, value: int) -> None:
        self._plain.write(address, value)


def over(plain: PlainBus) -> Bus:
    """A bus over one that answers at once."""
    return _Over(plain)


def run_now(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that waits for nothing.

    Parameters
    ----------
    coroutine : coroutine
        Of a driver over a bus that answers at once.

    Raises
    ------
    RuntimeError
        If it waits all the same.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine waits: its bus does not answer at once")
