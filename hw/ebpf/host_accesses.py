"""A host's loads from values of maps, and stores to them."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf import Size
from fanweave.golden.isa.ebpf_machine import Region
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Access, AccessResult
from fanweave.hw.ebpf.payloads import Cause

__all__ = ["HostAccesses"]

_MAP_BITS = 8
_WORD_BYTES = 8


class HostAccesses(wiring.Component):
    """One access after the other, of 1 to 8 bytes.

    A load is one access to the map unit, which checks all its bytes. So is the first part of a
    store; the rest follows in parts of 4, 2 and 1 bytes, of which none can fail, because the first
    one was checked for all.

    Members
    -------
    start : In(1); address : In(32); size : In(4); stores : In(1); data : In(64)
        Begin; only if `legal` and not `busy`. Address and data must hold still until the end.
    legal : Out(1)
        There can be such an access; of address and size, combinational.
    busy : Out(1)
    result : Out(64); cause : Out(Cause)
        Of the last one, once it is not busy. A store leaves the result as it is.
    accesses : stream out of `Access`
        All are ``in_record``, because a host may read every record.
    access_results : stream in of `AccessResult`
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "address": In(32),
                "size": In(4),
                "stores": In(1),
                "data": In(64),
                "legal": Out(1),
                "busy": Out(1),
                "result": Out(64),
                "cause": Out(Cause),
                "accesses": Out(stream.Signature(Access)),
                "access_results": In(stream.Signature(AccessResult)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stores = Signal()
        left = Signal(4)  # bytes that have not been accessed
        done = Signal(4)
        region = PLACE_BITS + _MAP_BITS
        place = self.address[:PLACE_BITS]
        access, answer = self.accesses.payload, self.access_results
        part, code = _part(left)
        m.d.comb += [
            self.legal.eq(
                (self.size != 0)
                & (self.size <= _WORD_BYTES)
                & (self.address[region:] == Region.MAP_VALUES >> region)
            ),
            access.map.eq(self.address[PLACE_BITS:region]),
            access.place.eq(place + done),
            access.span.eq(left),
            access.in_record.eq(1),
            access.stores.eq(stores),
            access.loads.eq(~stores),
            access.size.eq(Mux(stores, code, Size.DW)),
            access.source.eq((self.data >> (done << 3))[:64]),
        ]
        with m.FSM(name="accesses"):
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [stores.eq(self.stores), left.eq(self.size), done.eq(0)]
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += [self.accesses.valid.eq(1), self.busy.eq(1)]
                with m.If(self.accesses.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += [answer.ready.eq(1), self.busy.eq(1)]
                with m.If(answer.valid):
                    m.d.sync += [
                        left.eq(left - part),
                        done.eq(done + part),
                        self.cause.eq(answer.payload.cause),
                    ]
                    failed = answer.payload.cause != Cause.NONE
                    with m.If(stores & ~failed & (left != part)):
                        m.next = "OFFER"
                    with m.Else():
                        m.next = "IDLE"
                    with m.If(~stores):
                        kept = Cat((left > byte).replicate(8) for byte in range(_WORD_BYTES))
                        m.d.sync += self.result.eq(Mux(failed, 0, answer.payload.value & kept))
        return m


def _part(left: Value) -> tuple[Value, Value]:
    """Largest power of two that is not more, and its code in an access."""
    part: Value = Value.cast(1)
    code: Value = Value.cast(Size.B)
    for size in (Size.H, Size.W, Size.DW):
        fits = left >= size.bytes
        part, code = Mux(fits, size.bytes, part), Mux(fits, size, code)
    return part, code
