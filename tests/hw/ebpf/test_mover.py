# amaranth: UnusedElaboratable=no
"""Moves of every kind between operand words and stack, context and values, which all stall."""

import random
from dataclasses import dataclass, field

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.ebpf_machine import FRAME_BYTES, FaultCause, Region, map_address
from fanweave.hw.ebpf.mover import Mover

FRAMES, CONTEXT_LENGTH, THREAD = 2, 45, 5
STACK, CONTEXT = int(Region.STACK), int(Region.CONTEXT)
#: Bytes of a value that can be reached, from this place on.
VALUE_MAP, VALUE_PLACE, VALUE_BYTES = 7, 1000, 61
NONE, OUT_OF_BOUNDS, FORBIDDEN = FaultCause.NONE, FaultCause.OUT_OF_BOUNDS, FaultCause.FORBIDDEN
PATIENCE = 2000
SIZES = {3: 8, 0: 4, 1: 2, 2: 1}  # bytes of the size fields


@dataclass(frozen=True, kw_only=True)
class Asked:
    address: int
    length: int
    stores: bool = False
    probes: bool = False


@dataclass(kw_only=True)
class Done:
    cause: FaultCause
    cycles: int
    words: dict[int, int] = field(default_factory=dict)
    accesses: list[int] = field(default_factory=list)


class Surroundings:
    """A mover's stack, context, value and operand words; `chance` of a stall in each cycle."""

    def __init__(self, chance, seed):
        self.dut = Mover()
        self.chance = chance
        self.generator = random.Random(seed)
        self.stack = bytearray(self.generator.randbytes(FRAMES * FRAME_BYTES))
        self.context = bytearray(self.generator.randbytes(CONTEXT_LENGTH))
        self.value = bytearray(self.generator.randbytes(VALUE_BYTES))
        self.operand = self.generator.randbytes(2 * FRAME_BYTES)
        self.reads = False  # whether the move does
        self.answer = None  # of an access, and the cycles until it shows
        self.arriving = None  # what the memory gives for the read before this cycle

    def run(self, scenario, beside=None):
        async def bench(ctx):
            self.ctx = ctx
            ctx.set(self.dut.frames, FRAMES)
            ctx.set(self.dut.context_length, CONTEXT_LENGTH)
            ctx.set(self.dut.thread, THREAD)
            await scenario()

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        if beside is not None:
            simulator.add_testbench(beside, background=True)
        simulator.run()

    def happens(self):
        return self.generator.random() >= self.chance

    async def move(self, asked):
        """One move; what is asked for shows in the first cycle only."""
        ctx, dut = self.ctx, self.dut
        done = Done(cause=NONE, cycles=0)
        self.reads = not asked.stores and not asked.probes
        for cycle in range(PATIENCE):
            shown = asked if cycle == 0 else self.another()
            ctx.set(dut.start, cycle == 0)
            ctx.set(dut.move, vars(shown))
            self.offer()
            ends = ctx.get(dut.done)
            done.cause = FaultCause(ctx.get(dut.cause).value)
            self.take(done)
            await ctx.tick()
            if ends:
                done.cycles = cycle
                ctx.set(dut.start, 0)
                return done
        raise AssertionError(f"{asked} does not end")

    def another(self):
        bits = self.generator.getrandbits
        return Asked(address=bits(64), length=bits(16), stores=bits(1), probes=bits(1))

    def offer(self):
        """What the surroundings show in a cycle."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.writes.ready, self.happens())
        ctx.set(dut.accesses.ready, self.answer is None and self.happens())
        arriving = self.generator.getrandbits(64) if self.arriving is None else self.arriving
        ctx.set(dut.copy_data, arriving)
        shows = self.answer is not None and self.happens()
        ctx.set(dut.access_results.valid, shows)
        value, cause = self.answer if shows else (self.generator.getrandbits(64), NONE)
        ctx.set(dut.access_results.payload, {"thread": THREAD, "value": value, "cause": cause})
        word = ctx.get(dut.word)
        ctx.set(dut.word_data, int.from_bytes(self.operand[8 * word : 8 * word + 8], "little"))

    def take(self, done):
        """What the mover does in a cycle."""
        ctx, dut = self.ctx, self.dut
        if ctx.get(dut.word_write):
            number = ctx.get(dut.word)
            assert number not in done.words
            done.words[number] = ctx.get(dut.word_value)
        memory = self.stack if ctx.get(dut.copy_in_stack) else self.context
        offset = ctx.get(dut.copy_offset)
        self.arriving = int.from_bytes(self.eight(memory, offset), "little")
        if ctx.get(dut.writes.valid) and ctx.get(dut.writes.ready):
            write = ctx.get(dut.writes.payload)
            memory = self.stack if write.in_stack else self.context
            assert write.offset + write.size <= len(memory)
            data = write.data.to_bytes(8, "little")[: write.size]
            memory[write.offset : write.offset + write.size] = data
        if ctx.get(dut.access_results.valid) and ctx.get(dut.access_results.ready):
            self.answer = None
        if ctx.get(dut.accesses.valid) and ctx.get(dut.accesses.ready):
            self.access(ctx.get(dut.accesses.payload), done)

    def eight(self, memory, offset):
        """Eight bytes, anything where there are none."""
        found = bytes(memory[offset : offset + 8])
        return found + self.generator.randbytes(8 - len(found))

    def access(self, request, done):
        """What the map unit does with one."""
        assert request.thread == THREAD
        assert not request.atomic
        # A map may be for loads only or for stores only.
        assert request.loads == self.reads
        assert (request.stores or request.probes) == (not self.reads)
        at, size = request.place - VALUE_PLACE, SIZES[request.size]
        done.accesses.append(size)
        cause = NONE
        if request.map != VALUE_MAP:
            cause = FORBIDDEN
        elif not 0 <= at <= at + request.span <= VALUE_BYTES:
            cause = OUT_OF_BOUNDS
        if cause is not NONE:
            self.answer = self.generator.getrandbits(64), cause
            return
        if request.stores and not request.probes:
            assert size <= request.span
            self.value[at : at + size] = request.source.to_bytes(8, "little")[:size]
        self.answer = int.from_bytes(self.eight(self.value, at), "little"), NONE

    def memory_at(self, address):
        """The memory of an address, and the place in it."""
        if address >> 30 == 1:
            return self.value, address - map_address(VALUE_MAP) - VALUE_PLACE
        region = address >> 28 << 28
        if region in (STACK, CONTEXT):
            return (self.stack if region == STACK else self.context), address - region
        return bytearray(), 0


def words_of(data):
    """Words of 8 bytes by number, the last one filled up with zeros."""
    return {at // 8: int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)}


async def check(around, asked):
    """A move against what slices of bytes say."""
    memory, at = around.memory_at(asked.address)
    possible = asked.length == 0 or 0 <= at <= at + asked.length <= len(memory)
    before = bytes(around.stack), bytes(around.context), bytes(around.value)
    expected = bytearray(memory)
    copies = possible and asked.length and not asked.probes
    if copies and asked.stores:
        expected[at : at + asked.length] = around.operand[: asked.length]
    done = await around.move(asked)
    if not possible:
        in_values, number = asked.address >> 30 == 1, asked.address >> 22 & 0xFF
        wrong = FORBIDDEN if in_values and number != VALUE_MAP else OUT_OF_BOUNDS
        assert done.cause is wrong, asked
    else:
        assert done.cause is NONE, asked
    reads = copies and not asked.stores
    assert done.words == (words_of(memory[at : at + asked.length]) if reads else {}), asked
    for kept, now in zip(before, (around.stack, around.context, around.value), strict=True):
        if now is not memory:
            assert kept == now, asked
    assert memory == expected, asked
    check_effort(around, asked, done, copies)
    return done


def check_effort(around, asked, done, copies):
    """A cycle a word of stack and context; accesses of 8 bytes, and up to three for the rest."""
    if asked.address >> 30 == 1 and asked.length:
        rest = asked.length % 8
        pieces = [8] * (asked.length // 8)
        if asked.stores:
            pieces += [size for size in (4, 2, 1) if rest & size]
        elif rest:
            pieces.append(8)
        assert done.accesses == (pieces if copies else done.accesses[:1]), asked
        return
    assert not done.accesses
    words = -(-asked.length // 8) if copies else 0
    assert done.cycles >= words
    if around.chance == 0:
        assert done.cycles == words, asked


LIMITS = {
    STACK: FRAMES * FRAME_BYTES,
    CONTEXT: CONTEXT_LENGTH,
    map_address(VALUE_MAP) + VALUE_PLACE: VALUE_BYTES,
}


@pytest.mark.parametrize("chance", [0, 0.4, 0.8])
def test_random_moves(chance):
    around = Surroundings(chance, seed=3)
    chosen = random.Random(chance)
    ends = set()

    async def scenario():
        for _ in range(400):
            base = chosen.choice(list(LIMITS))
            limit = LIMITS[base]
            length = chosen.choice([0, 1, 7, 8, 9, 15, 16, 24, chosen.randrange(1, 64)])
            # At any place, at the very end, and a byte behind it.
            at = chosen.choice([chosen.randrange(limit), limit - length, limit - length + 1])
            asked = Asked(
                address=base + max(at, 0),
                length=length,
                stores=chosen.random() < 0.5,
                probes=chosen.random() < 0.2,
            )
            done = await check(around, asked)
            ends.add((base, done.cause))
            for _ in range(chosen.randrange(3)):
                await around.ctx.tick()

    around.run(scenario)
    assert ends == {(base, cause) for base in LIMITS for cause in (NONE, OUT_OF_BOUNDS)}


def test_every_length_that_a_value_may_have():
    around = Surroundings(0.2, seed=4)

    async def scenario():
        for length in range(VALUE_BYTES + 2):
            for stores in (False, True):
                address = map_address(VALUE_MAP) + VALUE_PLACE
                await check(around, Asked(address=address, length=length, stores=stores))

    around.run(scenario)


#: Where nothing is, though parts of the address look like a place.
NOWHERE = [
    0,
    1,
    STACK - 1,
    STACK + FRAMES * FRAME_BYTES,
    CONTEXT - 1,
    CONTEXT + CONTEXT_LENGTH,
    1 << 32 | STACK,
    1 << 63 | CONTEXT,
    1 << 31 | map_address(VALUE_MAP) + VALUE_PLACE,
    1 << 32 | map_address(VALUE_MAP) + VALUE_PLACE,
    0x3000_0000,
    0x8000_0000,
    (1 << 64) - 1,
]


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("probes", [False, True])
def test_addresses_of_nothing(stores, probes):
    around = Surroundings(0.3, seed=5)

    async def scenario():
        for address in NOWHERE:
            for length in (1, 8, 0xFFFF):
                asked = Asked(address=address, length=length, stores=stores, probes=probes)
                done = await check(around, asked)
                assert (done.cause, done.cycles) == (OUT_OF_BOUNDS, 0)
            # Of no bytes there is none that could be wrong.
            done = await check(around, Asked(address=address, length=0, stores=stores))
            assert (done.cause, done.cycles) == (NONE, 0)

    around.run(scenario)


def test_a_map_says_why_not():
    around = Surroundings(0.3, seed=6)

    async def scenario():
        for stores, probes in ((False, False), (True, False), (True, True)):
            asked = Asked(
                address=map_address(VALUE_MAP + 1), length=24, stores=stores, probes=probes
            )
            assert (await check(around, asked)).cause is FORBIDDEN
            assert (await check(around, asked)).accesses == [8]

    around.run(scenario)


def test_what_is_offered_stays_until_it_is_taken():
    around = Surroundings(0.8, seed=7)
    shown = {}
    waited = 0

    async def watch(ctx):
        nonlocal waited
        streams = {name: getattr(around.dut, name) for name in ("writes", "accesses")}
        while True:
            for name, port in streams.items():
                valid, ready = ctx.get(port.valid), ctx.get(port.ready)
                payload = ctx.get(port.payload.as_value())
                if name in shown:
                    assert valid
                    assert payload == shown.pop(name)
                    waited += 1
                if valid and not ready:
                    shown[name] = payload
            await ctx.tick()

    async def scenario():
        for base in LIMITS:
            for _ in range(5):
                await check(around, Asked(address=base, length=37, stores=True))

    around.run(scenario, watch)
    assert waited > 50
