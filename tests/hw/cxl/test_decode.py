"""Which device a line belongs to: all ways and granularities, ends of ranges, overlaps."""

# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import PAGE_LINES, Device, Tables, range_writes
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS, LINE_BYTES
from fanweave.golden.isa.cxl_switch import GRANULARITY_BYTES, PAGE_BYTES
from fanweave.hw.cxl.decode import AddressDecoder

CONFIG = SwitchConfig(upstream=1, downstream=8, decoders=3, bindings=8)
WAYS = (1, 2, 4, 8)
GRANULARITIES = tuple(GRANULARITY_BYTES << step for step in range(8))
#: A page with bits in both of its registers.
FAR = 0x9_8765_4321


def tables_of(*ranges, unbound=()):
    """Tables of a host with ranges of first page, pages, ways and granularity."""
    tables = Tables(CONFIG)
    for number in range(CONFIG.bindings):
        if number not in unbound:
            bind(tables, number, Device(CONFIG.upstream + number, 15 - number))
    for number, (first, pages, ways, granularity) in enumerate(ranges):
        # Ways are not in the order of their ports.
        targets = [(5 * way + number) % 8 for way in range(ways)]
        for write in range_writes(
            CONFIG,
            host=0,
            number=number,
            first=first * PAGE_BYTES,
            size=pages * PAGE_BYTES,
            targets=targets,
            granularity=granularity,
        ):
            tables.write(*write)
    return tables


def bind(tables, number, device):
    entry = next(entry for entry in CONFIG.registers if entry.name == f"binding_0_{number}")
    tables.write(entry.address, entry.pack(bound=1, port=device.port, ld_id=device.ld_id))


def decoded(tables, lines):
    """What the RTL says of lines."""
    dut = AddressDecoder(ranges=CONFIG.decoders, bindings=CONFIG.bindings)
    found = []

    async def body(ctx):
        for number in range(CONFIG.decoders):
            name, entry = f"decoder_0_{number}", dut.ranges[number]
            for field in ("enable", "ways", "granularity"):
                ctx.set(getattr(entry, field), tables.get(f"{name}_control", field))
            for end in ("first", "last"):
                low, high = (tables.get(f"{name}_{end}_{part}", "page") for part in ("low", "high"))
                ctx.set(getattr(entry, end), high << 20 | low)
            for way in range(8):
                ctx.set(entry.targets[way], tables.get(f"{name}_targets", f"way_{way}"))
        for number in range(CONFIG.bindings):
            device = tables.binding(0, number)
            if device is not None:
                values = {"bound": 1, "port": device.port, "ld_id": device.ld_id}
                ctx.set(dut.bindings[number], values)
        for line in lines:
            ctx.set(dut.address, line)
            target = ctx.get(dut.target)
            found.append(Device(target.port, target.ld_id) if target.bound else None)

    simulator = Simulator(dut)
    simulator.add_testbench(body)
    simulator.run()
    return found


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_lines_go_round_the_ways(ways, granularity):
    pages = 2 * ways * max(granularity // PAGE_BYTES, 1)
    tables = tables_of((FAR, pages, ways, granularity))
    first = FAR * PAGE_LINES
    lines = list(range(first - 1, first + pages * PAGE_LINES + 1))
    expected = [None]
    for line in lines[1:-1]:
        way = line * LINE_BYTES // granularity % ways
        number = 5 * way % 8
        expected.append(Device(CONFIG.upstream + number, 15 - number))
    expected.append(None)
    assert [tables.decode(0, line) for line in lines] == expected
    assert decoded(tables, lines) == expected
    assert len(set(expected)) == ways + 1


def test_the_first_range_that_fits_counts_and_what_is_unbound_is_nowhere():
    tables = tables_of((4, 2, 1, 256), (3, 4, 4, 512), (0, 1 << 20, 8, 4096), unbound=(6,))
    choose = random.Random(1)
    lines = [page * PAGE_LINES + line for page in range(9) for line in range(PAGE_LINES)]
    lines += [choose.getrandbits(ADDRESS_BITS) for _ in range(200)]
    lines += [choose.randrange(1 << 26) for _ in range(500)]
    expected = [tables.decode(0, line) for line in lines]
    assert decoded(tables, lines) == expected
    assert expected[4 * PAGE_LINES : 6 * PAGE_LINES] == [Device(CONFIG.upstream, 15)] * 128
    assert len({device for device in expected if device}) == 7
    assert None in expected[:500]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": 100}, "both must be multiples of 0x1000"),
        ({"size": 0}, "both must be multiples"),
        ({"size": -PAGE_BYTES}, "both must be multiples"),
        ({"targets": [0, 1, 2]}, "a range has 3 ways; it must have 1, 2, 4 or 8"),
        ({"targets": [8]}, "each must be below 8"),
        ({"granularity": 384}, "granularity = 384 must be 256 times a power of two to 128"),
        ({"granularity": 65536}, "granularity = 65536 must be"),
        ({"number": 3}, "3"),
    ],
)
def test_what_is_no_range(change, message):
    given = {"host": 0, "number": 0, "first": 0, "size": PAGE_BYTES, "targets": [0], **change}
    with pytest.raises(InputError, match=message):
        range_writes(CONFIG, **given)
