"""Blocks that are synthesised by themselves come to what the whole design comes to."""

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.generate.convert import to_rtlil
from fanweave.sim.synthesis import blocks
from fanweave.sim.synthesis.asic import synthesise_asic, total_of
from fanweave.sim.synthesis.blocks import block_areas


class Sum(wiring.Component):
    a: In(8)
    b: In(8)
    total: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.total.eq(self.a + self.b)
        return m


class Pair(wiring.Component):
    """Two sums, and a memory of so many read ports."""

    def __init__(self, *, reads, turned=False):
        self.reads = reads
        self.turned = turned
        super().__init__({"a": In(8), "b": In(8), "out": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Sum()
        m.submodules.second = second = Sum()
        m.submodules.memory = memory = Memory(shape=8, depth=256, init=[])
        write = memory.write_port()
        reads = [memory.read_port() for _ in range(self.reads)]
        total = Signal(8)
        for read in reads:
            total = total + read.data
            m.d.comb += read.addr.eq(self.a)
        m.d.comb += [
            first.a.eq(self.a),
            first.b.eq(self.b),
            second.a.eq(first.total),
            second.b.eq(~self.a if self.turned else self.a),
            write.addr.eq(self.b),
            write.data.eq(self.a),
            write.en.eq(self.a[0]),
            self.out.eq(second.total ^ total[:8]),
        ]
        return m


def areas_of(design, folder):
    return block_areas(to_rtlil(design, name="pair"), "pair", folder=folder)


def test_blocks_are_those_of_the_whole_design(tmp_path):
    found = areas_of(Pair(reads=1), tmp_path)
    whole = synthesise_asic(to_rtlil(Pair(reads=1), name="pair", sources=True), "pair").areas
    assert [area.as_data() for area in found] == [area.as_data() for area in whole]
    assert total_of(found).flip_flops >= 16


def test_a_memory_with_many_ports_is_built_from_flip_flops(tmp_path):
    few, many = (total_of(areas_of(Pair(reads=reads), tmp_path)) for reads in (2, 3))
    assert few.macro_bits == 2048
    assert many.macro_bits == 0
    assert many.memory_flip_flops == 2048 + 8  # equal reads share their register


def test_what_is_known_is_not_synthesised_again(tmp_path, monkeypatch):
    before = areas_of(Pair(reads=1), tmp_path)
    seen = []
    original = blocks.map_modules

    def noted(text, *arguments, **options):
        seen.append(text)
        return original(text, *arguments, **options)

    monkeypatch.setattr(blocks, "map_modules", noted)
    assert areas_of(Pair(reads=1), tmp_path) == before
    assert seen == []
    after = areas_of(Pair(reads=1, turned=True), tmp_path)
    assert len(seen) == 1
    # The first sum stays as it is, so only its ports are there.
    assert "attribute \\blackbox 1\nmodule \\pair.first\n" in seen[0]
    assert {a.block for a in after} == {a.block for a in before}
    assert after[0].cells != before[0].cells


def test_a_block_below_one_that_is_known_is_not_lost(tmp_path):
    class Middle(wiring.Component):
        a: In(8)
        out: Out(8)

        def elaborate(self, platform):
            m = Module()
            m.submodules.pair = pair = Pair(reads=1)
            m.d.comb += [pair.a.eq(self.a), pair.b.eq(~self.a), self.out.eq(pair.out)]
            return m

    before = areas_of(Middle(), tmp_path)
    files = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_size)
    files[0].unlink()  # the top, which has no cells
    files[-1].unlink()
    assert areas_of(Middle(), tmp_path) == before


@pytest.mark.parametrize("block", ["first", "second"])
def test_each_instance_is_listed(tmp_path, block):
    found = {area.block: area for area in areas_of(Pair(reads=1), tmp_path)}
    assert found[block].flip_flops == 8
