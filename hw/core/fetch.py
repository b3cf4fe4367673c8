"""Fetches instructions ahead of the pipeline."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.address_map import can_fetch
from fanweave.hw.core.payloads import Fetched
from fanweave.hw.core.predictor import Predictor

__all__ = ["Fetch"]

#: Instructions that are asked for or wait.
_SLOTS = 4


class Fetch(wiring.Component):
    """Asks for the likely next instructions, and gives them in order.

    A place is taken before an instruction is asked for, so responses never wait. An instruction
    goes on in the cycle of its response. A redirection empties the places; responses to what was
    asked before are dropped. A request that is shown when a redirection comes stays until it is
    taken.

    Parameters
    ----------
    predicted_jumps : int
        See `Predictor`.

    Members
    -------
    run : In(1); boot : In(32)
        The first cycle with ``run`` begins at ``boot``.
    requests : stream out of 32 bits; responses : stream in of 32 bits, always ready
        Addresses, and instructions in their order, at the earliest a cycle later.
    redirect : In(1); target : In(32)
        Go on at the target from the next cycle.
    instructions : stream out of `Fetched`
        Changes at a redirection even if it waits.
    update, update_pc, update_target, taken
        See `Predictor`.
    """

    def __init__(self, *, predicted_jumps: int) -> None:
        self.predicted_jumps = predicted_jumps
        super().__init__(
            {
                "run": In(1),
                "boot": In(32),
                "requests": Out(stream.Signature(32)),
                "responses": In(stream.Signature(32)),
                "redirect": In(1),
                "target": In(32),
                "instructions": Out(stream.Signature(Fetched)),
                "update": In(1),
                "update_pc": In(32),
                "update_target": In(32),
                "taken": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._running, self._pc = Signal(name="running"), Signal(32, name="next_pc")
        # The request that is shown belongs to a way that was left; go on at `resume`.
        self._stale, self._resume = Signal(name="stale"), Signal(32, name="resume")
        self._asked = Signal(name="asked")  # a request is taken
        self._in_flight = Signal(range(_SLOTS + 1), name="in_flight")
        self._dropping = Signal(range(_SLOTS + 1), name="dropping")
        self._following = self._predict(m)
        self._places(m)
        self._advance(m)
        return m

    def _predict(self, m: Module) -> Signal:
        m.submodules.predictor = predictor = Predictor(places=self.predicted_jumps)
        m.d.comb += [
            predictor.pc.eq(self._pc),
            predictor.update.eq(self.update),
            predictor.update_pc.eq(self.update_pc),
            predictor.update_target.eq(self.update_target),
            predictor.taken.eq(self.taken),
        ]
        return predictor.following

    def _places(self, m: Module) -> None:
        """A ring of places: taken at `tail`, filled at `fill`, given at `head`."""
        entries = Signal(data.ArrayLayout(Fetched, _SLOTS))
        tail, fill, head = (Signal(range(_SLOTS), name=name) for name in ("tail", "fill", "head"))
        used, filled = Signal(range(_SLOTS + 1)), Signal(range(_SLOTS + 1))
        arrives, gives, faults = Signal(), Signal(), Signal()
        fetchable = can_fetch(self._pc)
        out = self.instructions
        # A request for the way that was left needs no place.
        free = self._stale | (used != _SLOTS)
        m.d.comb += [
            self.requests.payload.eq(self._pc),
            self.requests.valid.eq(self._running & fetchable & free & (self._in_flight != _SLOTS)),
            self._asked.eq(self.requests.valid & self.requests.ready),
            # An address without instructions waits until all before have come.
            faults.eq(self._running & ~fetchable & free & (self._in_flight == 0) & ~self._stale),
            arrives.eq(self.responses.valid & (self._dropping == 0)),
            self.responses.ready.eq(1),
            out.valid.eq((filled != 0) | arrives),
            out.payload.eq(entries[head]),
            gives.eq(out.valid & out.ready),
        ]
        with m.If(filled == 0):
            m.d.comb += out.payload.word.eq(self.responses.payload)
        takes = (self._asked & ~self._stale) | faults
        with m.If(takes):
            m.d.sync += [
                entries[tail].pc.eq(self._pc),
                entries[tail].following.eq(self._following),
                entries[tail].fault.eq(faults),
            ]
        with m.If(arrives):
            m.d.sync += entries[fill].word.eq(self.responses.payload)
        with m.If(self.redirect):
            m.d.sync += Cat(tail, fill, head, used, filled).eq(0)
        with m.Else():
            m.d.sync += [
                tail.eq(tail + takes),
                fill.eq(fill + (arrives | faults)),
                head.eq(head + gives),
                used.eq(used + takes - gives),
                filled.eq(filled + (arrives | faults) - gives),
            ]

    def _advance(self, m: Module) -> None:
        """The next address, and the responses that nobody wants."""
        in_flight = Signal(range(_SLOTS + 1))
        arrived = self.responses.valid
        m.d.comb += in_flight.eq(self._in_flight + self._asked - arrived)
        m.d.sync += self._in_flight.eq(in_flight)
        with m.If(arrived & (self._dropping != 0)):
            m.d.sync += self._dropping.eq(self._dropping - 1 + (self._asked & self._stale))
        with m.Elif(self._asked & self._stale):
            m.d.sync += self._dropping.eq(self._dropping + 1)
        waits = self.requests.valid & ~self.requests.ready
        with m.If(~self._running):
            m.d.sync += [self._running.eq(self.run), self._pc.eq(self.boot)]
        with m.Elif(self.redirect):
            m.d.sync += [
                self._dropping.eq(in_flight),
                self._stale.eq(waits),
                self._resume.eq(self.target),
            ]
            with m.If(~waits):
                m.d.sync += self._pc.eq(self.target)
        with m.Elif(self._stale), m.If(self._asked):
            m.d.sync += [self._stale.eq(0), self._pc.eq(self._resume)]
        with m.Elif(self._asked):
            m.d.sync += self._pc.eq(self._following)
