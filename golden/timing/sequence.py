"""State of one request at a replica."""

from dataclasses import dataclass, field

from fanweave.golden.timing.requests import Request

__all__ = ["Sequence"]


@dataclass(kw_only=True, slots=True, eq=False)
class Sequence:
    """A request on its way through a replica.

    Attributes
    ----------
    index : int
        Its place in the trace.
    request : Request
        What it is.
    prompt : int
        Tokens to compute before it generates: its input, and after a preemption also what it
        had generated.
    computed : int
        Tokens of the prompt that are computed or were found in the cache.
    generated : int
        Tokens whose steps are scheduled.
    goal : int
        Tokens that it generates at this replica, earlier ones included.
    shared : list of int
        Hashes of the units that it holds.
    private : int
        Blocks of its own; while it decodes, `base` says how many (see `Lane`).
    lane : int
        Its lane; -1 if it has none.
    base : int
        Stored tokens less the number of the lane's step, constant while it decodes.
    last_step : int
        Number of its last step in the lane, while it decodes.
    decoding : bool
        Whether it takes part in every step of its lane.
    last_token : int
        When its last token came, picoseconds; -1 before the first one.
    preempted : bool
        Whether it lost its memory and computes everything here again.
    """

    index: int
    request: Request
    prompt: int
    goal: int
    computed: int = 0
    generated: int = 0
    shared: list[int] = field(default_factory=list)
    private: int = 0
    lane: int = -1
    base: int = 0
    last_step: int = -1
    decoding: bool = False
    last_token: int = -1
    preempted: bool = False

    @property
    def finished(self) -> bool:
        """Whether all its steps are scheduled."""
        return self.generated == self.goal

    @property
    def remaining(self) -> int:
        """Tokens that its steps have yet to compute, while it does not decode."""
        # The step that ends the prompt gives a token as well.
        last = 1 if self.computed < self.prompt else 0
        return self.prompt - self.computed + self.goal - self.generated - last
