"""Where jumps and branches led the last time."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Predictor"]

#: Confidence in a target: none, some, more.
_NONE, _SOME, _MORE = range(3)


class _Target(data.Struct):
    """A target, and the address of its jump above the bits that choose the place."""

    tag: unsigned(30)
    target: unsigned(30)


class Predictor(wiring.Component):
    """A table of targets of jumps that were taken, by address; combinational to look up.

    A branch that was taken twice must go on twice to be forgotten. What it says may be wrong:
    the pipeline checks the way behind every instruction.

    Parameters
    ----------
    places : int
        Targets that it holds, a power of two from 2.

    Members
    -------
    pc : In(32); following : Out(32)
        An instruction's address, and the likely one of the next.
    update : In(1); update_pc, update_target : In(32); taken : In(1)
        Where an instruction led: it was taken to the target, or went on behind itself.
    """

    def __init__(self, *, places: int) -> None:
        self.places = places
        super().__init__(
            {
                "pc": In(32),
                "following": Out(32),
                "update": In(1),
                "update_pc": In(32),
                "update_target": In(32),
                "taken": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.targets = targets = Memory(shape=_Target, depth=self.places, init=[])
        read, known = targets.read_port(domain="comb"), targets.read_port(domain="comb")
        write = targets.write_port()
        bits = (self.places - 1).bit_length()
        confidence = data.ArrayLayout(2, self.places)
        trust = Signal(confidence)
        place = self.update_pc[2 : 2 + bits]
        hit, update_hit = Signal(), Signal()
        m.d.comb += [
            read.addr.eq(self.pc[2 : 2 + bits]),
            known.addr.eq(place),
            hit.eq((trust[read.addr] != _NONE) & (read.data.tag == self.pc[2:])),
            self.following.eq(Mux(hit, read.data.target << 2, self.pc + 4)),
            update_hit.eq((trust[place] != _NONE) & (known.data.tag == self.update_pc[2:])),
            write.addr.eq(place),
            write.data.tag.eq(self.update_pc[2:]),
            write.data.target.eq(self.update_target[2:]),
            write.en.eq(self.update & self.taken),
        ]
        with m.If(self.update & self.taken):
            m.d.sync += trust[place].eq(Mux(update_hit, _MORE, _SOME))
        with m.Elif(self.update & update_hit):
            m.d.sync += trust[place].eq(trust[place] - 1)
        return m
