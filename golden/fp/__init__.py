"""Bit-exact number formats and multiply-accumulate in numpy."""

from fanweave.golden.fp.arithmetic import accumulate_product, multiply, multiply_accumulate
from fanweave.golden.fp.conversion import convert_accumulator, decode, encode

__all__ = [
    "accumulate_product",
    "convert_accumulator",
    "decode",
    "encode",
    "multiply",
    "multiply_accumulate",
]
