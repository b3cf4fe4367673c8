# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import (
    COUNTERS,
    REGISTERS,
    ErrorCause,
    IndexMode,
    Opcode,
    counter_address,
    register,
)
from fanweave.golden.ventaglio.operation import RegisterFile
from fanweave.hw.ventaglio.registers import Registers

FP16, INT8 = ElementFormat.FP16, ElementFormat.INT8

#: A legal multiply; each refusal changes one thing.
LEGAL = {
    "format": {"element": FP16, "index_mode": IndexMode.N_OF_M},
    "sparsity": {"n": 2, "m": 4},
    "length": {"rows": 3},
    "tile": {"width": 8, "outputs": 2},
    "accumulators": {"base": 4, "stride": 8},
    "drain": {"count": 4, "target": FP16},
}
MULTIPLY, DRAIN = Opcode.MULTIPLY, Opcode.DRAIN
OVER, FORMAT = ErrorCause.OVER_CONFIGURATION, ErrorCause.ILLEGAL_FORMAT
REFUSALS = [
    (MULTIPLY, "format", {"element": ElementFormat.FP32}, FORMAT),
    (MULTIPLY, "format", {"element": 6}, FORMAT),
    (MULTIPLY, "format", {"index_mode": 5}, FORMAT),
    (MULTIPLY, "format", {"index_mode": 7}, FORMAT),
    (MULTIPLY, "tile", {"outputs": 0}, OVER),
    (MULTIPLY, "tile", {"outputs": 3}, OVER),
    (MULTIPLY, "tile", {"width": 0}, OVER),
    (MULTIPLY, "tile", {"width": 21}, OVER),
    (MULTIPLY, "tile", {"width": 20}, ErrorCause.NONE),
    (MULTIPLY, "accumulators", {"base": 3}, OVER),
    (MULTIPLY, "accumulators", {"base": 18}, OVER),
    (MULTIPLY, "accumulators", {"base": 16}, ErrorCause.NONE),
    (MULTIPLY, "accumulators", {"base": 0xFFFE}, OVER),
    (MULTIPLY, "accumulators", {"stride": 21}, OVER),
    (MULTIPLY, "accumulators", {"stride": 0xFFFF}, OVER),
    (MULTIPLY, "sparsity", {"n": 0}, OVER),
    (MULTIPLY, "sparsity", {"n": 5}, OVER),
    (MULTIPLY, "sparsity", {"n": 1, "m": 33}, OVER),
    (MULTIPLY, "sparsity", {"n": 32, "m": 32}, ErrorCause.NONE),
    (MULTIPLY, "length", {"rows": 0}, ErrorCause.NONE),
    (DRAIN, "format", {"element": ElementFormat.E5M2}, FORMAT),
    (DRAIN, "drain", {"target": 6}, FORMAT),
    (DRAIN, "drain", {"target": 7, "raw": 1}, ErrorCause.NONE),
    (DRAIN, "drain", {"count": 29}, OVER),
    (DRAIN, "drain", {"count": 28}, ErrorCause.NONE),
    (DRAIN, "drain", {"count": 0xFFFF}, OVER),
    (DRAIN, "accumulators", {"base": 5}, OVER),
    (DRAIN, "tile", {"width": 0}, ErrorCause.NONE),
    (DRAIN, "sparsity", {"n": 0}, ErrorCause.NONE),
    (Opcode.CLEAR, "format", {"element": 7, "index_mode": 7}, ErrorCause.NONE),
    (0, "tile", {}, ErrorCause.ILLEGAL_OPERATION),
    (5, "format", {"element": 7}, ErrorCause.ILLEGAL_OPERATION),
    (7, "tile", {}, ErrorCause.ILLEGAL_OPERATION),
]


async def write(ctx, dut, name, word=0):
    """Write a register by name, or an address."""
    address = register(name).address if isinstance(name, str) else name
    ctx.set(dut.commands.payload, {"address": address, "data": word})
    ctx.set(dut.commands.valid, 1)
    await ctx.tick().until(dut.commands.ready)
    ctx.set(dut.commands.valid, 0)


def read(ctx, dut, name):
    address = register(name).address if isinstance(name, str) else name
    ctx.set(dut.read_address, address)
    return ctx.get(dut.read_data)


def error_of(ctx, dut):
    entry = register("error")
    word = read(ctx, dut, "error")
    return (
        entry.field("cause").extract(word),
        entry.field("halted").extract(word),
        read(ctx, dut, "error_row"),
        read(ctx, dut, "error_element"),
    )


async def report(ctx, dut, cause, row=0, element=0, halt=0):
    """An error of the datapath, for one cycle."""
    ctx.set(dut.error.cause, cause)
    ctx.set(dut.error.row, row)
    ctx.set(dut.error.element, element)
    ctx.set(dut.halt, halt)
    await ctx.tick()
    ctx.set(dut.error.cause, 0)
    ctx.set(dut.halt, 0)


def test_every_register_keeps_its_fields_and_unknown_addresses_nothing(simulate, small):
    seed = 3
    print(f"seed {seed}")
    generator = random.Random(seed)
    dut = Registers(config=small())
    writable = [entry for entry in REGISTERS if entry.access == "rw"]
    known = {entry.address for entry in REGISTERS}

    async def bench(ctx):
        assert read(ctx, dut, "timeout") == 65535
        assert ctx.get(dut.timeout) == 65535
        held = {}
        for _ in range(3):
            for entry in generator.sample(writable, len(writable)):
                word = generator.getrandbits(32)
                mask = sum(((1 << f.width) - 1) << f.low for f in entry.fields)
                held[entry.name] = word & mask
                await write(ctx, dut, entry.name, word)
            for address in generator.sample([a for a in range(256) if a not in known], 20):
                await write(ctx, dut, address, generator.getrandbits(32))
                assert read(ctx, dut, address) == 0
            for name in ("error_row", "error_element", "status"):
                await write(ctx, dut, name, 0xFFFFFFFF)
                assert read(ctx, dut, name) == 0
            for name, word in held.items():
                assert read(ctx, dut, name) == word
        assert read(ctx, dut, "command") == 0
        ctx.set(dut.busy, 1)
        assert read(ctx, dut, "status") == 1
        for name, _ in COUNTERS:  # a block of its own has them
            assert read(ctx, dut, counter_address(name)) == 0

    simulate(dut, bench)


@pytest.mark.parametrize(("opcode", "name", "changes", "cause"), REFUSALS)
def test_an_operation_is_started_or_refused(simulate, small, opcode, name, changes, cause):
    config = small()
    dut = Registers(config=config)
    golden = RegisterFile()

    async def bench(ctx):
        for target, fields in LEGAL.items():
            fields = {**fields, **(changes if target == name else {})}
            word = register(target).pack(**fields)
            golden.write(register(target).address, word)
            await write(ctx, dut, target, word)
        command = register("command").address
        operation = golden.write(command, opcode)
        assert operation.fault(config) == cause  # the table here says what golden says
        ctx.set(dut.commands.payload, {"address": command, "data": opcode})
        ctx.set(dut.commands.valid, 1)
        # A refusal waits for nothing; an operation waits for its place.
        started = cause == ErrorCause.NONE
        assert ctx.get(dut.operations.valid) == started
        assert ctx.get(dut.commands.ready) == (not started)
        ctx.set(dut.operations.ready, 1)
        assert ctx.get(dut.commands.ready)
        if started:
            got = ctx.get(dut.operations.payload)
            for field in ("opcode", "element", "index_mode", "n", "m", "length", "width"):
                assert got[field] == getattr(operation, field)
            for field in ("outputs", "base", "stride", "first_row", "count", "target", "raw"):
                assert got[field] == getattr(operation, field)
        await ctx.tick()
        ctx.set(dut.commands.valid, 0)
        assert error_of(ctx, dut) == (cause, 0, 0, 0)

    simulate(dut, bench)


def test_the_first_error_stays_until_it_is_cleared(simulate, small):
    dut = Registers(config=small())

    async def bench(ctx):
        await report(ctx, dut, ErrorCause.INDEX_RANGE, 7, 9)
        assert error_of(ctx, dut) == (ErrorCause.INDEX_RANGE, 0, 7, 9)
        await report(ctx, dut, ErrorCause.INDEX_RANGE, 8, 1)
        await write(ctx, dut, "command", 0)
        assert error_of(ctx, dut) == (ErrorCause.INDEX_RANGE, 0, 7, 9)
        # A halt does not change the cause, and the clear leaves it.
        await report(ctx, dut, ErrorCause.LENGTH, 3, 3, halt=1)
        assert error_of(ctx, dut) == (ErrorCause.INDEX_RANGE, 1, 7, 9)
        await write(ctx, dut, "error", 0x1234)
        assert error_of(ctx, dut) == (0, 0, 0, 0)
        await write(ctx, dut, "command", 0)
        assert error_of(ctx, dut) == (ErrorCause.ILLEGAL_OPERATION, 0, 0, 0)

    simulate(dut, bench)


def test_an_error_in_the_cycle_of_the_clear_is_kept(simulate, small):
    dut = Registers(config=small())

    async def bench(ctx):
        await report(ctx, dut, ErrorCause.INDEX_RANGE, 7, 9)
        ctx.set(dut.commands.payload, {"address": register("error").address, "data": 1})
        ctx.set(dut.commands.valid, 1)
        await report(ctx, dut, ErrorCause.LENGTH, 2, 5, halt=1)
        ctx.set(dut.commands.valid, 0)
        assert error_of(ctx, dut) == (ErrorCause.LENGTH, 1, 2, 5)

    simulate(dut, bench)


def test_while_halted_only_the_error_register_is_written(simulate, small):
    dut = Registers(config=small())

    async def bench(ctx):
        await write(ctx, dut, "length", 5)
        await report(ctx, dut, ErrorCause.TIMEOUT, halt=1)
        assert ctx.get(dut.halted)
        assert error_of(ctx, dut) == (ErrorCause.TIMEOUT, 1, 0, 0)
        # All commands are taken at once.
        await write(ctx, dut, "length", 6)
        ctx.set(dut.commands.valid, 1)
        for name, word in (("command", Opcode.CLEAR), ("clear_counters", 1), ("command", 0)):
            ctx.set(dut.commands.payload, {"address": register(name).address, "data": word})
            assert ctx.get(dut.commands.ready)
            assert not ctx.get(dut.operations.valid)
            assert not ctx.get(dut.clear_counters)
            await ctx.tick()
        ctx.set(dut.commands.valid, 0)
        assert read(ctx, dut, "length") == 5
        assert error_of(ctx, dut) == (ErrorCause.TIMEOUT, 1, 0, 0)
        await write(ctx, dut, "error")
        assert not ctx.get(dut.halted)
        await write(ctx, dut, "length", 6)
        assert read(ctx, dut, "length") == 6
        ctx.set(dut.commands.payload, {"address": register("clear_counters").address, "data": 1})
        ctx.set(dut.commands.valid, 1)
        assert ctx.get(dut.clear_counters)

    simulate(dut, bench)
