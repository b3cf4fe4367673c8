"""Loads and stores: lanes of words, and the accesses that wait for their response."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.payloads import Access, DataRequest, DataResponse, Loaded
from fanweave.hw.stream.queue import Queue

__all__ = ["LoadStore"]


class _Waiting(data.Struct):
    """An access whose response is still to come."""

    loads: unsigned(1)
    stores: unsigned(1)
    held: unsigned(1)
    size: unsigned(2)
    extends_zero: unsigned(1)
    floating: unsigned(1)
    register: unsigned(5)
    offset: unsigned(2)


class LoadStore(wiring.Component):
    """Passes accesses on in order, and gives what was loaded in the cycle of its response.

    Parameters
    ----------
    accesses : int
        Accesses that may wait for a response.

    Members
    -------
    i : stream in of `Access`
    requests : stream out of `DataRequest`; responses : stream in of `DataResponse`, always ready
        A response comes a cycle after its request at the earliest.
    loaded : Out of `Loaded`; loaded_valid : Out(1)
        Never waits. Without effect if the response is an error.
    held_done, held_error : Out(1); held_data : Out(32)
        The response to an access that its instruction waits for, and the word.
    idle, stores_idle : Out(1)
        No access, no store, waits for a response.
    """

    def __init__(self, *, accesses: int) -> None:
        self.accesses = accesses
        super().__init__(
            {
                "i": In(stream.Signature(Access)),
                "requests": Out(stream.Signature(DataRequest)),
                "responses": In(stream.Signature(DataResponse)),
                "loaded": Out(Loaded),
                "loaded_valid": Out(1),
                "held_done": Out(1),
                "held_error": Out(1),
                "held_data": Out(32),
                "idle": Out(1),
                "stores_idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # At depth 1 a queue transfers every second cycle only.
        m.submodules.waiting = waiting = Queue(shape=_Waiting, depth=self.accesses)
        access, request = self.i.payload, self.requests.payload
        offset = access.address[:2]
        taken, answered = Signal(), Signal()
        entry = waiting.i.payload
        m.d.comb += [
            self.requests.valid.eq(self.i.valid & waiting.i.ready),
            self.i.ready.eq(self.requests.ready & waiting.i.ready),
            taken.eq(self.i.valid & self.i.ready),
            request.address.eq(access.address),
            request.write.eq(access.write),
            request.lock.eq(access.lock),
            request.mask.eq(Mux(access.empty | ~access.write, 0, _lanes(access.size, offset))),
            request.data.eq(access.data << Cat(Const(0, 3), offset)),
            waiting.i.valid.eq(taken),
            entry.loads.eq(~access.write & ~access.silent),
            entry.stores.eq(access.write),
            entry.held.eq(access.held),
            entry.size.eq(access.size),
            entry.extends_zero.eq(access.extends_zero),
            entry.floating.eq(access.floating),
            entry.register.eq(access.register),
            entry.offset.eq(offset),
            self.responses.ready.eq(1),
            answered.eq(self.responses.valid),
            waiting.o.ready.eq(answered),
        ]
        self._answer(m, waiting.o.payload)
        stores = Signal(range(self.accesses + 1))
        m.d.sync += stores.eq(
            stores + (taken & access.write) - (answered & waiting.o.payload.stores)
        )
        m.d.comb += [self.idle.eq(waiting.level == 0), self.stores_idle.eq(stores == 0)]
        return m

    def _answer(self, m: Module, entry: data.View) -> None:
        """What a response means for the access that has waited longest."""
        response = self.responses.payload
        moved = Signal(32)
        sign = Signal()
        m.d.comb += [
            moved.eq(response.data >> Cat(Const(0, 3), entry.offset)),
            sign.eq(
                Mux(
                    entry.floating,
                    1,  # narrow numbers are boxed
                    ~entry.extends_zero & Mux(entry.size[0], moved[15], moved[7]),
                )
            ),
            self.loaded.floating.eq(entry.floating),
            self.loaded.register.eq(entry.register),
            self.loaded.value.eq(
                Mux(
                    entry.size[1],
                    moved,
                    Cat(
                        moved[:8],
                        Mux(entry.size[0], moved[8:16], sign.replicate(8)),
                        sign.replicate(16),
                    ),
                )
            ),
            self.loaded_valid.eq(
                self.responses.valid
                & entry.loads
                & ~response.error
                & (entry.floating | (entry.register != 0))
            ),
            self.held_done.eq(self.responses.valid & entry.held),
            self.held_error.eq(response.error),
            self.held_data.eq(response.data),
        ]


def _lanes(size: Value, offset: Value) -> Value:
    """Bytes of a word that an aligned access of 1, 2 or 4 bytes stores."""
    return Mux(size[1], 0b1111, Mux(size[0], 0b0011, 0b0001) << offset)
