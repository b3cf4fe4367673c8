"""Values of an engine's maps, by address."""

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import WORD_BYTES
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_registers import register
from fanweave.sw.ebpf.driver.registers import EngineRegisters

__all__ = ["EngineValues"]


class EngineValues:
    """Loads and stores up to 8 bytes at a time; what is longer may change in between.

    Parameters
    ----------
    registers : EngineRegisters
        Of the engine.
    """

    def __init__(self, registers: EngineRegisters) -> None:
        self._registers = registers

    async def load(self, address: int, size: int) -> bytes:
        """Bytes from an address on.

        Raises
        ------
        FaultError
            If not all of them lie in one value, or in a ring buffer.
        """
        parts = []
        for at in range(0, size, WORD_BYTES):
            count = min(WORD_BYTES, size - at)
            await self._access(address + at, count, stores=0)
            word = await self._registers.read_long("access_result")
            parts.append(word.to_bytes(WORD_BYTES, "little")[:count])
        return b"".join(parts)

    async def store(self, address: int, content: bytes) -> None:
        """Put bytes there.

        Raises
        ------
        FaultError
            If not all of them lie in one value, or in a ring buffer.
        """
        for at in range(0, len(content), WORD_BYTES):
            part = content[at : at + WORD_BYTES]
            await self._registers.write_long("access_data", int.from_bytes(part, "little"))
            await self._access(address + at, len(part), stores=1)

    async def _access(self, address: int, count: int, *, stores: int) -> None:
        await self._registers.write("access_address", address)
        await self._registers.write_fields("access", bytes=count, stores=stores)
        status = await self._registers.ended("access_status")
        cause = FaultCause(register("access_status").field("cause").extract(status))
        if cause is not FaultCause.NONE:
            raise FaultError(
                f"the engine does not reach {count} bytes at {address:#x}: {cause.name}"
            )
