"""What lies among the peripherals: the barrier, and the way to the registers of the others."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import BARRIER, DMA, HOST, Peripheral, peripheral_address
from fanweave.hw.cluster.grants import Grants
from fanweave.hw.cluster.register_bus import NUMBER_BITS, REGISTER_BUS
from fanweave.hw.core.address_map import is_peripheral
from fanweave.hw.core.payloads import DataRequest, DataResponse
from fanweave.hw.reduction import choose

__all__ = ["Peripherals"]


class Peripherals(wiring.Component):
    """One access a cycle, answered in the next cycle; loads of the barrier when all harts load.

    A core that loads the barrier is not served before every core does; then all of them are at
    once, so the barrier has nothing to remember. A store there does nothing.

    Parameters
    ----------
    harts : int

    Members
    -------
    requests : array of streams in of `DataRequest`; answers : array of streams out of
    `DataResponse`
        Of each core; whole words.
    mailbox, dma : Out of `REGISTER_BUS`
    """

    def __init__(self, *, harts: int) -> None:
        self.harts = harts
        super().__init__(
            {
                "requests": In(stream.Signature(DataRequest)).array(harts),
                "answers": Out(stream.Signature(DataResponse)).array(harts),
                "mailbox": Out(REGISTER_BUS),
                "dma": Out(REGISTER_BUS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        barrier = peripheral_address(BARRIER, "wait")
        arrived = Signal(self.harts)
        m.submodules.grants = grants = Grants(count=self.harts)
        request = Signal(DataRequest)
        served, known, value = Signal(), Signal(), Signal(32)
        offered = [port.payload for port in self.requests]
        m.d.comb += [
            request.eq(choose(grants.grants, [each.as_value() for each in offered])),
            # What is not there takes no lock.
            grants.locks.eq(Mux(known, Cat(each.lock for each in offered), 0)),
            grants.accept.eq(served),
        ]
        for hart, (port, answer) in enumerate(zip(self.requests, self.answers, strict=True)):
            waiting = port.valid & ~port.payload.write & (port.payload.address[2:] == barrier >> 2)
            m.d.comb += [
                arrived[hart].eq(waiting),
                grants.requests[hart].eq(port.valid & ~waiting),
                port.ready.eq(Mux(waiting, arrived.all(), grants.grants[hart] & served)),
            ]
            m.d.sync += [
                answer.valid.eq(port.valid & port.ready),
                answer.payload.data.eq(Mux(waiting, 0, value)),
                answer.payload.error.eq(~waiting & ~known),
            ]
        self._registers(m, request, grants, (served, known, value))
        return m

    def _registers(
        self, m: Module, request: Signal, grants: Grants, seen: tuple[Signal, Signal, Signal]
    ) -> None:
        """The blocks of registers; the barrier's has none but its own."""
        served, known, value = seen
        inside = is_peripheral(request.address)
        ready: Value = Const(1, 1)
        found: Value = inside & (request.address[2:] == peripheral_address(BARRIER, "wait") >> 2)
        word: Value = Const(0, 32)
        blocks: tuple[tuple[Peripheral, wiring.PureInterface], ...] = (
            (HOST, self.mailbox),
            (DMA, self.dma),
        )
        for block, bus in blocks:
            here = Signal(name=f"in_{block.name}")
            m.d.comb += [
                here.eq(inside & (request.address[8:] == block.base >> 8)),
                bus.select.eq(grants.grants.any() & here),
                # A store conditional that fails only gives its lock back.
                bus.write.eq(request.write & request.mask.any()),
                bus.number.eq(request.address[2 : 2 + NUMBER_BITS]),
                bus.data.eq(request.data),
            ]
            ready = Mux(here, bus.ready, ready)
            found = found | (here & bus.known)
            word = word | Mux(here & bus.known, bus.value, 0)
        m.d.comb += [
            served.eq(grants.grants.any() & ready),
            known.eq(found),
            value.eq(Mux(request.write, 0, word)),
        ]
        for hart in range(self.harts):
            with m.If(grants.grants[hart]):
                m.d.comb += [self.mailbox.hart.eq(hart), self.dma.hart.eq(hart)]
