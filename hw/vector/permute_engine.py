"""What the engines of the permutation unit have in common."""

from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.active_bytes import ActiveBytes
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.payloads import read_port, write_port

__all__ = ["PermuteEngine"]


class PermuteEngine(wiring.Component):
    """Executes some operations; another one starts when ``active`` has been clear for a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    active : In(1)
        Held until ``done``, as is what else comes in.
    operation : In(6); instruction : In of `vector_instruction`; masked : In(1)
    mask : In(vlen)
        v0.
    vlmax : In
        Elements of a group.
    vs2, vs1, vd : read ports; write : write port
    done : Out(1)
        In the last cycle: all writes have been taken.
    value : Out(32); flags : Out(5)
        With ``done``: a scalar result, and exceptions.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "active": In(1),
                "operation": In(6),
                "instruction": In(vector_instruction(config)),
                "masked": In(1),
                "mask": In(config.vlen),
                "vlmax": In(length),
                "vs2": Out(read_port(config)),
                "vs1": Out(read_port(config)),
                "vd": Out(read_port(config)),
                "write": Out(write_port(config)),
                "done": Out(1),
                "value": Out(32),
                "flags": Out(5),
            }
        )

    @property
    def place_bits(self) -> int:
        """Bits of a byte's number in a word."""
        return (self.config.word_bytes - 1).bit_length()

    def word_of(self, field: str, word: Value | int) -> Value:
        """Address of a word of the group that a field of the instruction names."""
        low = {"vd": 7, "vs1": 15, "vs2": 20}[field]
        return self.instruction.word[low : low + 5] * self.config.words + word

    def words_of(self, elements: Value, size: Value) -> Value:
        """Words that so many elements take."""
        return ((elements << size) + self.config.word_bytes - 1) >> self.place_bits

    def active_bytes(self, m: Module, word: Value) -> ActiveBytes:
        """Which bytes of a word of the destination are written, with its elements' width SEW."""
        m.submodules.active_bytes = part = ActiveBytes(config=self.config)
        m.d.comb += [
            part.size.eq(self.instruction.sew),
            part.word.eq(word),
            part.first.eq(self.instruction.vstart),
            part.length.eq(self.instruction.vl),
            part.masked.eq(self.masked),
            part.mask.eq(self.mask),
        ]
        return part

    def fetch(
        self, m: Module, port: Any, address: Value, *, wanted: Value | bool, release: Value
    ) -> Value:
        """Read a word once until it is released; its value is there from the result's 1 on.

        The result is 1, too, where no word is wanted.
        """
        got, wants = Signal(name=f"got_{port.valid.name}"), Signal(name=f"wants_{port.valid.name}")
        m.d.comb += [
            wants.eq(wanted),
            port.valid.eq(self.active & wants & ~got),
            port.address.eq(address),
        ]
        with m.If(~self.active | release):
            m.d.sync += got.eq(0)
        with m.Elif(port.valid & port.ready):
            m.d.sync += got.eq(1)
        return got | ~wants

    def is_any(self, *operations: int) -> Value:
        """Whether the operation is one of these."""
        return self.operation.matches(*(int(operation) for operation in operations))

    def splat(self, m: Module, value: Value, size: Value, name: str) -> Signal:
        """A number of 32 bits in all elements of a word."""
        word = Signal(self.config.word_bits, name=name)
        with m.Switch(size):
            for log_bytes in range(3):
                with m.Case(log_bytes):
                    bits = 8 << log_bytes
                    m.d.comb += word.eq(value[:bits].replicate(self.config.word_bits // bits))
        return word

    def pick(self, m: Module, word: Value, place: Value, size: Value, name: str) -> Signal:
        """The element that begins at a byte of a word, with zeros above it."""
        element = Signal(32, name=name)
        for log_bytes in range(3):
            bits = 8 << log_bytes
            with m.If(size == log_bytes):
                m.d.comb += element.eq(word.word_select(place >> log_bytes, bits))
        return element
