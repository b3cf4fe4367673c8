"""An instruction on its way to the units that work on whole register groups."""

from amaranth import unsigned
from amaranth.lib import data

from fanweave.hw.vector.config import VectorConfig

__all__ = ["vector_instruction"]


def vector_instruction(config: VectorConfig) -> data.StructLayout:
    """A legal instruction with all that it takes from outside the register file.

    ``sew`` is log2 of vtype's SEW in bytes, ``lmul`` vtype's code of LMUL. ``vl`` and ``vstart``
    count elements. ``scalar`` is rs1, fs1 (a half without its box, in the low 16 bits), the
    immediate with its sign, or the unsigned immediate. ``rounding`` is ``frm`` for floating-point,
    ``vxrm`` for fixed-point operations. ``slot`` comes back when it is done.

    With ``bank`` it loads or stores ``vl`` of Ventaglio's accumulators, from word ``rs2`` of their
    bank on.
    """
    length = config.vlen.bit_length()
    return data.StructLayout(
        {
            "word": unsigned(32),
            "slot": unsigned((config.slots - 1).bit_length()),
            "sew": unsigned(2),
            "lmul": unsigned(3),
            "vl": unsigned(length),
            "vstart": unsigned(length),
            "scalar": unsigned(32),
            "rs2": unsigned(32),
            "rounding": unsigned(3),
            "bank": unsigned(1),
        }
    )
