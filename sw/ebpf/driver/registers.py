"""The engine's registers by name."""

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_registers import WORD_BITS, byte_address, register
from fanweave.sw.ebpf.driver.bus import Bus

__all__ = ["EngineRegisters"]

_WORD = (1 << WORD_BITS) - 1
_BUSY = 1
#: Reads of a status register before an engine counts as dead; the longest operation, clearing all
#: values, takes a cycle for 32 bytes, and a read takes several.
_POLLS = 100_000


class EngineRegisters:
    """Reads and writes of registers, and waits for what a write has started.

    Parameters
    ----------
    bus : Bus
        To the engine.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def read(self, name: str, word: int = 0) -> int:
        """Read a word of a register."""
        return await self._bus.read(byte_address(name, word))

    async def write(self, name: str, value: int, word: int = 0) -> None:
        """Write a word of a register."""
        await self._bus.write(byte_address(name, word), value & _WORD)

    async def read_long(self, name: str) -> int:
        """Read a register of two words; counters stand still from the lower one on."""
        low = await self.read(name, 0)
        return low | await self.read(name, 1) << WORD_BITS

    async def write_long(self, name: str, value: int) -> None:
        """Write a register of two words, the upper one last."""
        await self.write(name, value)
        await self.write(name, value >> WORD_BITS, 1)

    async def write_fields(self, name: str, **fields: int) -> None:
        """Write a register of fields; those that are not named are zero."""
        entry = register(name)
        await self.write(name, sum(entry.field(f).place(value) for f, value in fields.items()))

    async def read_field(self, name: str, field: str) -> int:
        """Read a field of a register."""
        return register(name).field(field).extract(await self.read(name))

    async def write_bytes(self, name: str, content: bytes) -> None:
        """Write bytes to a register of many words."""
        step = WORD_BITS // 8
        for at in range(0, len(content), step):
            word = int.from_bytes(content[at : at + step], "little")
            await self.write(name, word, at // step)

    async def read_bytes(self, name: str, count: int) -> bytes:
        """Read bytes from a register of many words."""
        step = WORD_BITS // 8
        words = [await self.read(name, at) for at in range(-(-count // step))]
        return b"".join(word.to_bytes(step, "little") for word in words)[:count]

    async def ended(self, name: str) -> int:
        """Wait until a status register is not busy; returns it.

        Raises
        ------
        FaultError
            If that never comes.
        """
        for _ in range(_POLLS):
            status = await self.read(name)
            if not status & _BUSY:
                return status
        raise FaultError(f"the engine does not end: register {name} is busy after {_POLLS} reads")
