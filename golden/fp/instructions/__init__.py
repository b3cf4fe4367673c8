"""Floating-point instructions, bit-exact with all rounding modes and exception flags, compiled.

FP32 and FP16 operands are exact in binary64. A result that binary64 cannot hold exactly is
first rounded to it *to odd*; rounding that to the target, which has at most 24 bits, gives what
one rounding of the exact result would (see `fanweave.golden.fp.arithmetic`). What an operation
lost is found exactly: by Knuth's TwoSum for sums, by Veltkamp's and Dekker's product for
quotients and square roots.

Values of operands and results are bits, low-aligned; FP16 scalars are not boxed here.
"""
