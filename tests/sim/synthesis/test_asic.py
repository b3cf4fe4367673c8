"""What a small design takes in gates is known; so is its longest path, by name."""

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.convert import to_rtlil
from fanweave.sim.synthesis.asic import AsicArea, synthesise_asic, total_of
from fanweave.sim.synthesis.library import CELLS, SETUP_PS, area_of, liberty_text
from fanweave.sim.synthesis.memories import MACRO_BITS, find_memories
from fanweave.sim.synthesis.timing import longest_path


class Link(wiring.Component):
    """An inverted conjunction of two bits: one gate."""

    a: In(1)
    b: In(1)
    result: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(~(self.a & self.b))
        return m


class Chain(wiring.Component):
    """A register, links in a row with a short cut past them, a register; two kinds of memory."""

    def __init__(self, length):
        self.length = length
        super().__init__({"b": In(length), "out": Out(1), "word": Out(16), "small": Out(4)})

    def elaborate(self, platform):
        m = Module()
        begin = Signal(name="begin")
        # A reset would take gates at the end of the path.
        end = Signal(name="end", reset_less=True)
        m.d.sync += begin.eq(~begin)
        at = begin
        for number in range(self.length):
            m.submodules[f"link_{number}"] = link = Link()
            m.d.comb += [link.a.eq(at), link.b.eq(self.b[number])]
            at = link.result
        m.d.sync += end.eq(at)
        m.d.comb += self.out.eq(end)
        for name, output, depth, domain in (
            ("large", self.word, MACRO_BITS // 16, "sync"),
            ("file", self.small, 8, "comb"),
        ):
            m.submodules[name] = memory = Memory(shape=len(output), depth=depth, init=[])
            write, read = memory.write_port(), memory.read_port(domain=domain)
            m.d.comb += [write.en.eq(end), write.addr.eq(self.b), write.data.eq(self.b)]
            m.d.comb += [read.addr.eq(self.b), output.eq(read.data)]
        return m


LENGTH = 20


@pytest.fixture(scope="module")
def result():
    return synthesise_asic(to_rtlil(Chain(LENGTH), name="chain", sources=True), "chain")


def test_blocks_are_counted_each_with_its_own(result):
    by_block = {area.block: area for area in result.areas}
    for number in range(LENGTH):
        assert by_block[f"link_{number}"].cells == {"NAND2": 1}
    assert total_of(result.areas, "link_3").area_ge == 1
    assert total_of(result.areas).cells["NAND2"] >= LENGTH


def test_memories_are_told_apart(result):
    total = total_of(result.areas)
    assert total.flip_flops == 2
    assert total.memory_flip_flops == 32
    assert total.memory_ge > area_of({"DFF": 32})
    assert total.macro_bits == MACRO_BITS
    parts = total.logic_ge + total.flip_flop_ge + total.memory_ge
    assert total.area_ge == parts == pytest.approx(sum(area.area_ge for area in result.areas))


def test_the_longest_path_is_the_chain(result):
    path = result.path
    clocked = CELLS["DFF"].delay_ps
    assert path.delay_ps == clocked + LENGTH * CELLS["NAND2"].delay_ps + SETUP_PS
    assert path.gates == LENGTH
    assert [(step.name.block, step.name.signal) for step in path.steps] == [
        ("", "begin"),
        *((f"link_{number}", "result") for number in range(LENGTH)),
        ("", "end"),
    ]
    assert [step.at_ps for step in path.steps][:2] == [clocked, clocked + CELLS["NAND2"].delay_ps]
    assert all("test_asic.py:" in step.name.source for step in path.steps)


@pytest.mark.parametrize(
    ("width", "depth", "domain", "is_macro"),
    [(16, 128, "sync", True), (16, 127, "sync", False), (16, 128, "comb", False)],
)
def test_a_large_memory_that_is_read_by_the_clock_is_a_macro(width, depth, domain, is_macro):
    class One(wiring.Component):
        a: In(8)
        out: Out(width)

        def elaborate(self, platform):
            m = Module()
            m.submodules.memory = memory = Memory(shape=width, depth=depth, init=[])
            write, read = memory.write_port(), memory.read_port(domain=domain)
            m.d.comb += [write.addr.eq(self.a), write.en.eq(1), read.addr.eq(self.a)]
            m.d.comb += self.out.eq(read.data)
            return m

    ((found,),) = find_memories(to_rtlil(One(), name="one")).values()
    assert (found.width, found.depth, found.reads, found.writes) == (width, depth, 1, 1)
    assert found.is_macro is is_macro


def cell(kind, **pins):
    return {"type": kind, "connections": {pin: [net] for pin, net in pins.items()}}


def test_gates_in_a_loop_are_a_fault():
    module = {
        "ports": {"out": {"direction": "output", "bits": [2]}},
        "cells": {"a": cell("INV", A=3, Y=2), "b": cell("INV", A=2, Y=3)},
        "netnames": {},
    }
    with pytest.raises(FaultError, match="gates form a loop in the top"):
        longest_path({"top": module}, "top")


def test_a_cell_that_is_not_in_the_library_is_a_fault():
    module = {"ports": {}, "cells": {"a": cell("LATCH", D=2)}, "netnames": {}}
    with pytest.raises(FaultError, match="a cell that the library does not have: LATCH"):
        longest_path({"top": module}, "top")


def test_areas_are_in_widths_of_nand2():
    assert CELLS["NAND2"].area_ge == 1
    assert area_of({"NAND2": 2, "DFF": 3}) == 2 + 3 * 16 / 3
    assert AsicArea(block="", cells={"INV": 3, "DFF": 3}).logic_ge == 3


def test_the_liberty_file_has_every_cell():
    text = liberty_text()
    for name in CELLS:
        assert f"cell ({name}) {{" in text
    assert text.count("{") == text.count("}")
