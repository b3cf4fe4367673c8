# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, Opcode
from fanweave.hw.fp.multiplier import Multiplier
from fanweave.hw.ventaglio.lanes import Lanes
from fanweave.hw.ventaglio.payloads import Marker

FORMATS = (ElementFormat.FP32, ElementFormat.FP16, ElementFormat.INT8)


def value_of(product, element_format):
    """The number that a product stands for."""
    if element_format.is_integer:
        return float(((product.significand & 0xFFFF) ^ 0x8000) - 0x8000)
    if product.zero:
        return 0.0
    return (-1.0) ** product.sign * product.significand * 2.0 ** (product.exponent - 127 - 47)


def plain(generator, element_format):
    """A finite element of moderate size."""
    if element_format.is_integer:
        return generator.getrandbits(8)
    layout = element_format.layout
    fraction = generator.getrandbits(layout.fraction_bits)
    exponent = layout.bias + generator.randint(-2, 2)
    return generator.getrandbits(1) << layout.bits - 1 | exponent << layout.fraction_bits | fraction


class Group:
    """A random group and the products that it should give, output by output."""

    def __init__(self, generator, config):
        element_format = self.element_format = generator.choice(config.formats)
        spread = element_format.bits // config.element_bits
        lanes = config.lanes // spread
        outputs = generator.randint(1, config.max_outputs)
        width = generator.randint(1, config.accumulators // outputs)
        stride = width + generator.randint(0, 1) * (config.accumulators // outputs - width)
        base = 2 * generator.randint(0, (config.accumulators - (outputs - 1) * stride - width) // 2)
        self.operation = {
            "opcode": generator.choice([Opcode.MULTIPLY, Opcode.MULTIPLY_ACCUMULATE]),
            "element": element_format,
            "width": width,
            "outputs": outputs,
            "base": base,
            "stride": stride,
        }
        count = generator.randint(1, lanes)
        first = generator.randint(1, count)
        masks = [generator.randint(1, (1 << outputs) - 1) for _ in range(2)]
        scalars = [
            [plain(generator, element_format) for _ in range(config.max_outputs)] for _ in range(2)
        ]
        weights = [plain(generator, element_format) for _ in range(lanes)]
        beyond = 0.1 if generator.random() < 0.5 else 0.0
        columns = [
            generator.choice([width, 0xFFFF])
            if generator.random() < beyond
            else generator.randrange(width)
            for _ in range(count)
        ]
        rows = [generator.getrandbits(24) for _ in range(2)]
        done = generator.randrange(1000)
        self.expected = []
        for output in range(outputs):
            if not (masks[0] | (masks[1] if count > first else 0)) >> output & 1:
                continue
            products = {}
            for e in range(count):
                row = int(e >= first)
                if masks[row] >> output & 1 and columns[e] < width:
                    address = base + output * stride + columns[e]
                    number = float(
                        Multiplier.model(weights[e], scalars[row][output], element_format)
                    )
                    bank = config.bank_of(address)
                    products[e * spread] = (bank, address // config.banks, number)
            self.expected.append(products)
        self.skipped = sum(
            outputs - masks[int(e >= first)].bit_count() for e in range(count) if columns[e] < width
        )
        self.error = (ErrorCause.NONE, 0, 0)
        for e in reversed(range(count)):
            if columns[e] >= width:
                where = (rows[1], e - first) if e >= first else (rows[0], done + e)
                self.error = (ErrorCause.INDEX_RANGE, *where)
        self.touches = (base, base + (outputs - 1) * stride + width)
        physical = range(config.lanes)
        self.payload = {
            "marker": Marker.ROW,
            "valid": sum(1 << e * spread for e in range(count)),
            "second": sum(1 << e * spread for e in range(first, lanes)),
            "columns": [
                columns[lane // spread] if lane % spread == 0 and lane // spread < count else 0
                for lane in physical
            ],
            "weights": sum(w << e * element_format.bits for e, w in enumerate(weights)),
            "k": rows,
            "element": done,
            "first_count": first,
            "masks": masks,
            "scalars": scalars,
            "config": self.operation,
        }


async def show(ctx, dut, group):
    """Offer a group in the cycle in which it is taken, and check what is said of it then."""
    ctx.set(dut.groups.payload, group.payload)
    ctx.set(dut.groups.valid, 1)
    assert ctx.get(dut.groups.ready)
    assert ctx.get(dut.skipped_products) == group.skipped
    error = (ctx.get(dut.error.cause), ctx.get(dut.error.row), ctx.get(dut.error.element))
    assert error[0] == group.error[0]
    if error[0]:
        assert error == group.error
    await ctx.tick()
    ctx.set(dut.groups.valid, 0)


def check(ctx, dut, config, group, products):
    payload = dut.products.payload
    assert ctx.get(payload.valid) == sum(1 << lane for lane in products)
    assert ctx.get(payload.multiply) == (group.operation["opcode"] == Opcode.MULTIPLY)
    assert ctx.get(payload.integer) == group.element_format.is_integer
    for lane, (bank, entry, number) in products.items():
        got = ctx.get(payload.lanes[lane])
        assert (ctx.get(payload.banks[lane]), got.entry) == (bank, entry)
        assert value_of(got.product, group.element_format) == number


@pytest.mark.parametrize("seed", range(3))
def test_each_output_in_its_turn(simulate, small, seed):
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=FORMATS, max_outputs=3, banks=8)
    dut = Lanes(config=config)

    async def bench(ctx):
        for _ in range(60):
            group = Group(generator, config)
            await show(ctx, dut, group)
            left = list(group.expected)
            while left:
                assert ctx.get(dut.holds)
                assert ctx.get(dut.products.valid)
                check(ctx, dut, config, group, left[0])
                ready = generator.random() < 0.6
                ctx.set(dut.products.ready, ready)
                assert ctx.get(dut.groups.ready) == (ready and len(left) == 1)
                await ctx.tick()
                if ready:
                    left.pop(0)
            ctx.set(dut.products.ready, 0)
            assert not ctx.get(dut.holds)

    simulate(dut, bench)


@pytest.mark.parametrize("readiness", [0.3, 0.8, 1.0])
def test_registered_products_leave_in_order_and_one_a_cycle(simulate, small, readiness):
    seed = 12
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=FORMATS, max_outputs=3, banks=8)
    dut = Lanes(config=config, registered=True)
    groups = [Group(generator, config) for _ in range(60)]
    expected = [(group, products) for group in groups for products in group.expected]

    async def give(ctx):
        for group in groups:
            while not ctx.get(dut.groups.ready):
                await ctx.tick()
            await show(ctx, dut, group)

    async def take(ctx):
        cycles = 0
        for group, products in expected:
            while True:
                ready = generator.random() < readiness
                ctx.set(dut.products.ready, ready)
                if ready and ctx.get(dut.products.valid):
                    break
                cycles += 1
                await ctx.tick()
            check(ctx, dut, config, group, products)
            cycles += 1
            await ctx.tick()
        ctx.set(dut.products.ready, 0)
        assert not ctx.get(dut.products.valid)
        assert not ctx.get(dut.holds)
        # Two cycles until the first ones are there, and none between.
        assert (cycles == len(expected) + 2) == (readiness == 1.0)

    simulate(dut, give, take)


def test_waits_for_a_drain_of_its_accumulators_only(simulate, small):
    seed = 9
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=FORMATS, max_outputs=3, banks=8)
    dut = Lanes(config=config)

    async def bench(ctx):
        ctx.set(dut.products.ready, 1)
        for _ in range(40):
            group = Group(generator, config)
            await show(ctx, dut, group)
            ctx.set(dut.products.ready, 0)
            first, stop = group.touches
            for _ in range(6):
                low = generator.randrange(config.accumulators)
                high = generator.randint(low + 1, config.accumulators)
                busy = generator.getrandbits(1)
                ctx.set(dut.drain_from, low)
                ctx.set(dut.drain_to, high)
                ctx.set(dut.drain_busy, busy)
                meets = bool(busy and first < high and low < stop)
                assert ctx.get(dut.blocked) == meets
                assert ctx.get(dut.products.valid) == (not meets)
            ctx.set(dut.drain_busy, 0)
            ctx.set(dut.products.ready, 1)
            await ctx.tick().repeat(len(group.expected))

    simulate(dut, bench)


@pytest.mark.parametrize("marker", [Marker.CLEAR, Marker.DRAIN])
def test_a_marker_waits_until_it_is_done(simulate, small, marker):
    config = small()
    dut = Lanes(config=config)

    async def bench(ctx):
        ctx.set(dut.groups.payload, {"marker": marker, "config": {"count": 7}})
        ctx.set(dut.groups.valid, 1)
        await ctx.tick()
        ctx.set(dut.products.ready, 1)
        for _ in range(3):
            assert ctx.get(dut.marker) == marker
            assert ctx.get(dut.marker_config.count) == 7
            assert ctx.get(dut.holds)
            assert not ctx.get(dut.products.valid)
            assert not ctx.get(dut.groups.ready)
            await ctx.tick()
        ctx.set(dut.marker_done, 1)
        assert ctx.get(dut.groups.ready)
        ctx.set(dut.groups.valid, 0)
        await ctx.tick()
        assert ctx.get(dut.marker) == Marker.ROW
        assert not ctx.get(dut.holds)

    simulate(dut, bench)
