"""The sequences that decode together, kept so that a step costs the same for any number."""

import heapq

from fanweave.golden.timing.sequence import Sequence

__all__ = ["Lane"]


class Lane:
    """Sequences that take part in every step, one token each.

    The lane counts its steps. A sequence stores one token more a step, so stored tokens less
    the step's number is constant: its `base`. Sums, the greatest length, who ends and who needs a
    new block at a step follow from bases without touching the sequences.

    Parameters
    ----------
    block_tokens : int
        Tokens of a block of the cache.
    """

    def __init__(self, block_tokens: int) -> None:
        self.step = 0
        self.count = 0
        #: When its last scheduled step ends, picoseconds.
        self.last_end = 0
        #: Steps that are scheduled and whose tokens are not processed.
        self.in_flight = 0
        #: Requests whose prompts are in work, in the order of their admission.
        self.prefilling: list[Sequence] = []
        #: Requests that came with their cache from elsewhere and have not decoded here.
        self.joined: list[Sequence] = []
        self._block_tokens = block_tokens
        self._base_sum = 0
        self._longest: list[tuple[int, int, Sequence]] = []
        self._ends: dict[int, list[Sequence]] = {}
        # Sequences by the step, modulo the block, in which they begin a new block.
        self._needs = [0] * block_tokens

    @property
    def members(self) -> int:
        """Sequences of the lane that are not finished."""
        return self.count + len(self.prefilling)

    @property
    def context_sum(self) -> int:
        """Stored tokens of all before the next step."""
        return self._base_sum + self.count * self.step

    @property
    def context_max(self) -> int:
        """Stored tokens of the longest one before the next step; 0 without any."""
        heap = self._longest
        while heap:
            negative, _, sequence = heap[0]
            if sequence.decoding and sequence.base == -negative:
                return sequence.base + self.step
            heapq.heappop(heap)
        return 0

    @property
    def new_blocks(self) -> int:
        """Blocks that the next step needs."""
        return self._needs[self.step % self._block_tokens]

    def stored(self, sequence: Sequence) -> int:
        """Tokens that a decoding sequence has stored before the next step."""
        return sequence.base + self.step

    def add(self, sequence: Sequence, stored: int, first_step: int) -> None:
        """Let a sequence decode from a step on, with so many tokens stored before it."""
        sequence.base = stored - first_step
        sequence.last_step = first_step + sequence.goal - sequence.generated - 1
        sequence.decoding = True
        self.count += 1
        self._base_sum += sequence.base
        heapq.heappush(self._longest, (-sequence.base, sequence.index, sequence))
        self._ends.setdefault(sequence.last_step, []).append(sequence)
        self._needs[-sequence.base % self._block_tokens] += 1

    def _drop(self, sequence: Sequence) -> None:
        sequence.decoding = False
        self.count -= 1
        self._base_sum -= sequence.base
        self._needs[-sequence.base % self._block_tokens] -= 1

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out before its end; its counts are brought up to date."""
        sequence.generated = sequence.goal - (sequence.last_step - self.step + 1)
        ends = self._ends[sequence.last_step]
        ends.remove(sequence)
        if not ends:
            del self._ends[sequence.last_step]
        self._drop(sequence)

    def advance(self) -> list[Sequence]:
        """Go to the next step and return those that ended with this one."""
        ended = self._ends.pop(self.step, [])
        for sequence in ended:
            self._drop(sequence)
            sequence.generated = sequence.goal
        self.step += 1
        return ended
