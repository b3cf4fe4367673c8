"""The mailbox to the host: what the program prints, and how it ends."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import HOST
from fanweave.hw.cluster.payloads import RunStatus
from fanweave.hw.cluster.register_bus import REGISTER_BUS
from fanweave.hw.stream.queue import Queue

__all__ = ["Mailbox"]

_NUMBERS = {entry.name: entry.address for entry in HOST.registers}
#: Bytes that wait for the host.
_DEPTH = 4


class Mailbox(wiring.Component):
    """Registers of `golden.isa.cluster.HOST`.

    Parameters
    ----------
    harts : int
        What the register of this name says.

    Members
    -------
    bus : In of `REGISTER_BUS`
    printed : stream out of 8 bits
        While the host takes nothing, a program that prints waits.
    status : Out of `RunStatus`
        The first end counts; the registers of a trap are open until then.
    """

    def __init__(self, *, harts: int) -> None:
        self.harts = harts
        super().__init__(
            {
                "bus": In(REGISTER_BUS),
                "printed": Out(stream.Signature(8)),
                "status": Out(RunStatus),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, status = self.bus, Signal(RunStatus)
        m.submodules.output = output = Queue(shape=8, depth=_DEPTH)
        wiring.connect(m, output.o, wiring.flipped(self.printed))
        tohost, ends = Signal(32), Signal()
        stores = Signal()
        prints = bus.number == _NUMBERS["putchar"]
        m.d.comb += [
            self.status.eq(status),
            bus.known.eq(bus.number <= max(_NUMBERS.values())),
            output.i.payload.eq(bus.data[:8]),
            output.i.valid.eq(bus.select & bus.write & prints),
            bus.ready.eq(~output.i.valid | output.i.ready),
            stores.eq(bus.select & bus.write & bus.ready),
        ]
        traps = {name: getattr(status, name) for name in ("trap_cause", "trap_pc", "trap_value")}
        with m.Switch(bus.number):
            with m.Case(_NUMBERS["tohost"]):
                m.d.comb += [bus.value.eq(tohost), ends.eq(stores & bus.data[0])]
                with m.If(stores):
                    m.d.sync += tohost.eq(bus.data)
            with m.Case(_NUMBERS["trap_code"]):
                m.d.comb += ends.eq(stores)
            with m.Case(_NUMBERS["harts"]):
                m.d.comb += bus.value.eq(self.harts)
            for name, register in traps.items():
                with m.Case(_NUMBERS[name]):
                    m.d.comb += bus.value.eq(register)
                    with m.If(stores & ~status.ended):
                        m.d.sync += register.eq(bus.data)
        by_trap = bus.number == _NUMBERS["trap_code"]
        with m.If(ends & ~status.ended):
            m.d.sync += [
                status.ended.eq(1),
                status.by_trap.eq(by_trap),
                status.hart.eq(bus.hart),
                status.code.eq(bus.data >> 1),
            ]
            with m.If(by_trap):
                m.d.sync += status.code.eq(1)
        return m
