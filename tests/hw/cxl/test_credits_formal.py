"""Sender and receiver with credits: no message finds the receiver full, no credit is lost.

The receiver is a queue over a memory, so the proof is for every behaviour over many cycles.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.cxl.credits import CreditReceiver, CreditSender
from fanweave.sim.formal import prove

CREDITS = 2


class Link(wiring.Component):
    """A sender and a receiver, an arbitrary source and an arbitrary sink."""

    valid: In(1)
    payload: In(1)
    ready: In(1)

    def __init__(self, sender):
        self.sender = sender
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self.sender
        m.submodules.receiver = receiver = CreditReceiver(shape=1, credits=CREDITS)
        wiring.connect(m, sender.o, receiver.i)
        m.d.comb += [
            sender.i.valid.eq(self.valid),
            sender.i.payload.eq(self.payload),
            sender.credit.eq(receiver.credit),
            sender.timeout.eq(2**24 - 1),
            receiver.o.ready.eq(self.ready),
        ]
        # Messages inside the receiver, as its two sides show them.
        inside = Signal(range(CREDITS + 2))
        m.d.sync += inside.eq(
            inside + (receiver.i.valid & receiver.i.ready) - (receiver.o.valid & receiver.o.ready)
        )
        m.d.comb += [
            Assert(sender.count + receiver.credit + inside == CREDITS),
            Assert(~sender.overflow),
        ]
        with m.If(receiver.i.valid):
            m.d.comb += Assert(receiver.i.ready)
        return m


def test_a_link_is_proved():
    link = Link(CreditSender(shape=1, credits=CREDITS))
    prove(link, name="cxl-credits", mode="bmc", depth=8, timeout=100)


class Generous(CreditSender):
    """Takes one credit more than there are."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.o.valid.eq(self.i.valid)
        return m


def test_a_broken_sender_is_found():
    link = Link(Generous(shape=1, credits=CREDITS))
    with pytest.raises(FaultError):
        prove(link, name="cxl-credits-broken", mode="bmc", depth=8, timeout=100)
