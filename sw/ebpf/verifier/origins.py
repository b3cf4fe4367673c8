"""Which parts of a state mattered for what followed, so that the other parts need not be compared.

A path keeps its state now and then. Each register and each 8 bytes of the stack of a kept state
have an `Origin`. When a later instruction on the path reads the register, the origin is marked;
when a decision hangs on the number that it held, it is marked as one whose number counts. A state
that comes by afterwards needs to be alike only in what is marked.
"""

__all__ = ["Origin", "mark_counting", "mark_read", "union"]

#: Origins of which a number was made.
Sources = tuple["Origin", ...]


class Origin:
    """A register or a piece of the stack in a kept state.

    Attributes
    ----------
    read : bool
        Whether it was read before it was written.
    counts : bool
        Whether a decision hung on its number.
    """

    __slots__ = ("counts", "previous", "read", "sources")

    def __init__(self, previous: "Origin | None", sources: Sources) -> None:
        self.read = False
        self.counts = False
        # What is marked already needs no further marking.
        self.previous = None if previous is None or previous.read else previous
        self.sources = tuple(source for source in sources if not source.counts)


def mark_read(origin: Origin | None) -> None:
    """Mark an origin, and those of the same place in the states before."""
    while origin is not None and not origin.read:
        origin.read = True
        following = origin.previous
        origin.previous = None
        origin = following


def mark_counting(sources: Sources) -> None:
    """Mark origins whose numbers count, and those that these were made of."""
    waiting = list(sources)
    while waiting:
        origin = waiting.pop()
        if not origin.counts:
            origin.counts = True
            waiting += origin.sources
            origin.sources = ()


def union(a: Sources, b: Sources) -> Sources:
    """Origins of either."""
    if not a or a == b:
        return b
    return tuple(dict.fromkeys(a + b)) if b else a
