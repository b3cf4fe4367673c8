"""Atomic instructions: a load that locks the word, and a store that unlocks it."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.operations import AtomicOperation
from fanweave.hw.core.payloads import Access

__all__ = ["Atomic"]

_O = AtomicOperation


class Atomic(wiring.Component):
    """Executes one instruction while it waits in the pipeline.

    A reservation is an address and what stood there; a store conditional succeeds if that still
    stands there. Whoever answers a locked load with an error must unlock the word by itself.

    Members
    -------
    active : In(1)
        Such an instruction is there; it stays until ``done``.
    operation : In(4); address, operand : In(32)
    forget : In(1)
        Drop the reservation: a trap, or a return from one.
    accesses : stream out of `Access`
    response, error : In(1); word : In(32)
        Answers to the accesses, which are held.
    done, failed : Out(1)
        It completes, or with ``failed`` faults, in this cycle.
    result : Out(32)
    """

    active: In(1)
    operation: In(4)
    address: In(32)
    operand: In(32)
    forget: In(1)
    accesses: Out(stream.Signature(Access))
    response: In(1)
    error: In(1)
    word: In(32)
    done: Out(1)
    failed: Out(1)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._old, self._new = Signal(32, name="old"), Signal(32, name="new")
        self._keeps = Signal(name="keeps")  # a store conditional that fails
        self._reserved = Signal(name="reserved")
        self._reserved_address = Signal(32, name="reserved_address")
        self._reserved_word = Signal(32, name="reserved_word")
        access = self.accesses.payload
        is_load, is_conditional = self.operation == _O.LR, self.operation == _O.SC
        m.d.comb += [
            access.address.eq(self.address),
            access.size.eq(2),
            access.held.eq(1),
            access.silent.eq(1),
            self.failed.eq(self.done & self.error),
        ]
        with m.FSM(name="atomic"):
            with m.State("IDLE"):
                m.d.comb += [
                    self.accesses.valid.eq(self.active),
                    access.lock.eq(~is_load),
                ]
                with m.If(self.active & self.accesses.ready):
                    m.next = "LOAD"
            with m.State("LOAD"), m.If(self.response):
                self._loaded(m, is_load, is_conditional)
            with m.State("STORE"):
                m.d.comb += [
                    self.accesses.valid.eq(1),
                    access.write.eq(1),
                    access.empty.eq(self._keeps),
                    access.data.eq(self._new),
                ]
                with m.If(self.accesses.ready):
                    m.next = "WAIT"
            with m.State("WAIT"), m.If(self.response):
                m.d.comb += [
                    self.done.eq(1),
                    self.result.eq(Mux(is_conditional, self._keeps, self._old)),
                ]
                m.d.sync += self._reserved.eq(0)
                m.next = "IDLE"
        with m.If(self.forget):
            m.d.sync += self._reserved.eq(0)
        return m

    def _loaded(self, m: Module, is_load: Value, is_conditional: Value) -> None:
        """The word is there."""
        with m.If(self.error | is_load):
            m.d.comb += [self.done.eq(1), self.result.eq(self.word)]
            m.d.sync += [
                self._reserved.eq(is_load & ~self.error),
                self._reserved_address.eq(self.address),
                self._reserved_word.eq(self.word),
            ]
            m.next = "IDLE"
        with m.Else():
            matches = (
                self._reserved
                & (self._reserved_address == self.address)
                & (self._reserved_word == self.word)
            )
            m.d.sync += [
                self._old.eq(self.word),
                self._new.eq(self._updated()),
                self._keeps.eq(is_conditional & ~matches),
            ]
            m.next = "STORE"

    def _updated(self) -> Value:
        """The word's new value."""
        old, new = self.word, self.operand
        less = old.as_signed() < new.as_signed()
        below = old < new
        value: Value = new  # swaps and store conditionals
        for operation, result in (
            (_O.AMOADD, (old + new)[:32]),
            (_O.AMOXOR, old ^ new),
            (_O.AMOAND, old & new),
            (_O.AMOOR, old | new),
            (_O.AMOMIN, Mux(less, old, new)),
            (_O.AMOMAX, Mux(less, new, old)),
            (_O.AMOMINU, Mux(below, old, new)),
            (_O.AMOMAXU, Mux(below, new, old)),
        ):
            value = Mux(self.operation == operation, result, value)
        return value
