"""The tag table never gives a slot twice, and knows each entry by its tag until it is answered.

The solver picks one entry to follow. Entries lie in a memory, so the proof is for every
behaviour over six cycles, enough to go round the four slots once.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.cxl.tag_table import TagTable
from fanweave.sim.formal import prove

TAG_BITS = 5


class Rules(wiring.Component):
    """Holds a table between arbitrary requests and arbitrary answers."""

    take: In(1)
    entry: In(2)
    wanted: In(2)
    follow: In(1)
    tag_0: In(TAG_BITS)
    tag_1: In(TAG_BITS)
    done_0: In(1)
    done_1: In(1)
    dead: In(1)
    ready: In(1)

    def __init__(self, table):
        self.table = table
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = self.table
        takes = Signal()
        m.d.comb += [
            takes.eq(self.take & table.free & self.wanted.any()),
            table.take.eq(takes),
            table.entry.eq(self.entry),
            table.wanted.eq(self.wanted),
            table.timeout.eq(2**24 - 1),
            table.dead.eq(self.dead),
            table.find_0_tag.eq(self.tag_0),
            table.find_1_tag.eq(self.tag_1),
            table.find_0_done.eq(self.done_0),
            table.find_1_done.eq(self.done_1 << 1),
            table.expired.ready.eq(self.ready),
        ]
        following, tag, value, left = Signal(), Signal(TAG_BITS), Signal(2), Signal(2)
        with m.If(takes & self.follow & ~following & (left == 0)):
            m.d.sync += [following.eq(1), tag.eq(table.tag), value.eq(self.entry)]
            m.d.sync += left.eq(self.wanted)
        gone = Signal()
        answered = Signal(2)
        m.d.comb += [
            answered[0].eq(self.done_0 & (self.tag_0 == tag)),
            answered[1].eq(self.done_1 & (self.tag_1 == tag)),
        ]
        self._known(m, following, tag, value, left)
        expired = table.expired
        with m.If(following):
            m.d.sync += left.eq(left & ~answered)
            with m.If(((left & ~answered) == 0) | gone):
                m.d.sync += [following.eq(0), left.eq(0)]
        m.d.comb += gone.eq(following & (table.open[tag[:2]] == 0))
        # What expires was open, and is what was stored.
        with m.If(expired.valid):
            m.d.comb += Assert(expired.payload.waits != 0)
        self._counts(m)
        return m

    def _known(self, m, following, tag, value, left):
        table = self.table
        is_open = Signal()
        m.d.comb += is_open.eq(following & (table.open[tag[:2]] != 0))
        with m.If(is_open):
            m.d.comb += Assert(table.open[tag[:2]] == left)
            with m.If(self.take & table.free):
                m.d.comb += Assert(table.tag[:2] != tag[:2])
            for n, asked in enumerate((self.tag_0, self.tag_1)):
                with m.If(asked == tag):
                    m.d.comb += [
                        Assert(getattr(table, f"find_{n}_waits") == left),
                        Assert(getattr(table, f"find_{n}_entry") == value),
                    ]
        for n, asked in enumerate((self.tag_0, self.tag_1)):
            with m.If(is_open & (asked[:2] == tag[:2]) & (asked != tag)):
                m.d.comb += Assert(getattr(table, f"find_{n}_waits") == 0)

    def _counts(self, m):
        """What was taken and not closed is the level."""
        table = self.table
        m.d.comb += Assert(table.free == (table.level != table.slots))


def test_the_table_is_proved_for_six_cycles():
    table = TagTable(shape=2, slots=4, tag_bits=TAG_BITS, waits=2, finders=2)
    prove(Rules(table), name="cxl-tag-table", mode="bmc", depth=6, timeout=55)


class Forgetful(TagTable):
    """Gives a slot's next entry the same tag."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.round.eq(0)
        m.d.sync += self.open[0].eq(1)
        return m


def test_a_broken_table_is_found():
    table = Forgetful(shape=2, slots=4, tag_bits=TAG_BITS, waits=2, finders=2)
    with pytest.raises(FaultError):
        prove(Rules(table), name="cxl-tag-table-broken", mode="bmc", depth=6, timeout=100)


class AnswerTwice(wiring.Component):
    """An answer after an entry closed finds nothing, until the tag is given again."""

    take: In(1)
    wanted: In(1)
    tag: In(TAG_BITS)
    done: In(1)

    def __init__(self, table):
        self.table = table
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = self.table
        watched = Signal(TAG_BITS)
        m.d.comb += [
            table.take.eq(self.take & table.free),
            table.wanted.eq(1),
            table.find_0_tag.eq(self.tag),
            table.find_0_done.eq(self.done),
            table.expired.ready.eq(1),
            table.timeout.eq(2**24 - 1),
        ]
        closed = Signal()
        with m.If(self.done & (table.find_0_waits != 0) & ~closed):
            m.d.sync += [closed.eq(1), watched.eq(self.tag)]
        with m.If(closed & table.take):
            m.d.comb += Assume(table.tag != watched)
        with m.If(closed & (self.tag == watched)):
            m.d.comb += Assert(table.find_0_waits == 0)
        return m


def test_a_second_answer_finds_nothing():
    table = TagTable(shape=1, slots=4, tag_bits=TAG_BITS, waits=1, finders=1)
    prove(AnswerTwice(table), name="cxl-tag-twice", mode="bmc", depth=6, timeout=100)
