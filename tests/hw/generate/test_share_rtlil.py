"""Equal modules of RTLIL become one, and the design stays the same."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.generate.convert import to_rtlil
from fanweave.hw.generate.share_rtlil import share_rtlil
from fanweave.sim.synthesis.yosys import run_yosys


class Adder(wiring.Component):
    a: In(4)
    b: In(4)
    total: Out(4)

    def __init__(self, step):
        self.step = step
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.total.eq(self.a + self.b + self.step)
        return m


class Pair(wiring.Component):
    """Two adders in a row, each in a block of its own."""

    a: In(4)
    total: Out(4)

    def __init__(self, steps):
        self.steps = steps
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        first, second = (Adder(step) for step in self.steps)
        m.submodules.first, m.submodules.second = first, second
        m.d.comb += [first.a.eq(self.a), first.b.eq(self.a), second.a.eq(first.total)]
        m.d.comb += [second.b.eq(self.a), self.total.eq(second.total)]
        return m


class Three(wiring.Component):
    a: In(4)
    total: Out(4)

    def elaborate(self, platform):
        m = Module()
        result = 0
        for name, steps in (("one", (1, 1)), ("same", (1, 1)), ("other", (1, 2))):
            m.submodules[name] = pair = Pair(steps)
            m.d.comb += pair.a.eq(self.a ^ len(name))
            result = result ^ pair.total
        m.d.comb += self.total.eq(result)
        return m


def shared():
    return share_rtlil(to_rtlil(Three(), name="three", sources=True))


def test_every_block_knows_the_module_that_describes_it():
    kept = shared().kept
    assert len(kept) == 10
    assert kept["three.same"] == kept["three.one"]
    assert kept["three.same.second"] == "three.one.second"
    assert kept["three.other.first"] == "three.one.first"
    assert kept["three.other"] == "three.other"
    assert kept["three.other.second"] == "three.other.second"


def test_a_module_is_written_once():
    text = shared().text
    assert text.count("\nmodule ") + text.startswith("module ") == len(set(shared().kept.values()))


def test_yosys_proves_the_design_unchanged():
    whole = to_rtlil(Three(), name="three")
    flat = "hierarchy -top three; proc; flatten"
    script = (
        f"read_rtlil shared; {flat}; design -stash gate",
        f"read_rtlil design; {flat}; rename three gold",
        "design -copy-from gate -as gate three",
        "equiv_make gold gate check; equiv_simple check; equiv_status -assert check",
    )
    run_yosys(script, whole, subject="three", files={"shared": share_rtlil(whole).text})


def test_sources_are_paths_in_the_package():
    from fanweave.hw.stream.queue import Queue

    text = to_rtlil(Queue(shape=8, depth=2), name="queue", sources=True)
    assert 'attribute \\src "hw/stream/queue.py:' in text
    assert 'src "/' not in text
