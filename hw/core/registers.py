"""Registers of integers or of floating-point numbers, and which of them wait for a result."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["RegisterFile", "Scoreboard"]


class RegisterFile(wiring.Component):
    """32 registers of 32 bits, read combinationally and written at the clock's edge.

    What is written in a cycle is read in it already: reads see the new value.

    Parameters
    ----------
    reads, writes : int
        Ports. Two writes of one register in a cycle are not allowed.
    zero : bool
        Register 0 is zero.

    Members
    -------
    read_register : array of In(5); read_value : array of Out(32)
    write_enable : array of In(1); write_register : array of In(5); write_value : array of In(32)
    """

    def __init__(self, *, reads: int, writes: int, zero: bool) -> None:
        self.zero = zero
        super().__init__(
            {
                "read_register": In(5).array(reads),
                "read_value": Out(32).array(reads),
                "write_enable": In(1).array(writes),
                "write_register": In(5).array(writes),
                "write_value": In(32).array(writes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=32, depth=32, init=[])
        writes = list(zip(self.write_enable, self.write_register, self.write_value, strict=True))
        for enable, register, value in writes:
            port = storage.write_port()
            m.d.comb += [port.en.eq(enable), port.addr.eq(register), port.data.eq(value)]
        for register, value in zip(self.read_register, self.read_value, strict=True):
            port = storage.read_port(domain="comb")
            m.d.comb += [port.addr.eq(register), value.eq(port.data)]
            for enable, written, new in writes:
                with m.If(enable & (written == register)):
                    m.d.comb += value.eq(new)
            if self.zero:
                with m.If(register == 0):
                    m.d.comb += value.eq(0)
        return m


class Scoreboard(wiring.Component):
    """A bit for each register that waits for a result.

    Parameters
    ----------
    asks : int
        Registers that can be asked about at once.

    Members
    -------
    set_enable : In(1); set_register : In(5); set_load : In(1)
        A result is on its way; from memory, if ``set_load``.
    clear_enable : In(1); clear_register : In(5)
        It is written in this cycle.
    register : array of In(5); pending : array of Out(1); loading : array of Out(1)
        Whether a register still waits after this cycle's write, and whether for memory;
        combinational.
    """

    def __init__(self, *, asks: int) -> None:
        super().__init__(
            {
                "set_enable": In(1),
                "set_register": In(5),
                "set_load": In(1),
                "clear_enable": In(1),
                "clear_register": In(5),
                "register": In(5).array(asks),
                "pending": Out(1).array(asks),
                "loading": Out(1).array(asks),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, left, loads = Signal(32), Signal(32), Signal(32)
        m.d.comb += left.eq(bits)
        with m.If(self.clear_enable):
            m.d.comb += left.bit_select(self.clear_register, 1).eq(0)
        m.d.sync += bits.eq(left)
        with m.If(self.set_enable):
            m.d.sync += [
                bits.bit_select(self.set_register, 1).eq(1),
                loads.bit_select(self.set_register, 1).eq(self.set_load),
            ]
        for register, pending, loading in zip(
            self.register, self.pending, self.loading, strict=True
        ):
            m.d.comb += [
                pending.eq(left.bit_select(register, 1)),
                loading.eq(pending & loads.bit_select(register, 1)),
            ]
        return m
