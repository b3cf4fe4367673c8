"""Plays operations on the map unit alone, in Amaranth's simulator, beside the golden maps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.maps import MapSpec, hash_key
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import BANK_WORDS, DESCRIPTOR, WORD_BYTES, MapCommand

__all__ = ["MapCall", "MapReply", "call_map", "create_maps", "play"]

_ROW_BYTES = BANK_WORDS * WORD_BYTES
_CYCLES_AT_MOST = 5000


@dataclass(frozen=True, kw_only=True)
class MapCall:
    """One operation; see `operation_layout`."""

    command: MapCommand
    map: int
    key: bytes = b""
    value: bytes = b""
    flags: int = 0
    length: int = 0
    place: int = 0
    engine: int = 0


@dataclass(frozen=True, kw_only=True)
class MapReply:
    """What came of it.

    Attributes
    ----------
    value : int
        64 bits, unsigned.
    found : bool
        See `OperationResult`.
    rows : bytes
        What was written to the operands.
    cycles : int
        From the cycle in which the operation was taken to the one in which the result is there.
    """

    value: int
    found: bool
    rows: bytes
    cycles: int


def play(specs: Sequence[MapSpec], calls: Iterable[MapCall], config: EbpfConfig) -> list[MapReply]:
    """Create the maps and play the operations, one after the other.

    Raises
    ------
    FaultError
        If an operation does not end.
    """
    # Only now: describing hardware is slow to import.
    from amaranth.sim import Simulator

    from fanweave.hw.ebpf.maps.map_unit import MapUnit

    unit = MapUnit(config=config, sources=1, accessors=1)
    replies: list[MapReply] = []

    async def host(ctx: Any) -> None:
        descriptors = await create_maps(ctx, unit, specs, config)
        for call in calls:
            replies.append(await call_map(ctx, unit, call, descriptors))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()
    return replies


async def create_maps(
    ctx: Any,
    unit: Any,
    specs: Sequence[MapSpec],
    config: EbpfConfig,
    *,
    source: int = 0,
    others: Sequence[Any] = (),
) -> list[dict[str, int]]:
    """Write the descriptors, to the map unit and to others that keep them, and make maps empty.

    Returns
    -------
    list of dict
        Descriptors by number.
    """
    places = lay_out(specs, config)
    descriptors = [_fields(place.descriptor) for place in places]
    for number, place in enumerate(places):
        for target in (unit, *others):
            ctx.set(target.descriptors.valid, 1)
            ctx.set(target.descriptors.payload, {"map": number, "descriptor": descriptors[number]})
        await ctx.tick()
        for target in (unit, *others):
            ctx.set(target.descriptors.valid, 0)
        create = MapCall(
            command=MapCommand.CREATE, map=number, length=place.value_words * WORD_BYTES
        )
        await call_map(ctx, unit, create, descriptors, source=source)
    return descriptors


async def call_map(
    ctx: Any, unit: Any, call: MapCall, descriptors: list[dict[str, int]], *, source: int = 0
) -> MapReply:
    """Give one operation to one of the unit's sources, and wait for its result.

    Raises
    ------
    FaultError
        If it does not end.
    """
    operations, results = unit.operations[source], unit.results[source]
    ctx.set(results.ready, 1)
    ctx.set(
        operations.payload,
        {
            "command": call.command.value,
            "thread": 3,
            "map": call.map,
            "descriptor": descriptors[call.map],
            "engine": call.engine,
            "key": int.from_bytes(call.key, "little"),
            "hash": hash_key(call.key),
            "flags": min(call.flags, 8),
            "length": call.length,
            "place": call.place,
        },
    )
    ctx.set(operations.valid, 1)
    padded = call.value + bytes(-len(call.value) % _ROW_BYTES)
    rows: dict[int, int] = {}
    taken_at = None
    for cycle in range(_CYCLES_AT_MOST):
        row = ctx.get(unit.operand_row)
        chunk = padded[row * _ROW_BYTES : (row + 1) * _ROW_BYTES]
        ctx.set(unit.operands[source], int.from_bytes(chunk, "little"))
        if taken_at is None and ctx.get(operations.ready):
            taken_at = cycle
        if ctx.get(unit.result_rows[source]):
            rows[ctx.get(unit.result_row)] = ctx.get(unit.result_data)
        if ctx.get(results.valid):
            assert taken_at is not None
            payload = ctx.get(results.payload)
            await ctx.tick()
            ctx.set(operations.valid, 0)
            return MapReply(
                value=payload.value,
                found=bool(payload.found),
                rows=_joined(rows),
                cycles=cycle - taken_at,
            )
        await ctx.tick()
        if taken_at is not None:
            ctx.set(operations.valid, 0)
    raise FaultError(f"{call} has no result after {_CYCLES_AT_MOST} cycles")


def _joined(rows: dict[int, int]) -> bytes:
    """Rows in order; those that were not written are zero."""
    count = max(rows, default=-1) + 1
    return b"".join(rows.get(row, 0).to_bytes(_ROW_BYTES, "little") for row in range(count))


def _fields(descriptor: int) -> dict[str, int]:
    return {field.name: field.extract(descriptor) for field in DESCRIPTOR}
