"""The registers of a `HostBench`, by their names."""

from collections.abc import Awaitable, Callable, Sequence

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR_WORDS, MapCommand
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_registers import WORD_BITS, byte_address, register
from fanweave.sim.benches.ebpf.host_bench import HostBench, play_host

__all__ = ["HostRegisters", "play_registers"]

#: Reads of a status register until what it is about must be done.
_PATIENCE = 200
_WORD = (1 << WORD_BITS) - 1


class HostRegisters:
    """Step by step what a driver does at once, so that a test sees every response.

    Parameters
    ----------
    bench : HostBench
        Whose bus is driven.
    """

    def __init__(self, bench: HostBench) -> None:
        self.bench = bench

    async def put(self, name: str, value: int = 0, word: int = 0, **fields: int) -> int:
        """Write a word, or one made of fields, and give the bus's response."""
        packed = register(name).pack(**fields) if fields else value
        return await self.bench.put(byte_address(name, word), packed)

    async def write(self, name: str, value: int = 0, word: int = 0, **fields: int) -> None:
        """Write a word, or one made of fields; a refusal is a `FaultError`."""
        packed = register(name).pack(**fields) if fields else value
        await self.bench.write(byte_address(name, word), packed)

    async def read(self, name: str, word: int = 0) -> int:
        """A word; a refusal is a `FaultError`."""
        return await self.bench.read(byte_address(name, word))

    async def read_pair(self, name: str) -> int:
        """64 bits, the lower word first."""
        low, high = [await self.read(name, word) for word in (0, 1)]
        return high << WORD_BITS | low

    async def status(self, name: str) -> dict[str, int]:
        """Fields of a register."""
        value = await self.read(name)
        return {field.name: field.extract(value) for field in register(name).fields}

    async def wait(self, name: str) -> dict[str, int]:
        """Fields of a status register when it is not busy any more."""
        for _ in range(_PATIENCE):
            status = await self.status(name)
            if not status["busy"]:
                return status
        raise FaultError(f"register {name} stays busy")

    async def write_key(self, key: bytes) -> None:
        """Key of the next operation."""
        for at in range(0, len(key), 4):
            await self.write("operation_key", int.from_bytes(key[at : at + 4], "little"), at // 4)

    async def operate(
        self, command: MapCommand, number: int, key: bytes = b"", **fields: int
    ) -> tuple[int, int]:
        """An operation on a map: whether it found something, and its result."""
        await self.write_key(key)
        await self.write("operation", command=command, map=number, **fields)
        status = await self.wait("operation_status")
        return status["found"], await self.read_pair("operation_result")

    async def access(
        self, address: int, count: int, data: int | None = None
    ) -> tuple[FaultCause, int]:
        """Load bytes of a value, or store them: how it ended, and what was loaded."""
        await self.write("access_address", address)
        if data is not None:
            for word in (0, 1):
                await self.write("access_data", data >> WORD_BITS * word & _WORD, word)
        await self.write("access", bytes=count, stores=int(data is not None))
        status = await self.wait("access_status")
        return FaultCause(status["cause"]), await self.read_pair("access_result")

    async def create(self, specs: Sequence[MapSpec], config: EbpfConfig) -> None:
        """Describe maps and make them empty."""
        for number, place in enumerate(lay_out(specs, config)):
            for word in range(DESCRIPTOR_WORDS):
                bits = place.descriptor >> WORD_BITS * word & _WORD
                await self.write("descriptor", bits, word)
            await self.write("descriptor_map", map=number)
            await self.write("operation_length", 8 * place.value_words)
            await self.operate(MapCommand.CREATE, number)

    async def load(self, image: int, base: int, words: Sequence[int]) -> tuple[LoadFault, int]:
        """Write a program and commit it: what is wrong with it, and in which slot."""
        await self.write("program_slot", base)
        for word in words:
            await self.write("program_low", word & _WORD)
            await self.write("program_high", word >> WORD_BITS)
        await self.write("commit_base", base)
        await self.write("commit_length", len(words))
        await self.write("commit", image=image)
        status = await self.wait("commit_status")
        fault = next(fault for fault in LoadFault if fault == status["fault"])
        return fault, status["slot"]


def play_registers(
    scenario: Callable[[HostRegisters], Awaitable[None]],
    config: EbpfConfig,
    *,
    beside: Callable[[HostBench], Awaitable[None]] | None = None,
    stall: int = 0,
) -> None:
    """Run a scenario as `play_host` does."""

    async def run(bench: HostBench) -> None:
        await scenario(HostRegisters(bench))

    play_host(run, config, beside=beside, stall=stall)
