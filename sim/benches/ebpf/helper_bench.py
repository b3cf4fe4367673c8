"""Plays calls on the helper unit and a map unit, in Amaranth's simulator, beside golden."""

import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.helpers import Engine, call_helper
from fanweave.golden.ebpf.maps import Map, MapSpec, ProgramArray, RingMap, create_map
from fanweave.golden.ebpf.memory import MachineFaultError, Memory
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import MAP_SPAN, FaultCause, Region, random_seed
from fanweave.golden.isa.ebpf_maps import Errno
from fanweave.sim.benches.ebpf.map_bench import MapCall, MapReply, call_map, create_maps

__all__ = ["CLEAN_UP", "HelperBench", "HelperCall", "HelperReply", "number_of"]

CLEAN_UP = 0
_CYCLES_AT_MOST = 3000
_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1
_NUMBERS = {helper.name: helper.number for helper in HELPERS.values()}
_FINISHES = (_NUMBERS["ringbuf_submit"], _NUMBERS["ringbuf_discard"])
_PROGRAMS = 256
_ENGINE, _HOST = 0, 1  # sources and accessors of the map unit
_TIMES = 1_000_003  # from the time of a thread to that of the next


def number_of(name: str) -> int:
    """Number of a helper."""
    return _NUMBERS[name]


@dataclass(frozen=True, kw_only=True)
class HelperCall:
    """One call: r1 to r5, and those that are not given are 0."""

    thread: int
    helper: int
    arguments: tuple[int, ...] = ()

    @property
    def registers(self) -> tuple[int, ...]:
        """r1 to r5."""
        return (*self.arguments, 0, 0, 0, 0, 0)[:5]


@dataclass(frozen=True, kw_only=True)
class HelperReply:
    """What came of it.

    Attributes
    ----------
    value, cause, goes_on_elsewhere
        See `Reply`.
    cycles : int
        From the cycle in which the call was taken to the one in which the reply is there.
    """

    value: int
    cause: FaultCause
    goes_on_elsewhere: bool = False
    cycles: int = 0


class _OwnRecords(Memory):
    """Of several events at a time: each reaches its own records only."""

    def _owns(self, address: int, size: int) -> bool:
        number, place = divmod(address - Region.MAP_VALUES, MAP_SPAN)
        if not 0 <= number < len(self.maps):
            return True
        ring = self.maps[number]
        return not isinstance(ring, RingMap) or any(
            owner is ring and start <= place and place + size <= start + ring.open[start]
            for owner, start in self.records
        )

    def locate(self, address: int, size: int, *, write: bool = False) -> tuple[bytearray, int]:
        if not self._owns(address, size):
            raise MachineFaultError(FaultCause.OUT_OF_BOUNDS)
        return super().locate(address, size, write=write)

    def require_record(self, address: int) -> None:
        """Check that a record of this event begins there, or that no record does."""
        if not self._owns(address, 0):
            raise MachineFaultError(FaultCause.BAD_MAP)


class HelperBench:
    """A helper unit with a map unit, and threads' memories and registers in Python.

    Each call is made by golden too, when the unit takes it. Its reply, the stack and the context
    of its thread are compared when the reply comes.

    Parameters
    ----------
    specs : sequence of MapSpec
        The maps.
    config : EbpfConfig
        The engine.
    engine : int
        Its number.
    contexts : sequence of bytes
        Context of each thread.
    seed : int
        Of delays, and of what lies where nothing was written.
    stalls : bool
        Whether replies and words to store wait at times, and a host looks keys up in between.
    """

    def __init__(
        self,
        specs: Sequence[MapSpec],
        config: EbpfConfig,
        *,
        engine: int = 0,
        contexts: Sequence[bytes] = (),
        seed: int = 0,
        stalls: bool = False,
    ) -> None:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.ebpf.helper_unit import HelperUnit
        from fanweave.hw.ebpf.maps.map_unit import MapUnit

        self.specs = specs
        self.config = config
        self.stalls = stalls
        self.generator = random.Random(seed)
        self.unit: Any = HelperUnit(config=config, engine=engine)
        self.map_unit: Any = MapUnit(config=config, sources=2, accessors=2)
        self.maps: list[Map] = [create_map(spec, engines=config.engines) for spec in specs]
        self.memories = []
        for thread in range(config.threads):
            context = contexts[thread] if thread < len(contexts) else bytes(16)
            self.memories.append(_OwnRecords(bytearray(context), self.maps, config.operand_bytes))
        self.stacks = [bytearray(memory.stack) for memory in self.memories]
        self.contexts = [bytearray(memory.context) for memory in self.memories]
        self.engine = Engine(number=engine, random=random_seed(engine))
        self.registers: list[tuple[int, ...]] = [(0,) * 5 for _ in self.memories]
        self.waiting: deque[HelperCall] = deque()
        self.under_way: dict[int, tuple[HelperCall, HelperReply, int]] = {}
        self.disturbing = 0  # operations of the host that have no result yet
        self.cycle = 0
        self.patience = 0  # cycle from which on replies are taken
        self.replies: list[tuple[HelperCall, HelperReply]] = []

    def run(self, scenario: Callable[["HelperBench"], Coroutine[Any, Any, None]]) -> None:
        """Create the maps and play a scenario."""
        from amaranth import Module
        from amaranth.lib import wiring
        from amaranth.sim import Simulator

        unit, map_unit = self.unit, self.map_unit
        top = Module()
        top.submodules.unit = unit
        top.submodules.maps = map_unit
        wiring.connect(top, unit.operations, map_unit.operations[_ENGINE])
        wiring.connect(top, map_unit.results[_ENGINE], unit.results)
        wiring.connect(top, unit.accesses, map_unit.accesses[_ENGINE])
        wiring.connect(top, map_unit.access_results[_ENGINE], unit.access_results)
        top.d.comb += [
            unit.operand_row.eq(map_unit.operand_row),
            map_unit.operands[_ENGINE].eq(unit.operand),
            unit.result_write.eq(map_unit.result_rows[_ENGINE]),
            unit.result_row.eq(map_unit.result_row),
            unit.result_data.eq(map_unit.result_data),
        ]

        async def bench(ctx: Any) -> None:
            self.ctx = ctx
            self.descriptors = await create_maps(
                ctx, map_unit, self.specs, self.config, source=_HOST, others=(unit,)
            )
            await scenario(self)

        simulator = Simulator(top)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()

    # What scenarios use.

    def poke(self, thread: int, place: int, value: bytes) -> None:
        """Store bytes in a thread's stack, as its program would."""
        for stack in (self.stacks[thread], self.memories[thread].stack):
            stack[place : place + len(value)] = value

    async def call(self, name: str, *arguments: int, thread: int = 0) -> HelperReply:
        """Make one call, alone."""
        number = _NUMBERS[name] if name else CLEAN_UP
        self.waiting.append(HelperCall(thread=thread, helper=number, arguments=arguments))
        await self.settle()
        return self.replies[-1][1]

    async def settle(self) -> None:
        """Go on until every call that waits is replied."""
        operations = self.map_unit.operations[_HOST]
        while self.waiting or self.under_way or self.disturbing or self.ctx.get(operations.valid):
            await self.step()

    async def host(self, call: MapCall) -> MapReply:
        """An operation of a host, while no call is under way."""
        return await call_map(self.ctx, self.map_unit, call, self.descriptors, source=_HOST)

    async def host_read(self, number: int, place: int, *, in_record: bool = False) -> int:
        """Eight bytes of a map's values, of which the first must exist."""
        ctx, accesses = self.ctx, self.map_unit.accesses[_HOST]
        results = self.map_unit.access_results[_HOST]
        fields = {"map": number, "place": place, "span": 1, "in_record": in_record, "size": 3}
        ctx.set(accesses.payload, {"thread": 0, "loads": 1, **fields})
        ctx.set(accesses.valid, 1)
        ctx.set(results.ready, 1)
        await ctx.tick().until(accesses.ready)
        ctx.set(accesses.valid, 0)
        (result,) = await ctx.tick().sample(results.payload).until(results.valid)
        assert FaultCause(result.cause.value) is FaultCause.NONE, (number, place)
        value: int = result.value
        return value

    async def set_entries(self, number: int, entries: Mapping[int, int]) -> None:
        """Fill an array of programs or maps, as a host does."""
        for key, value in entries.items():
            packed = key.to_bytes(4, "little")
            await self.host(
                MapCall(command=MapCommand.UPDATE, map=number, key=packed, length=value)
            )
            self.maps[number].update(packed, value.to_bytes(4, "little"))

    # One cycle.

    async def step(self) -> None:
        """One cycle: outputs of the one before come in, calls and replies go through."""
        ctx, unit = self.ctx, self.unit
        self._offer()
        thread = ctx.get(unit.thread)
        memory = self.memories[thread]
        ctx.set(unit.frames, memory.frames)
        ctx.set(unit.context_length, len(memory.context))
        ctx.set(unit.time_ns, self.time_of(thread))
        ctx.set(unit.writes.ready, not self.stalls or self.generator.random() < 0.7)
        takes = not self.stalls or self.generator.random() < 0.5
        ctx.set(unit.replies.ready, takes and self.cycle >= self.patience)
        in_stack, offset = ctx.get(unit.copy_in_stack), ctx.get(unit.copy_offset)
        arguments_of = ctx.get(unit.arguments_thread)
        self._store(thread)
        self._take()
        self._reply()
        operations, results = self.map_unit.operations[_HOST], self.map_unit.results[_HOST]
        went = ctx.get(operations.valid) and ctx.get(operations.ready)
        self.disturbing += went - (ctx.get(results.valid) and ctx.get(results.ready))
        await ctx.tick()
        self.cycle += 1
        if self.stalls:
            self._disturb(went)
        storage = (self.contexts, self.stacks)[in_stack][thread]
        garbage = self.generator.randbytes(8)
        copied = (bytes(storage[offset : offset + 8]) + garbage)[:8]
        ctx.set(unit.copy_data, int.from_bytes(copied, "little"))
        for port, value in zip(unit.arguments, self.registers[arguments_of], strict=True):
            ctx.set(port, value)

    def time_of(self, thread: int) -> int:
        """Time of the event of a thread."""
        return (1 << 40) + _TIMES * thread

    def _offer(self) -> None:
        ctx, calls = self.ctx, self.unit.calls
        free = self.waiting and self.waiting[0].thread not in self.under_way
        ctx.set(calls.valid, bool(free))
        if free:
            call = self.waiting[0]
            ctx.set(calls.payload, {"thread": call.thread, "helper": call.helper})
            self.registers[call.thread] = call.registers

    def _take(self) -> None:
        calls = self.unit.calls
        if self.ctx.get(calls.valid) and self.ctx.get(calls.ready):
            call = self.waiting.popleft()
            self.under_way[call.thread] = (call, self._golden(call), self.cycle)

    def _golden(self, call: HelperCall) -> HelperReply:
        memory = self.memories[call.thread]
        self.engine.time_ns = self.time_of(call.thread)
        try:
            if call.helper == CLEAN_UP:
                memory.drop_records()
                return HelperReply(value=0, cause=FaultCause.NONE)
            if call.helper == _NUMBERS["tail_call"]:
                return _tail_call(memory, call.registers)
            if call.helper in _FINISHES:
                memory.require_record(call.registers[0])
            value = call_helper(call.helper, call.registers, memory, self.engine)
        except MachineFaultError as error:
            return HelperReply(value=0, cause=error.cause)
        return HelperReply(value=value, cause=FaultCause.NONE)

    def _store(self, thread: int) -> None:
        writes = self.unit.writes
        if self.ctx.get(writes.valid) and self.ctx.get(writes.ready):
            request = self.ctx.get(writes.payload)
            storage = (self.contexts, self.stacks)[request.in_stack][thread]
            end = request.offset + request.size
            assert 1 <= request.size <= 8
            assert end <= len(storage)
            storage[request.offset : end] = request.data.to_bytes(8, "little")[: request.size]

    def _reply(self) -> None:
        ctx, replies = self.ctx, self.unit.replies
        if ctx.get(replies.valid) and ctx.get(replies.ready):
            payload = ctx.get(replies.payload)
            if payload.thread not in self.under_way:
                raise FaultError(f"a reply to thread {payload.thread}, which has called nothing")
            call, expected, since = self.under_way.pop(payload.thread)
            reply = HelperReply(
                value=payload.value,
                cause=FaultCause(payload.cause.value),
                goes_on_elsewhere=bool(payload.goes_on_elsewhere),
                cycles=self.cycle - since,
            )
            self._compare(call, expected, reply)
            self.replies.append((call, reply))
        for call, _, since in self.under_way.values():
            if self.cycle - since > _CYCLES_AT_MOST:
                raise FaultError(f"{call} has no reply after {_CYCLES_AT_MOST} cycles")

    def _compare(self, call: HelperCall, expected: HelperReply, reply: HelperReply) -> None:
        name = HELPERS[call.helper].name if call.helper else "clean up"
        where = f"{name} of {call} is {reply}; golden has {expected}"
        same_end = (reply.cause, reply.goes_on_elsewhere) == (
            expected.cause,
            expected.goes_on_elsewhere,
        )
        if not same_end or (not reply.cause and reply.value != expected.value):
            raise FaultError(where)
        memory = self.memories[call.thread]
        for what, found, golden in (
            ("stack", self.stacks[call.thread], memory.stack),
            ("context", self.contexts[call.thread], memory.context),
        ):
            if found != golden:
                raise FaultError(f"{what} differs after {where}")
        is_open = self.ctx.get(self.unit.open) >> call.thread & 1
        if is_open != bool(memory.records):
            raise FaultError(f"open = {is_open} after {where}")

    def _disturb(self, went: bool) -> None:
        """A host that looks up keys now and then, which changes nothing."""
        ctx, operations = self.ctx, self.map_unit.operations[_HOST]
        if ctx.get(operations.valid) and not went:
            return
        number = self.generator.randrange(len(self.specs))
        ctx.set(
            operations.payload,
            {"command": MapCommand.READ.value, "map": number}
            | {"descriptor": self.descriptors[number], "key": self.generator.randrange(4)},
        )
        busy = bool(self.waiting or self.under_way)
        ctx.set(operations.valid, busy and self.generator.random() < 0.1)


def _tail_call(memory: Memory, registers: tuple[int, ...]) -> HelperReply:
    found = memory.map_of(registers[1], HELPERS[_NUMBERS["tail_call"]].maps)
    assert isinstance(found, ProgramArray)
    number = found.entry(registers[2] & _MASK32)
    if number is None or number >= _PROGRAMS:
        return HelperReply(value=-Errno.NOENT & _MASK64, cause=FaultCause.NONE)
    return HelperReply(value=number, cause=FaultCause.NONE, goes_on_elsewhere=True)
