"""What an atomic operation stores."""

from amaranth import Module, Mux, Signal, Value

from fanweave.golden.isa.ebpf import AtomicOperation
from fanweave.hw.ebpf.bytes import low_bytes

__all__ = ["changed"]


def changed(
    m: Module, *, operation: Value, size: Value, old: Value, source: Value, r0: Value
) -> Signal:
    """The new value of a word.

    Parameters
    ----------
    m : Module
        Gets the logic.
    operation : Value
        Immediate of the instruction, 8 bits.
    size : Value
        Size field of its opcode.
    old : Value
        What is there; the bytes behind the size are zero.
    source, r0 : Value
        Registers.
    """
    result = Signal(64, name="changed")
    with m.Switch(operation):
        for plain, value in (
            (AtomicOperation.ADD, old + source),
            (AtomicOperation.OR, old | source),
            (AtomicOperation.AND, old & source),
            (AtomicOperation.XOR, old ^ source),
        ):
            with m.Case(plain, plain | AtomicOperation.FETCH):
                m.d.comb += result.eq(value)
        with m.Case(AtomicOperation.XCHG):
            m.d.comb += result.eq(source)
        with m.Case(AtomicOperation.CMPXCHG):
            m.d.comb += result.eq(Mux(old == low_bytes(r0, size), source, old))
    return result
