"""Formal proofs of Amaranth components."""

from fanweave.sim.formal.prove import Result, prove

__all__ = ["Result", "prove"]
