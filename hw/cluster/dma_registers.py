"""Registers of the DMA, and the transfers that wait."""

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import DMA
from fanweave.hw.cluster.register_bus import REGISTER_BUS
from fanweave.hw.stream.queue import Queue

__all__ = ["DmaRegisters", "Transfer"]

_NUMBERS = {entry.name: entry.address for entry in DMA.registers}


class Transfer(data.Struct):
    """Rows to be copied; see `golden.isa.cluster.DMA`."""

    source: unsigned(32)
    destination: unsigned(32)
    bytes: unsigned(32)
    rows: unsigned(32)
    source_stride: unsigned(32)
    destination_stride: unsigned(32)


class DmaRegisters(wiring.Component):
    """Registers of `golden.isa.cluster.DMA`; a start waits for a free place.

    Parameters
    ----------
    transfers : int
        Places for transfers that wait.
    pending : int
        Most that may wait or run at once.

    Members
    -------
    bus : In of `REGISTER_BUS`
    transfers : stream out of `Transfer`
    finished : In(1)
        One of them is over.
    failed : In(1); address : In(32)
        One of them could not reach an address.
    pending : Out
        Those that wait or run.
    """

    def __init__(self, *, transfers: int, pending: int) -> None:
        self.depth, self.most = transfers, pending
        super().__init__(
            {
                "bus": In(REGISTER_BUS),
                "transfers": Out(stream.Signature(Transfer)),
                "finished": In(1),
                "failed": In(1),
                "address": In(32),
                "pending": Out(range(pending + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, described, error = self.bus, Signal(Transfer), Signal(32)
        m.submodules.waiting = waiting = Queue(shape=Transfer, depth=self.depth)
        wiring.connect(m, waiting.o, wiring.flipped(self.transfers))
        starts, stores = Signal(), Signal()
        room = self.pending < self.most
        m.d.comb += [
            bus.known.eq(bus.number <= max(_NUMBERS.values())),
            starts.eq(bus.select & bus.write & (bus.number == _NUMBERS["start"])),
            waiting.i.valid.eq(starts & room),
            waiting.i.payload.eq(described),
            bus.ready.eq(~starts | (waiting.i.ready & room)),
            stores.eq(bus.select & bus.write & bus.ready),
        ]
        # A failure while a program clears the register is a later one.
        with m.If(stores & (bus.number == _NUMBERS["error"])):
            m.d.sync += error.eq(0)
        with m.If(self.failed & (error == 0)):
            m.d.sync += error.eq(self.address)
        with m.Switch(bus.number):
            for name, _ in data.Layout.cast(Transfer):
                with m.Case(_NUMBERS[name]):
                    m.d.comb += bus.value.eq(described[name])
                    with m.If(stores):
                        m.d.sync += described[name].eq(bus.data)
            with m.Case(_NUMBERS["pending"]):
                m.d.comb += bus.value.eq(self.pending)
            with m.Case(_NUMBERS["error"]):
                m.d.comb += bus.value.eq(error)
        m.d.sync += self.pending.eq(self.pending + (starts & bus.ready) - self.finished)
        return m
