"""Maps of an engine: made, filled and read by a host."""

from collections.abc import AsyncIterator, Sequence

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.layout import MapPlace, lay_out
from fanweave.golden.ebpf.maps import MapSpec, canonical_prefix, create_map
from fanweave.golden.errors import InputError
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
    UpdateFlag,
)
from fanweave.golden.isa.ebpf_registers import HOST_COMMANDS, WORD_BITS, register
from fanweave.sw.ebpf.driver.registers import EngineRegisters
from fanweave.sw.ebpf.driver.values import EngineValues

__all__ = ["EngineMaps"]

#: Commands that take a key, and those that copy a value of most types.
_KEYED = frozenset({MapCommand.LOOKUP, MapCommand.READ, MapCommand.UPDATE, MapCommand.DELETE})
_COPYING = frozenset({MapCommand.UPDATE, MapCommand.PUSH, MapCommand.POP, MapCommand.PEEK})
#: Maps, or programs, that a table can name.
_ENTRIES = 256
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
        self._values = EngineValues(registers)
        self._places: tuple[MapPlace, ...] = ()

    async def create(self, specs: Sequence[MapSpec]) -> None:
        """Make these maps and no others; all are empty, and values of arrays zero.

        Raises
        ------
        InputError
            If a definition is none, or they do not fit the engine; then nothing is changed.
        """
        for spec in specs:
            create_map(spec, engines=self._config.engines)
        places = lay_out(specs, self._config)
        before, self._places = len(self._places), places
        for number in range(len(places), before):
            await self._describe(number, 0)
        for number, place in enumerate(places):
            await self._describe(number, place.descriptor)
            await self._operate(MapCommand.CREATE, number, length=place.value_words * WORD_BYTES)

    async def _describe(self, number: int, descriptor: int) -> None:
        for word in range(DESCRIPTOR_WORDS):
            await self._registers.write("descriptor", descriptor >> WORD_BITS * word, word)
        await self._registers.write_fields("descriptor_map", map=number)

    async def update(self, number: int, key: bytes, value: bytes, flags: int = 0) -> int:
        """Set a value; 0 or a negative error number.

        Of a per-engine array `value` holds one value for all engines, or one for each.

        Raises
        ------
        InputError
            If key or value has another size than the map says, or a value of a hash map or a trie
            is longer than the engine's operands.
        """
        spec = self._spec(number)
        if spec.kind in QUEUES:
            return await self.push(number, value, flags)
        size = spec.value_size
        many = self._config.engines if spec.kind is MapType.PERCPU_ARRAY else 1
        if len(value) not in (size, many * size):
            raise InputError(_other_size(spec, "value", len(value), size))
        # One value is for all engines; otherwise there is one for each.
        parts = [value[n * size : (n + 1) * size] for n in range(many)]
        parts = [value] * many if len(value) == size else parts
        for engine, part in enumerate(parts):
            result = await self._update(number, key, part, flags, engine)
            if result:
                return result
        return 0

    async def _update(self, number: int, key: bytes, value: bytes, flags: int, engine: int) -> int:
        spec = self._spec(number)
        if spec.kind in TABLES:
            entry = int.from_bytes(value, "little")
            if entry >= _ENTRIES:
                raise InputError(
                    f"map {spec.name!r}: {entry} names nothing; numbers are less than {_ENTRIES}"
                )
            result, _ = await self._operate(
                MapCommand.UPDATE, number, key=key, flags=flags, length=entry
            )
        elif spec.kind in ARRAYS and len(value) > self._config.operand_bytes:
            return await self._update_long(number, key, value, flags, engine)
        else:
            result, _ = await self._operate(
                MapCommand.UPDATE, number, key=key, value=value, flags=flags, engine=engine
            )
        return _signed(result)

    async def _update_long(
        self, number: int, key: bytes, value: bytes, flags: int, engine: int
    ) -> int:
        """Set a value of an array that is longer than what the engine copies."""
        if flags not in (UpdateFlag.ANY, UpdateFlag.EXIST):
            raise InputError(
                f"map {self._spec(number).name!r}: flags = {flags}; values of more than "
                f"operand_bytes = {self._config.operand_bytes} are set with "
                f"{UpdateFlag.ANY.value} or {UpdateFlag.EXIST.value}"
            )
        address, found = await self._operate(MapCommand.READ, number, key=key, engine=engine)
        if not found:
            return -Errno.TOO_BIG
        await self._values.store(address, value)
        return 0

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
            parts.append(await self._values.load(address, spec.value_size))
        return b"".join(parts)

    async def delete(self, number: int, key: bytes) -> int:
        """Remove a key; 0 or a negative error number."""
        result, _ = await self._operate(MapCommand.DELETE, number, key=key)
        return _signed(result)

    async def push(self, number: int, value: bytes, flags: int = 0) -> int:
        """Append to a queue or stack; 0 or a negative error number."""
        spec = self._spec(number)
        if spec.kind in QUEUES and len(value) != spec.value_size:
            raise InputError(_other_size(spec, "value", len(value), spec.value_size))
        result, _ = await self._operate(MapCommand.PUSH, number, value=value, flags=flags)
        return _signed(result)

    async def pop(self, number: int) -> bytes | None:
        """Take the next value of a queue or stack."""
        return await self._next(number, MapCommand.POP)

    async def peek(self, number: int) -> bytes | None:
        """Read the next value of a queue or stack."""
        return await self._next(number, MapCommand.PEEK)

    async def _next(self, number: int, command: MapCommand) -> bytes | None:
        _, found = await self._operate(command, number)
        size = self._spec(number).value_size
        return await self._registers.read_bytes("read_back", size) if found else None

    async def consume(self, number: int) -> bytes | None:
        """Take the oldest record of a ring buffer, if it is there whole."""
        result, found = await self._operate(MapCommand.CONSUME, number)
        if not found:
            return None
        length, place = result & 0xFFFF_FFFF, result >> 32
        record = await self._values.load(map_address(number) + place, length)
        await self._operate(MapCommand.ADVANCE, number)
        return record

    async def items(self, number: int) -> list[tuple[bytes, bytes]]:
        """What is in a map, as golden's maps list it.

        While programs change the map, keys and values may be of different moments.
        """
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
        if kind in HASHES:
            found.sort()
        elif kind is MapType.LPM_TRIE:
            found.sort(key=lambda item: canonical_prefix(item[0]))
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
            yield await self._values.load(map_address(number) + offset, spec.value_size)

    async def _records(self, number: int) -> AsyncIterator[bytes]:
        """Records of a ring that were submitted, up to the first open one."""
        size = self._spec(number).max_entries
        position, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.CONSUMER)
        behind, _ = await self._operate(MapCommand.QUERY, number, place=RingQuery.PRODUCER)
        while position < behind:
            start = map_address(number) + position % size
            word = int.from_bytes(await self._values.load(start, 4), "little")
            if word & RecordFlag.BUSY:
                return
            length = word & _LENGTH_MASK
            if not word & RecordFlag.DISCARDED:
                yield await self._values.load(start + _HEADER_BYTES, length)
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
        self._check(self._spec(number), command, key)
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

    def _check(self, spec: MapSpec, command: MapCommand, key: bytes) -> None:
        """Refuse what the engine would refuse, with a reason."""
        if command not in HOST_COMMANDS[spec.kind]:
            raise InputError(
                f"map {spec.name!r} is of type {spec.kind.name}, which has no {command.name}"
            )
        if command in _KEYED and len(key) != spec.key_size:
            raise InputError(_other_size(spec, "key", len(key), spec.key_size))
        if (command in _COPYING and spec.kind not in TABLES) and (
            spec.value_size > self._config.operand_bytes
        ):
            raise InputError(
                f"map {spec.name!r} has value_size = {spec.value_size}; a host copies values of "
                f"operand_bytes = {self._config.operand_bytes} at most"
            )


def _other_size(spec: MapSpec, part: str, size: int, expected: int) -> str:
    return f"map {spec.name!r}: the {part} has {size} bytes; it must have {expected}"


def _signed(result: int) -> int:
    """A result of 64 bits as a number with a sign."""
    return result - (1 << 64) if result >> 63 else result
