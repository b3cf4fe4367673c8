"""Holds back what needs words of a context that are still to come."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ContextWait"]


class ContextWait(wiring.Component):
    """An instruction that comes too early has no effect, and is executed again as soon as it can.

    Only the context of one thread is filled at a time, so no more than one instruction waits.

    Parameters
    ----------
    threads : int
        A power of two, 2 or more.

    Members
    -------
    filling : In(1); filled : In
        A context is filled, and of which thread; the number stays until it is filled.
    there : In(13)
        Words of it that can be read.
    executes : In(1); thread : In
        An instruction is in *execute*.
    whole : In(1)
        It needs all words.
    touches : In(1); behind : In(16)
        It needs those before this byte.
    waits : Out(1)
        It has to wait.
    wakes : Out(1)
        The instruction of the thread `filled` that had to wait can be executed again.
    """

    def __init__(self, *, threads: int) -> None:
        thread = range(threads)
        super().__init__(
            {
                "filling": In(1),
                "filled": In(thread),
                "there": In(13),
                "executes": In(1),
                "thread": In(thread),
                "whole": In(1),
                "touches": In(1),
                "behind": In(16),
                "waits": Out(1),
                "wakes": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waiting, whole, behind = Signal(), Signal(), Signal(16)
        there = Cat(Const(0, 3), self.there)  # bytes
        m.d.comb += [
            self.waits.eq(
                self.executes
                & self.filling
                & (self.thread == self.filled)
                & (self.whole | (self.touches & (self.behind > there)))
            ),
            self.wakes.eq(waiting & (~self.filling | (~whole & (behind <= there)))),
        ]
        with m.If(self.waits):
            m.d.sync += [waiting.eq(1), whole.eq(self.whole), behind.eq(self.behind)]
        with m.Elif(self.wakes):
            m.d.sync += waiting.eq(0)
        return m
