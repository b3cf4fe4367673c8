"""Of the incoming beats, exactly the asked parts come out, in order and without gaps.

All bits of all beats are 0 but one, whose place in the stream the solver picks. The harness adds
up where the asked extents lie; the bit must come out at its place among the kept ones, and nowhere
if no extent holds it.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.ventaglio.aligner import Aligner
from fanweave.sim.formal import prove

UNITS = 4
PLACE_BITS = 5


class Follower(wiring.Component):
    """An aligner of four units of one bit among arbitrary extents, beats and takes."""

    extent_valid: In(1)
    start: In(2)
    joined: In(1)
    length: In(2)
    beat_valid: In(1)
    take: In(4)
    choice: In(PLACE_BITS)

    def __init__(self, aligner):
        self.aligner = aligner
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.aligner = aligner = self.aligner
        place, chosen = Signal(PLACE_BITS), Signal()
        m.d.sync += chosen.eq(1)
        with m.If(~chosen):
            m.d.sync += place.eq(self.choice)

        beat = Signal(PLACE_BITS)  # number of the next beat
        bit = Signal(UNITS)
        for unit in range(UNITS):
            m.d.comb += bit[unit].eq(place == beat * UNITS + unit)
        m.d.comb += [
            aligner.beats.valid.eq(self.beat_valid & chosen),
            aligner.beats.payload.eq(bit),
            aligner.extents.valid.eq(self.extent_valid & chosen),
            aligner.extents.payload.start.eq(self.start),
            aligner.extents.payload.joined.eq(self.joined),
            aligner.extents.payload.length.eq(self.length),
            aligner.take.eq(self.take),
            Assume(self.take <= aligner.level),
            Assert(aligner.level <= 2 * UNITS),
        ]
        with m.If(aligner.beats.valid & aligner.beats.ready):
            m.d.sync += beat.eq(beat + 1)

        # Where the extents lie in the stream of beats, and in what is kept.
        end = Signal(PLACE_BITS)  # place behind the last asked unit
        kept = Signal(PLACE_BITS)  # units asked for before
        begin = Signal(PLACE_BITS)
        wanted, position = Signal(), Signal(PLACE_BITS)
        inside = end[:2] != 0  # the last asked beat has more
        following = Mux(inside, end[2:] + 1, end[2:])
        m.d.comb += [
            begin.eq(Mux(self.joined, end[2:] * UNITS, following * UNITS) + self.start),
            # The rules: no empty extent; one joins a beat that has more, and does not go back.
            Assume(self.length != 0),
            Assume(~self.joined | (inside & (self.start >= end[:2]))),
        ]
        with m.If(aligner.extents.valid & aligner.extents.ready):
            m.d.sync += [end.eq(begin + self.length), kept.eq(kept + self.length)]
            with m.If((place >= begin) & (place < begin + self.length)):
                m.d.sync += [wanted.eq(1), position.eq(kept + place - begin)]

        taken = Signal(PLACE_BITS)
        m.d.sync += taken.eq(taken + self.take)
        for unit in range(2 * UNITS):
            with m.If(unit < aligner.level):
                m.d.comb += Assert(
                    aligner.head[unit] == (wanted & (position == (taken + unit)[:PLACE_BITS]))
                )
        m.d.comb += Assert(taken + aligner.level <= kept)
        return m


def test_the_asked_parts_come_out():
    board = Follower(Aligner(beat_bits=UNITS, unit_bits=1))
    prove(board, name="aligner", mode="bmc", depth=6, timeout=120)


class Gapped(Aligner):
    """Skips the rest of a beat where a joined extent begins further on."""

    def _insert(self, m, source, position, portion, left, fire):
        super()._insert(m, source, Signal.like(position), portion, left, fire)


class Greedy(Aligner):
    """Keeps the whole rest of a beat."""

    def _insert(self, m, source, position, portion, left, fire):
        whole = Signal.like(portion)
        m.d.comb += whole.eq(UNITS - position)
        super()._insert(m, source, position, whole, left, fire)


@pytest.mark.parametrize("broken", [Gapped, Greedy])
def test_a_broken_aligner_is_found(broken):
    board = Follower(broken(beat_bits=UNITS, unit_bits=1))
    with pytest.raises(FaultError, match="test_aligner_formal"):
        prove(board, name=f"aligner-{broken.__name__}", mode="bmc", depth=6, timeout=120)
