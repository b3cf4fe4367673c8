"""What travels between the front and the sequencer, and from operand fetch to write back."""

from amaranth import unsigned
from amaranth.lib import data, enum

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.payloads import address_bits

__all__ = ["VectorUnitName", "beat_tag", "slot_bits", "slot_ranges", "vector_plan", "word_range"]


class VectorUnitName(enum.Enum, shape=unsigned(3)):
    """Who executes an instruction."""

    INTEGER = 0
    FLOAT = 1
    MEMORY = 2
    PERMUTE = 3
    VENTAGLIO = 4  # if there is one


def slot_bits(config: VectorConfig) -> int:
    """Bits of a slot's number."""
    return (config.slots - 1).bit_length()


def word_range(config: VectorConfig) -> data.StructLayout:
    """Words of the register file from ``first`` on, below ``end``; none if both are equal."""
    bits = address_bits(config) + 1
    return data.StructLayout({"first": unsigned(bits), "end": unsigned(bits)})


def slot_ranges(config: VectorConfig) -> data.StructLayout:
    """What an instruction reads and writes, as far as others have to wait for it.

    ``vs2`` and ``vs1`` are what it reads (a store its data as ``vs1``), ``vd`` what it writes.
    What it reads of its destination is no range of its own: who writes there waits for its
    writes. ``mask``: it reads v0. ``floats``, ``saturates``: it may set flags, or ``vxsat``.
    """
    words = word_range(config)
    return data.StructLayout(
        {
            "vd": words,
            "vs2": words,
            "vs1": words,
            "mask": unsigned(1),
            "floats": unsigned(1),
            "saturates": unsigned(1),
        }
    )


def vector_plan(config: VectorConfig) -> data.StructLayout:
    """An instruction, and how lanes walk through it.

    ``operation`` is the lanes' operation. ``reads_vs2``, ``reads_vs1``, ``reads_vd`` tell which
    operands are vectors, of elements of ``1 << size`` bytes each; a beat has as many elements as
    fit a word at ``size``, the widest. ``bits``: the destination is a mask, whose old bits are
    read. ``masked``: only elements whose bit is set in v0 are active.
    """
    return data.StructLayout(
        {
            "instruction": vector_instruction(config),
            "unit": VectorUnitName,
            "operation": unsigned(7),
            "masked": unsigned(1),
            "mask": unsigned(1),
            "bits": unsigned(1),
            "reads_vs2": unsigned(1),
            "reads_vs1": unsigned(1),
            "reads_vd": unsigned(1),
            "vs2_size": unsigned(2),
            "vs1_size": unsigned(2),
            "vd_size": unsigned(2),
            "size": unsigned(2),
        }
    )


def beat_tag(config: VectorConfig) -> data.StructLayout:
    """Where the result of a beat goes.

    ``address`` is a word of the register file, and ``place`` the beat's place in it, counted in
    beats; ``complete`` says that no later beat writes there. ``old`` has bits of a destination
    that is a mask: those of the beat's elements, or of the byte that they are in.
    """
    return data.StructLayout(
        {
            "slot": unsigned(slot_bits(config)),
            "address": unsigned(address_bits(config)),
            "place": unsigned(5),
            "complete": unsigned(1),
            "bits": unsigned(1),
            "size": unsigned(2),
            "vd_size": unsigned(2),
            "active": unsigned(config.word_bytes),
            "old": unsigned(config.word_bytes),
            "last": unsigned(1),
        }
    )
