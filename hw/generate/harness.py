"""Gives a unit two pins, so that place and route can time it whatever ports it has."""

from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ScanHarness"]


class ScanHarness(wiring.Component):
    """A unit between two chains of registers.

    Its inputs come from a shift register and its outputs go into a signature register, so all of
    its logic stays, each path of it begins and ends at a register, and no device lacks pins. The
    unit is the submodule ``unit``.

    Parameters
    ----------
    unit : wiring.Component
        The unit, in the domain ``sync``.

    Attributes
    ----------
    scan_in : Signal, in
        Next bit of the inputs.
    scan_out : Signal, out
        A bit of the signature.
    """

    scan_in: In(1)
    scan_out: Out(1)

    def __init__(self, *, unit: Any) -> None:
        self._unit = unit
        super().__init__()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit
        inputs: list[Any] = []
        outputs: list[Any] = []
        for _, member, value in unit.signature.flatten(unit):
            (inputs if member.flow is In else outputs).append(Cat(value))
        given, taken = Cat(inputs), Cat(outputs)
        drive, signature = Signal(len(given)), Signal(max(len(taken), 1))
        m.d.sync += [
            drive.eq(Cat(self.scan_in, drive)),
            signature.eq(Cat(signature[-1], signature) ^ taken),
        ]
        m.d.comb += [given.eq(drive), self.scan_out.eq(signature[-1])]
        return m
