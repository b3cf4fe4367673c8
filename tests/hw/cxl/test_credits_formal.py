"""Sender and receiver with credits: no message finds the receiver full, no credit is lost.

Proved for ever, by induction; source and sink do what they like.
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


class Receiver(CreditReceiver):
    """Shows what it holds."""

    def __init__(self, **settings):
        self.level = Signal(range(CREDITS + 1))
        super().__init__(**settings)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.level.eq(m.submodules.queue.level)
        return m


class Link(wiring.Component):
    """A sender and a receiver, an arbitrary source and an arbitrary sink."""

    valid: In(1)
    payload: In(1)
    ready: In(1)

    def __init__(self, sender):
        self.sender = sender
        self.receiver = Receiver(shape=1, credits=CREDITS)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self.sender
        m.submodules.receiver = receiver = self.receiver
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
            Assert(inside == receiver.level),
            Assert(~sender.overflow),
        ]
        with m.If(receiver.i.valid):
            m.d.comb += Assert(receiver.i.ready)
        return m


def test_a_link_is_proved_for_ever():
    link = Link(CreditSender(shape=1, credits=CREDITS))
    prove(link, name="cxl-credits", depth=4, timeout=100)


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
