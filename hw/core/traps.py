"""Exceptions that are known when an instruction begins to execute."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_csr import Cause, RoundingMode
from fanweave.hw.core.address_map import has_data, is_peripheral
from fanweave.hw.core.issue import Issued
from fanweave.hw.core.operations import AtomicOperation, SystemOperation, Unit

__all__ = ["Traps"]


class Traps(wiring.Component):
    """Combinational: whether an instruction traps before it asks any unit.

    Members
    -------
    instruction : In of `Issued`
    mode : In(3)
        Its rounding mode, not dynamic.
    csr_legal, float_off, vector_off : In(1)
        See `CsrFile`.
    address : In(32)
        Of its load or store.
    jumps : In(1); target : In(32)
        It goes to the target.
    trap : Out(1); cause : Out(4); value : Out(32)
    legal : Out(1)
        It exists, and its unit is on.
    peripheral : Out(1)
        The address is that of a peripheral, which may answer with an error.
    """

    instruction: In(Issued)
    mode: In(3)
    csr_legal: In(1)
    float_off: In(1)
    vector_off: In(1)
    address: In(32)
    jumps: In(1)
    target: In(32)
    trap: Out(1)
    cause: Out(4)
    value: Out(32)
    legal: Out(1)
    peripheral: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        controls, fetched = self.instruction.controls, self.instruction.fetched
        unit, operation = controls.unit, controls.operation
        rounds_illegally = controls.rounds & (self.mode > RoundingMode.RMM)
        m.d.comb += [
            self.legal.eq(
                controls.legal
                & ~(controls.floating & self.float_off)
                & ~(controls.vector & self.vector_off)
                & ~fetched.fault
            ),
            self.peripheral.eq(is_peripheral(self.address)),
        ]
        with m.If(fetched.fault):
            self._raise(m, Cause.FETCH_FAULT, fetched.pc)
        with m.Elif(~self.legal | rounds_illegally | ((unit == Unit.CSR) & ~self.csr_legal)):
            self._raise(m, Cause.ILLEGAL_INSTRUCTION, fetched.word)
        with m.Elif((unit == Unit.SYSTEM) & (operation == SystemOperation.ECALL)):
            self._raise(m, Cause.ECALL, 0)
        with m.Elif((unit == Unit.SYSTEM) & (operation == SystemOperation.EBREAK)):
            self._raise(m, Cause.BREAKPOINT, fetched.pc)
        with m.Elif(self.jumps & self.target[1]):
            self._raise(m, Cause.FETCH_MISALIGNED, self.target)
        with m.Elif(unit.matches(Unit.LOAD, Unit.STORE, Unit.ATOMIC)):
            self._memory(m)
        return m

    def _raise(self, m: Module, cause: Value | int, value: Value | int) -> None:
        m.d.comb += [self.trap.eq(1), self.cause.eq(cause), self.value.eq(value)]

    def _memory(self, m: Module) -> None:
        controls, address = self.instruction.controls, self.address
        size = controls.operation[:2]
        is_atomic = controls.unit == Unit.ATOMIC
        reserves = is_atomic & (controls.operation == AtomicOperation.LR)
        word = is_atomic | size[1]
        loads = (controls.unit == Unit.LOAD) | reserves
        misaligned = Signal()
        # Registers of peripherals are words.
        missing = ~has_data(address) | (self.peripheral & ~word)
        m.d.comb += misaligned.eq(Mux(word, address[:2].any(), size[0] & address[0]))
        with m.If(misaligned):
            self._raise(m, Mux(loads, Cause.LOAD_MISALIGNED, Cause.STORE_MISALIGNED), address)
        with m.Elif(missing):
            self._raise(m, Mux(loads, Cause.LOAD_FAULT, Cause.STORE_FAULT), address)
