# amaranth: UnusedElaboratable=no
"""The store at its ports: what it takes, refuses, gives and when; programs replaced under load."""

import random
from dataclasses import dataclass, field

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from fanweave.golden.ebpf.build import goto, helper, leave, map_of, mov, wide
from fanweave.golden.isa.ebpf import encode_program
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.hw.ebpf.program_payloads import CommitResult
from fanweave.hw.ebpf.program_store import COMMIT_CYCLES, ProgramStore
from fanweave.hw.generate.convert import to_verilog
from fanweave.hw.stream.checker import StreamChecker

SLOTS = 32
END = [mov(0, 0), leave()]


def words_of(program):
    code = encode_program(program)
    return [int.from_bytes(code[at : at + 8], "little") for at in range(0, len(code), 8)]


class Host:
    """Does what a driver does, over the streams."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut

    async def _send(self, port, payload, *pulses):
        """Transfer into an input that is always ready; return its pulses of the next cycle."""
        self.ctx.set(port.payload, payload)
        self.ctx.set(port.valid, 1)
        assert self.ctx.get(port.ready)
        await self.ctx.tick()
        self.ctx.set(port.valid, 0)
        return [self.ctx.get(pulse) for pulse in pulses]

    async def write(self, slot, word):
        payload = {"slot": slot, "word": word}
        (refused,) = await self._send(self.dut.write, payload, self.dut.refused)
        return not refused

    async def write_all(self, base, program):
        return [await self.write(base + at, word) for at, word in enumerate(words_of(program))]

    async def commit(self, image, base, length, wait=0):
        """Fault, slot, and cycles from the transfer to the result."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.commit.payload, {"image": image, "base": base, "length": length})
        ctx.set(dut.commit.valid, 1)
        await ctx.tick().until(dut.commit.ready)
        ctx.set(dut.commit.valid, 0)
        cycles = 1
        while not ctx.get(dut.committed.valid):
            assert not ctx.get(dut.commit.ready)
            await ctx.tick()
            cycles += 1
        assert cycles <= 2 * length + COMMIT_CYCLES
        for _ in range(wait):
            await ctx.tick()
        result = ctx.get(dut.committed.payload)
        ctx.set(dut.committed.ready, 1)
        await ctx.tick()
        ctx.set(dut.committed.ready, 0)
        assert not ctx.get(dut.committed.valid)
        assert result.image == image
        return LoadFault(result.fault.value), result.slot, cycles

    async def load(self, image, base, program):
        assert all(await self.write_all(base, program))
        return (await self.commit(image, base, len(words_of(program))))[0]

    async def release(self, image):
        dut = self.dut
        released, refused = await self._send(
            dut.release, {"image": image}, dut.released, dut.release_refused
        )
        assert released != refused
        return bool(released)

    async def bind(self, program, image, valid=1):
        dut = self.dut
        payload = {"program": program, "image": image, "valid": valid}
        bound, refused = await self._send(dut.bind, payload, dut.bound, dut.bind_refused)
        assert bound != refused
        return bool(bound)

    def look_up(self, program, port="event"):
        """Image and base, or None."""
        self.ctx.set(getattr(self.dut, f"{port}_program"), program)
        if not self.ctx.get(getattr(self.dut, f"{port}_valid")):
            return None
        return self.ctx.get(getattr(self.dut, f"{port}_image")), self.ctx.get(
            getattr(self.dut, f"{port}_base")
        )

    async def fetch(self, slot):
        self.ctx.set(self.dut.fetch_slot, slot)
        await self.ctx.tick()
        return self.ctx.get(self.dut.fetch_word), self.ctx.get(self.dut.fetch_next_high)


def simulate(bench, *others, **parameters):
    dut = ProgramStore(**{"slots": SLOTS, "images": 4, "programs": 4, "maps": 2, **parameters})
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    _add(simulator, lambda ctx: bench(ctx, Host(ctx, dut)))
    for other in others:
        _add(simulator, lambda ctx, other=other: other(ctx, dut), background=True)
    simulator.run()


def _add(simulator, function, **options):
    async def testbench(ctx):
        await function(ctx)

    simulator.add_testbench(testbench, **options)


def test_a_program_is_loaded_bound_read_and_released():
    program = [mov(3, 7), wide(1, 0x1234_5678_9ABC_DEF0), goto(0), leave()]
    words = words_of(program)

    async def bench(ctx, host):
        dut = host.dut
        assert host.look_up(2) is None
        assert await host.load(1, 5, program) is LoadFault.NONE
        assert host.look_up(2) is None
        assert await host.bind(2, 1)
        for port in ("event", "call"):
            assert host.look_up(2, port) == (1, 5)
            assert host.look_up(1, port) is None
        for at, word in enumerate(words):
            following = words[at + 1] if at + 1 < len(words) else 0
            assert await host.fetch(5 + at) == (word, following >> 32)
        ctx.set(dut.image_number, 1)
        await ctx.tick()
        assert (ctx.get(dut.image_base), ctx.get(dut.image_limit)) == (5, 5 + len(words))

        assert not await host.write(5, 0)
        assert not await host.write(5 + len(words) - 1, 0)
        assert (await host.fetch(5))[0] == words[0]
        assert await host.write(4, 1)
        assert await host.write(5 + len(words), 1)

        assert not await host.release(1)
        assert await host.bind(2, 0, valid=0)
        assert host.look_up(2) is None
        ctx.set(dut.in_use, 0b0010)
        assert not await host.release(1)
        ctx.set(dut.in_use, 0b1101)
        assert await host.release(1)
        assert not await host.release(1)
        assert not await host.bind(2, 1)
        assert host.look_up(2) is None
        assert await host.write(5, 99)
        assert await host.fetch(5) == (99, words[1] >> 32)

    simulate(bench)


def test_the_place_of_an_image():
    f = LoadFault
    length = len(END)

    async def bench(ctx, host):
        await host.write_all(0, END * (SLOTS // length))
        for arguments, fault in (
            ((4, 0, length), f.NO_IMAGE),
            ((255, 0, 0), f.NO_IMAGE),
            ((0, 0, 0), f.EMPTY),
            ((0, SLOTS, 0), f.EMPTY),
            ((0, SLOTS - 1, 2), f.OUTSIDE),
            ((0, SLOTS, 1), f.OUTSIDE),
            ((0, 0, SLOTS + 1), f.OUTSIDE),
            ((0, 0xFFFF, 0x1_FFFF), f.OUTSIDE),
            ((0, 0xFFFE, 4), f.OUTSIDE),
            ((0, 8, 8), f.NONE),
            ((0, 0, 2), f.COMMITTED),
            ((0, 0, 0), f.COMMITTED),
            ((1, 8, 8), f.OVERLAP),
            ((1, 10, 2), f.OVERLAP),
            ((1, 0, SLOTS), f.OVERLAP),
            ((1, 6, 4), f.OVERLAP),
            ((1, 14, 4), f.OVERLAP),
            ((1, 0, 8), f.NONE),
            ((2, 16, 16), f.NONE),
            ((3, 15, 2), f.OVERLAP),
        ):
            found, slot, cycles = await host.commit(*arguments)
            assert found is fault, (arguments, found)
            assert slot == 0
            assert cycles == (2 if fault else 2 * arguments[2] + COMMIT_CYCLES)
        # What was refused holds nothing.
        assert [await host.bind(0, image) for image in (0, 1, 2, 3, 4, 255)] == [1, 1, 1, 0, 0, 0]
        assert [await host.bind(program, 0) for program in (3, 4, 255)] == [1, 0, 0]
        assert not await host.bind(4, 0, valid=0)
        assert not await host.release(4)
        assert not await host.release(255)
        assert [host.look_up(program) for program in (0, 3, 4, 7, 255)] == [
            (2, 16),
            (0, 8),
            *(None,) * 3,
        ]
        assert not await host.write(SLOTS, 1)
        assert not await host.write(0xFFFF, 1)

    simulate(bench)


def test_a_bad_program_names_its_slot_and_holds_nothing():
    cases = [
        ([mov(0, 0), helper(9), leave()], LoadFault.UNKNOWN_HELPER, 1),
        ([mov(0, 0), map_of(1, 2), leave()], LoadFault.UNKNOWN_MAP, 1),
        ([mov(0, 0), mov(10, 0), leave()], LoadFault.ILLEGAL_INSTRUCTION, 1),
        ([goto(1), wide(0, 1), leave()], LoadFault.TARGET_WITHIN, 0),
        ([leave(), mov(0, 0), goto(-4)], LoadFault.TARGET_OUTSIDE, 2),
        ([leave(), mov(0, 0)], LoadFault.NO_END, 1),
    ]

    async def bench(ctx, host):
        for number, (program, fault, slot) in enumerate(cases):
            base = 3 + number
            await host.write_all(base, program)
            found = await host.commit(0, base, len(words_of(program)), wait=number)
            assert found[:2] == (fault, slot)
            assert not await host.bind(0, 0)
            assert host.look_up(0) is None
            assert await host.write(base, 0)
        assert await host.load(0, 3, END) is LoadFault.NONE

    simulate(bench)


def test_nothing_is_written_under_a_check():
    """Good words at the start; bad ones are offered in each cycle of the check, and after it."""
    program = [*(mov(n, n) for n in range(6)), leave()]
    words = words_of(program)

    async def writer(ctx, dut):
        generator = random.Random(1)
        await ctx.tick().until(dut.commit.valid & dut.commit.ready)
        ctx.set(dut.write.payload.word, 0)
        while True:
            slot = generator.randrange(SLOTS)
            ctx.set(dut.write.payload.slot, slot)
            ctx.set(dut.write.valid, 1)
            await ctx.tick()
            assert ctx.get(dut.refused) == (8 <= slot < 8 + len(words))

    async def bench(ctx, host):
        await host.write_all(8, program)
        assert (await host.commit(2, 8, len(words)))[0] is LoadFault.NONE
        await ctx.tick().repeat(40)
        assert [(await host.fetch(8 + at))[0] for at in range(len(words))] == words
        assert await host.fetch(7) == (0, words[0] >> 32)

    simulate(bench, writer)


def test_a_word_of_the_cycle_of_the_commit_is_checked():
    async def bench(ctx, host):
        dut = host.dut
        await host.write_all(0, END)
        ctx.set(dut.write.payload, {"slot": 1, "word": words_of([mov(0, 0)])[0]})
        ctx.set(dut.write.valid, 1)
        ctx.set(dut.commit.payload, {"image": 0, "base": 0, "length": 2})
        ctx.set(dut.commit.valid, 1)
        await ctx.tick()
        ctx.set(dut.commit.valid, 0)
        ctx.set(dut.write.valid, 0)
        assert not ctx.get(dut.refused)
        await ctx.tick().until(dut.committed.valid)
        assert ctx.get(dut.committed.payload.fault).value == LoadFault.NO_END

    simulate(bench)


def test_bind_and_release_in_one_cycle():
    async def bench(ctx, host):
        dut = host.dut
        assert await host.load(0, 0, END) is LoadFault.NONE
        assert await host.load(1, 8, END) is LoadFault.NONE

        async def both(program, image, valid, released):
            payload = {"program": program, "image": image, "valid": valid}
            ctx.set(dut.bind.payload, payload)
            ctx.set(dut.bind.valid, 1)
            result = await host.release(released)
            ctx.set(dut.bind.valid, 0)
            return ctx.get(dut.bound), result

        assert await both(0, 0, 1, 0) == (1, False)
        assert host.look_up(0) == (0, 0)
        # Still bound in this cycle.
        assert await both(0, 0, 0, 0) == (1, False)
        assert host.look_up(0) is None
        assert await both(0, 1, 1, 0) == (1, True)
        assert host.look_up(0) == (1, 8)
        assert await both(0, 0, 1, 1) == (0, False)
        assert host.look_up(0) == (1, 8)

    simulate(bench)


def test_a_result_waits_and_keeps_its_payload():
    dut = ProgramStore(slots=SLOTS, images=2, programs=2, maps=0)
    watcher = StreamChecker(shape=CommitResult)

    async def bench(ctx):
        host = Host(ctx, dut)
        await host.write_all(0, END)
        assert (await host.commit(0, 0, 2, wait=9))[0] is LoadFault.NONE
        assert (await host.commit(1, 1, 1, wait=5))[0] is LoadFault.OVERLAP
        assert await host.bind(1, 0)
        assert ctx.get(watcher.transfers) == 2
        assert not ctx.get(watcher.violation)

    m = Module()
    m.submodules.dut = dut
    m.submodules.watcher = watcher
    watcher.watch(m, dut.committed)
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


VERSION_SLOTS = 6


def version(number):
    """Programs that differ in every word but the last."""
    return [*(mov(at % 10, number * 16 + at) for at in range(VERSION_SLOTS - 1)), leave()]


@dataclass(eq=False)
class Thread:
    """An event that is handled: what it was given, and what it has read."""

    event: int
    image: int
    base: int
    version: int
    words: list[int] = field(default_factory=list)


class Engine:
    """Threads that take events, and slowly fetch every slot of the image they were given."""

    def __init__(self, dut, versions, seed):
        self.dut = dut
        self.versions = versions
        self.random = random.Random(seed)
        self.threads = []
        self.finished = []
        self.events = 0
        self.bound = {}  # programs to images, as the binds say that were seen

    def _look_up(self, ctx):
        """Start an event, or not; the look-up is right in every cycle."""
        program = self.random.randrange(2)
        ctx.set(self.dut.event_program, program)
        assert ctx.get(self.dut.event_valid) == (program in self.bound)
        if program not in self.bound or len(self.threads) == 4 or self.random.random() < 0.3:
            return
        image, base = ctx.get(self.dut.event_image), ctx.get(self.dut.event_base)
        assert image == self.bound[program]
        self.threads.append(Thread(self.events, image, base, self.versions[image]))
        self.events += 1

    async def run(self, ctx):
        dut = self.dut
        while True:
            reading = None
            if self.threads and self.random.random() < 0.8:
                reading = self.random.choice(self.threads)
                ctx.set(dut.fetch_slot, reading.base + len(reading.words))
            self._look_up(ctx)
            _, _, valid, bind = await ctx.tick().sample(dut.bind.valid, dut.bind.payload)
            if valid:
                self.bound[bind.program] = bind.image
            if reading:
                reading.words.append(ctx.get(dut.fetch_word))
                if len(reading.words) == VERSION_SLOTS:
                    self.threads.remove(reading)
                    self.finished.append(reading)
            ctx.set(dut.in_use, sum({1 << thread.image for thread in self.threads}))


@pytest.mark.parametrize("seed", range(3))
def test_programs_are_replaced_under_load(seed):
    """Each event runs once, and the version that was bound when it came, from end to end."""
    versions = {}
    waits = []

    async def bench(ctx, host):
        generator = random.Random(seed)
        for number in range(60):
            image = number % 4
            if image in versions:
                refusals = 0
                while not await host.release(image):
                    refusals += 1
                    assert refusals < 1000
                waits.append(refusals)
            base = image * 8 + number // 4 % 3
            assert await host.load(image, base, version(number)) is LoadFault.NONE
            versions[image] = number
            assert await host.bind(number % 2, image)
            await ctx.tick().repeat(1 + generator.randrange(10))

    dut = ProgramStore(slots=32, images=4, programs=2, maps=1)
    engine = Engine(dut, versions, seed)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    _add(simulator, lambda ctx: bench(ctx, Host(ctx, dut)))
    _add(simulator, engine.run, background=True)
    simulator.run()
    for thread in engine.finished:
        assert thread.words == words_of(version(thread.version)), thread
    seen = [thread.event for thread in engine.finished + engine.threads]
    assert sorted(seen) == list(range(engine.events))
    assert len({thread.version for thread in engine.finished}) > 40


def test_it_converts_with_the_largest_numbers():
    text = to_verilog(ProgramStore(slots=1 << 10, images=16, programs=32, maps=256), name="store")
    assert "module store(" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": 48}, "slots = 48 must be a power of two from 4 to 65536"),
        ({"slots": 2}, "slots = 2"),
        ({"images": 1}, "images = 1 must be a power of two from 2 to 256"),
        ({"images": 512}, "images = 512"),
        ({"programs": 3}, "programs = 3 must be a power of two from 2 to 256"),
    ],
)
def test_illegal_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        ProgramStore(**{"slots": 64, "maps": 1, **change})
