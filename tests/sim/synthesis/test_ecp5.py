"""What a small design takes of an ECP5 is known; so is how it is counted by block."""

import io
import json

import pytest
from amaranth import Instance, Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.convert import to_rtlil
from fanweave.sim.synthesis.area_table import fold_areas, print_areas
from fanweave.sim.synthesis.ecp5 import Area, areas_by_block, total_area
from fanweave.sim.synthesis.yosys import run_yosys


class Ram(wiring.Component):
    """A memory with ports as given; enables for each byte."""

    def __init__(self, *, width, depth, writers=1, domain="sync"):
        self.width, self.depth, self.writers, self.domain = width, depth, writers, domain
        super().__init__(
            {"address": In(10), "data": In(width), "enable": In(8), "read": Out(width)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.width, depth=self.depth, init=[])
        for number in range(self.writers):
            port = memory.write_port(granularity=self.width // 2)
            m.d.comb += [
                port.addr.eq(self.address + 3 * number),
                port.data.eq(self.data ^ number),
                port.en.eq(self.enable[2 * number :]),
            ]
        read = memory.read_port(domain=self.domain)
        m.d.comb += [read.addr.eq(self.address ^ 1), self.read.eq(read.data)]
        return m


class Product(wiring.Component):
    a: In(18)
    b: In(18)
    result: Out(36)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(self.a * self.b)
        return m


class Sample(wiring.Component):
    """A block of each kind, and a counter of its own."""

    def __init__(self):
        ports = {
            "address": In(10),
            "data": In(36),
            "enable": In(8),
            "sum": Out(36),
            "count": Out(7),
        }
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        m.submodules.large = large = Ram(width=36, depth=512)
        m.submodules.small = small = Ram(width=4, depth=16, domain="comb")
        m.submodules.apart = apart = Ram(width=8, depth=4, writers=2, domain="comb")
        m.submodules.product = product = Product()
        outputs = large.read, small.read, apart.read, product.result
        for ram in (large, small, apart):
            enable = self.enable if ram is not small else self.enable[0].replicate(2)
            m.d.comb += [
                ram.address.eq(self.address),
                ram.data.eq(self.data),
                ram.enable.eq(enable),
            ]
        m.d.comb += [product.a.eq(self.data), product.b.eq(self.data[18:])]
        total = outputs[0]
        for other in outputs[1:]:
            total = total ^ other
        m.d.comb += self.sum.eq(total)
        m.d.sync += self.count.eq(self.count + 1)
        return m


@pytest.fixture(scope="module")
def areas():
    return areas_by_block(to_rtlil(Sample(), name="sample"), "sample")


def counted(area):
    return {
        "memory_bits": area.memory_bits,
        "small_rams": area.small_rams,
        "block_rams": area.block_rams,
        "multipliers": area.multipliers,
    }


NOTHING = counted(Area(block=""))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("", {}),
        ("large", {"block_rams": 1}),
        ("small", {"small_rams": 1}),
        # Two write ports fit no RAM of the family.
        ("apart", {"memory_bits": 32}),
        ("product", {"multipliers": 1}),
    ],
)
def test_each_block_has_what_it_needs(block, expected, areas):
    (area,) = [each for each in areas if each.block == block]
    assert counted(area) == NOTHING | expected


def test_logic_is_counted_in_look_up_tables(areas):
    by_block = {area.block: area for area in areas}
    # Seven bits of a counter: four carry cells, each in the place of two tables.
    assert by_block[""].cells["CCU2C"] == 4
    assert by_block[""].luts == by_block[""].cells["LUT4"] + 8
    assert by_block["apart"].luts > 32
    assert by_block["product"].luts == 0


def test_flip_flops_of_memories_are_among_the_flip_flops(areas):
    by_block = {area.block: area for area in areas}
    assert by_block[""].flip_flops == 7
    assert by_block["apart"].flip_flops == 32
    # What is written while it is read comes out as it was: the block RAM needs help for that.
    assert by_block["large"].flip_flops > 36


def test_the_sum_is_the_design(areas):
    total = total_area(areas)
    assert counted(total) == {
        "memory_bits": 32,
        "small_rams": 1,
        "block_rams": 1,
        "multipliers": 1,
    }
    assert total.luts == sum(area.luts for area in areas)
    assert total.flip_flops == sum(area.flip_flops for area in areas)
    assert counted(total_area(fold_areas(areas, levels=0))) == counted(total)


def test_a_look_at_the_memories_in_between_changes_nothing(areas):
    script = ("read_rtlil design", "synth_ecp5 -noflatten -top sample", "tee -q -o c stat -json")
    files = run_yosys(script, to_rtlil(Sample(), name="sample"), subject="sample")
    cells = json.loads(files["c"])["design"]["num_cells_by_type"]
    assert total_area(areas).cells == {
        kind: number for kind, number in cells.items() if not kind.startswith("sample.")
    }


def made(block, luts):
    return Area(block=block, cells={"LUT4": luts}, memory_bits=luts)


def test_a_block_holds_what_is_below_it_and_nothing_else():
    areas = [made("", 1), made("a", 2), made("a.b", 4), made("a.b.c", 8), made("ab", 16)]
    assert total_area(areas, "a").luts == 14
    assert total_area(areas, "a").memory_bits == 14
    folded = {area.block: area.luts for area in fold_areas(areas, levels=2)}
    assert folded == {"": 1, "a": 2, "a.b": 12, "ab": 16}


def test_the_table_has_a_row_a_block_and_their_sum():
    text = io.StringIO()
    print_areas([made("", 1), made("a.b.c.d", 1200), made("idle", 0)], "top", stream=text)
    lines = [" ".join(line.split()) for line in text.getvalue().strip().splitlines()]
    assert lines[0] == "top: yosys synth_ecp5, blocks kept apart; nothing is placed"
    assert lines[-3:] == [
        "(top) 1 0 1 0 0 0",
        "a.b.c 1,200 0 1,200 0 0 0",
        "sum 1,201 0 1,201 0 0 0",
    ]


class Strange(wiring.Component):
    out: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = Instance("OSCG", o_OSC=self.out)
        return m


def test_a_primitive_that_is_not_counted_is_a_fault():
    with pytest.raises(FaultError, match="primitive that is not known here: OSCG"):
        areas_by_block(to_rtlil(Strange(), name="strange"), "strange")


def test_a_synthesis_that_takes_too_long_is_stopped():
    with pytest.raises(FaultError, match=r"yosys did not end with late within 0\.01 s"):
        areas_by_block("", "late", limit=0.01)


def test_what_yosys_refuses_is_a_fault():
    with pytest.raises(FaultError, match="yosys does not accept none:\n"):
        areas_by_block(to_rtlil(Product(), name="product"), "none")
