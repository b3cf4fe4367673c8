"""Cycles that an idle switch adds, from a transfer into it to the transfer out of it."""

__all__ = ["ANSWER_CYCLES", "REQUEST_CYCLES"]

#: Entry register, ring, crossbar queue, output register.
REQUEST_CYCLES = 4
#: Receive queue, crossbar queue, output register.
ANSWER_CYCLES = 3
