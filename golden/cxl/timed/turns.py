"""Turns of an arbiter: who was served last comes last."""

from fanweave.golden.cxl.timed.compile import compiled

__all__ = ["in_turn"]


@compiled
def in_turn(last, after, count):
    """The one of so many that is this many behind the one after the last; without a division."""
    number = last + 1 + after
    return number - count if number >= count else number
