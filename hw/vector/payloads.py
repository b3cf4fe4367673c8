"""What travels inside the vector unit."""

from amaranth import unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, Signature

from fanweave.hw.vector.config import VectorConfig

__all__ = [
    "address_bits",
    "operand_beat",
    "read_port",
    "result_beat",
    "write_port",
]


def operand_beat(config: VectorConfig) -> data.StructLayout:
    """Elements that the lanes work on in one cycle, each operand from its bit 0 on.

    Element k of an operand stands at bits ``k * EEW`` of it, whatever its place in the register
    was: a beat has as many elements as fit a word at the widest EEW of the instruction's operands
    and result. A scalar operand stands in ``vs1`` as many times as there are elements.

    ``operation`` is the operation's number in its unit's table; ``sew`` is log2 of vtype's SEW in
    bytes. ``active`` has a bit an element: not before ``vstart``, not behind ``vl``, not masked
    off. ``carry`` has the bits of v0 of the elements. ``rounding`` is ``frm`` for floating-point,
    ``vxrm`` for fixed-point operations. ``last`` marks the last beat of an instruction, and
    ``slot`` comes back with the result.
    """
    return data.StructLayout(
        {
            "operation": unsigned(7),
            "sew": unsigned(2),
            "vs2": unsigned(config.word_bits),
            "vs1": unsigned(config.word_bits),
            "vd": unsigned(config.word_bits),
            "active": unsigned(config.word_bytes),
            "carry": unsigned(config.word_bytes),
            "rounding": unsigned(3),
            "last": unsigned(1),
            "slot": unsigned((config.slots - 1).bit_length()),
        }
    )


def result_beat(config: VectorConfig) -> data.StructLayout:
    """What the lanes made of an operand beat, in the order of operand beats.

    ``value`` has element k at bits ``k * EEW`` of the destination; elements that are not active
    mean nothing. ``bits`` has a bit an element where the destination is a mask. ``saturated`` and
    ``flags`` (`Flag`) speak of active elements only.
    """
    return data.StructLayout(
        {
            "value": unsigned(config.word_bits),
            "bits": unsigned(config.word_bytes),
            "saturated": unsigned(1),
            "flags": unsigned(5),
            "last": unsigned(1),
            "slot": unsigned((config.slots - 1).bit_length()),
        }
    )


def address_bits(config: VectorConfig) -> int:
    """Bits of a word's address in the register file."""
    return 5 + (config.words - 1).bit_length()


def read_port(config: VectorConfig) -> Signature:
    """Reads of the register file, from the reader's side.

    A word is ``register * words + place``. The answer to an address comes in the cycle after its
    transfer, and is held until the next transfer.
    """
    return Signature(
        {
            "valid": Out(1),
            "ready": In(1),
            "address": Out(address_bits(config)),
            "value": In(config.word_bits),
        }
    )


def write_port(config: VectorConfig) -> Signature:
    """Writes of bytes of a word of the register file, from the writer's side."""
    return Signature(
        {
            "valid": Out(1),
            "ready": In(1),
            "address": Out(address_bits(config)),
            "value": Out(config.word_bits),
            "enable": Out(config.word_bytes),
        }
    )
