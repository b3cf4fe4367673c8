"""Numbers of messages: those of hosts count from 0, those that switches send from far above."""

from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.state import LEGS, OWN_LEGS, Islands

__all__ = ["line_of", "new_message", "place_of"]

#: The first number of a switch's own message.
_OWN = 1 << 40


@compiled
def place_of(m):
    """Where islands keep what they know of a message."""
    return m % LEGS if m < _OWN else LEGS + m % OWN_LEGS


@compiled
def line_of(state: Islands, traffic, m):
    """The line that a message is for."""
    return traffic.line[m] if m < _OWN else state.own_line[m % OWN_LEGS]


@compiled
def new_message(state: Islands, line):
    """A message of a switch's own."""
    m = _OWN + state.clock[5]
    state.clock[5] += 1
    state.own_line[m % OWN_LEGS] = line
    return m
