"""Floating-point and integer multiply-accumulate, pipelined, bit-exact with ``golden.fp``."""

from fanweave.hw.fp.accumulator import Accumulator
from fanweave.hw.fp.converter import AccumulatorConverter
from fanweave.hw.fp.multiplier import Multiplier
from fanweave.hw.fp.multiply_accumulate import MultiplyAccumulate
from fanweave.hw.fp.product import Product

__all__ = ["Accumulator", "AccumulatorConverter", "Multiplier", "MultiplyAccumulate", "Product"]
