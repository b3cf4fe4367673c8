"""Maps of an engine: made, filled and read by a host."""

from collections.abc import AsyncIterator, Sequence

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.layout import MapPlace, lay_out
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR_WORDS, WORD_BYTES, MapCommand
from fanweave.golden.isa.ebpf_machine import Region, map_address
from fanweave.golden.isa.ebpf_maps import (
    ARRAYS,
    HASHES,
    QUEUES,
    TABLES,
    Errno,
    MapType,
    RecordFlag,
    RingQuery,
)
from fanweave.golden.isa.ebpf_registers import register
from fanweave.sw.ebpf.driver.registers import EngineRegisters

__all__ = ["EngineMaps"]

_MOST_FLAGS = 8
_HEADER_BYTES = 8
_LENGTH_MASK = ~int(RecordFlag.BUSY | RecordFlag.DISCARDED)


class EngineMaps:
    """Operations on maps as a process beside the engine has them, with Linux's error numbers.

    Parameters
    ----------
    registers : EngineRegisters
        Of the engine.
    config : EbpfConfig
        The engine.
    """

    def __init__(self, registers: EngineRegisters, config: EbpfConfig) -> None:
        self._registers = registers
        self._config = config
        self._places: tuple[MapPlace, ...] = ()

    async def create(self, specs: Sequence[MapSpec]) -> None:
        """Make these maps and no others; all are empty, and values of arrays zero.

        Raises
        ------
        InputError
            If they do not fit the engine; then nothing is changed.
        """
        places = lay_out(specs, self._config)
        for number, place in enumerate(places):
            for word in range(DESCRIPTOR_WORDS):
                await self._registers.write("descriptor", place.descriptor >> 32 * word, word)
            await self._registers.write_fields("descriptor_map", map=number)
            await self._operate(MapCommand.CREATE, number, length=place.value_words * WORD_BYTES)
        self._places = places

    async def update(self, number: int, key: bytes, value: bytes, flags: int = 0) -> int:
        """Set a value; 0 or a negative error number.

        Of a per-engine array `value` holds one value for all engines, or one for each.

        Raises
        ------
        InputError
            If a value of a hash map or a trie is longer than the engine's operands.
        """
        spec = self._spec(number)
        if spec.kind in QUEUES:
            return await self.push(number, value, flags)
        parts = [value[at : at + spec.value_size] for at in range(0, len(value), spec.value_size)]
        if spec.kind is MapType.PERCPU_ARRAY and len(parts) == 1:
            parts *= self._config.engines
        for engine, part in enumerate(parts):
            result = await self._update(number, key, part, flags, engine)
            if result:
                return result
        return 0

    async def _update(self, number: int, key: bytes, value: bytes, flags: int, engine: int) -> int:
        spec = self._spec(number)
        if spec.kind in TABLES:
            result, _ = await self._operate(
                MapCommand.UPDATE,
                number,
                key=key,
                flags=flags,
                length=int.from_bytes(value, "little"),
            )
        elif len(value) <= self._config.operand_bytes:
            result, _ = await self._operate(
                MapCommand.UPDATE, number, key=key, value=value, flags=flags, engine=engine
            )
        elif spec.kind in ARRAYS:
            address, found = await self._operate(MapCommand.READ, number, key=key, engine=engine)
            if not found:
                return -Errno.TOO_BIG
            await self._store(address, value)
            return 0
        else:
            raise InputError(
                f"map {spec.name!r} has values of {len(value)} bytes; a host can put values of "
                f"operand_bytes = {self._config.operand_bytes} into one of its type"
            )
        return _signed(result)

    async def lookup(self, number: int, key: bytes) -> bytes | None:
        """The value of a key, which does not count as use; of all engines in a per-engine array."""
        spec = self._spec(number)
        if spec.kind in TABLES:
            value, found = await self._operate(MapCommand.READ, number, key=key)
            if spec.kind is MapType.ARRAY_OF_MAPS:
                value -= Region.MAP_HANDLES
            return value.to_bytes(spec.value_size, "little") if found else None
        engines = self._config.engines if spec.kind is MapType.PERCPU_ARRAY else 1
        parts = []
        for engine in range(engines):
            address, _ = await self._operate(MapCommand.READ, number, key=key, engine=engine)
            if not address:
                return None
            parts.append(await self._load(address, spec.value_size))
        return b"".join(parts)

    async def delete(self, number: int, key: bytes) -> int:
        """Remove a key; 0 or a negative error number."""
        result, _ = await self._operate(MapCommand.DELETE, number, key=key)
        return _signed(result)

    async def push(self, number: int, value: bytes, flags: int = 0) -> int:
        """Append to a queue or stack; 0 or a negative error number."""
        result, _ = await self._operate(MapCommand.PUSH, number, value=value, flags=flags)
        return _signed(result)

    async def pop(self, number: int) -> bytes | None:
        """Take the next value of a queue or stack."""
        _, found = await self._operate(MapCommand.POP, number)
        size = self._spec(number).value_size
        return await self._registers.read_bytes("read_back", size) if found else None

    async def consume(self, number: int) -> bytes | None:
        """Take the oldest record of a ring buffer, if it is there whole."""
        result, found = await self._operate(MapCommand.CONSUME, number)
        if not found:
            return None
        length, place = result & 0xFFFF_FFFF, result >> 32
        record = await self._load(map_address(number) + place, length)
        await self._operate(MapCommand.ADVANCE, number)
        return record

    async def items(self, number: int) -> list[tuple[bytes, bytes]]:
        """What is in a map, as golden's maps list it; keys of hash maps in any order."""
        kind = self._spec(number).kind
        if kind is MapType.RINGBUF:
            return [(b"", record) async for record in self._records(number)]
        if kind in QUEUES:
            return [(b"", value) async for value in self._queued(number)]
        found = []
        async for key in self._keys(number):
            value = await self.lookup(number, key)
            if value is not None:
                found.append((key, value))
        return found

    async def _keys(self, number: int) -> AsyncIterator[bytes]:
        spec = self._spec(number)
        for place in range(spec.max_entries):
            if spec.kind in HASHES or spec.kind is MapType.LPM_TRIE:
                _, taken = await self._operate(MapCommand.KEY, number, place=place)
                if taken:
                    yield await self._registers.read_bytes("read_back", spec.key_size)
            else:
                yield place.to_bytes(spec.key_size, "little")

    async def _queued(self, number: int) -> AsyncIterator[bytes]:
        """Values of a queue or stack, the oldest one first."""
        spec, place = self._spec(number), self._places[number]
        count, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.PRODUCER)
        oldest, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.CONSUMER)
        for at in range(oldest, oldest + count):
            offset = at % spec.max_entries * place.pitch_words * WORD_BYTES
            yield await self._load(map_address(number) + offset, spec.value_size)

    async def _records(self, number: int) -> AsyncIterator[bytes]:
        """Records of a ring that were submitted, up to the first open one."""
        size = self._spec(number).max_entries
        position, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.CONSUMER)
        behind, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.PRODUCER)
        while position < behind:
            start = map_address(number) + position % size
            word = int.from_bytes(await self._load(start, 4), "little")
            if word & RecordFlag.BUSY:
                return
            length = word & _LENGTH_MASK
            if not word & RecordFlag.DISCARDED:
                yield await self._load(start + _HEADER_BYTES, length)
            position += _HEADER_BYTES + -(-length // 8) * 8

    def _spec(self, number: int) -> MapSpec:
        if not 0 <= number < len(self._places):
            raise InputError(f"map {number} is none; the engine has {len(self._places)} maps")
        return self._places[number].spec

    async def _operate(
        self,
        command: MapCommand,
        number: int,
        *,
        key: bytes = b"",
        value: bytes = b"",
        flags: int = 0,
        engine: int = 0,
        length: int = 0,
        place: int = 0,
    ) -> tuple[int, bool]:
        """Have an operation done; its result, and whether there was what was asked for."""
        registers = self._registers
        await registers.write_bytes("operation_key", key)
        await registers.write_bytes("operand", value)
        await registers.write("operation_length", length)
        await registers.write("operation_place", place)
        await registers.write_fields(
            "operation",
            command=command,
            flags=min(flags, _MOST_FLAGS),
            map=number,
            engine=engine,
        )
        status = await registers.ended("operation_status")
        found = bool(register("operation_status").field("found").extract(status))
        return await registers.read_long("operation_result"), found

    async def _load(self, address: int, size: int) -> bytes:
        parts = []
        for at in range(0, size, WORD_BYTES):
            count = min(WORD_BYTES, size - at)
            await self._access(address + at, count, stores=0)
            word = await self._registers.read_long("access_result")
            parts.append(word.to_bytes(WORD_BYTES, "little")[:count])
        return b"".join(parts)

    async def _store(self, address: int, value: bytes) -> None:
        for at in range(0, len(value), WORD_BYTES):
            part = value[at : at + WORD_BYTES]
            await self._registers.write_long("access_data", int.from_bytes(part, "little"))
            await self._access(address + at, len(part), stores=1)

    async def _access(self, address: int, count: int, *, stores: int) -> None:
        registers = self._registers
        await registers.write("access_address", address)
        await registers.write_fields("access", bytes=count, stores=stores)
        status = await registers.ended("access_status")
        if register("access_status").field("cause").extract(status):
            raise FaultError(f"the engine does not reach {count} bytes at {address:#x}")


def _signed(result: int) -> int:
    """A result of 64 bits as a number with a sign."""
    return result - (1 << 64) if result >> 63 else result
