"""Paged memory of keys and values, with blocks that are shared by equal prefixes."""

from collections import OrderedDict
from collections.abc import Sequence

from fanweave.golden.errors import FaultError, InputError

__all__ = ["KvMemory"]


class KvMemory:
    """Blocks of a cache, by count: which block it is makes no difference.

    A block is free, private to one request, or part of a unit. A unit holds the blocks of one
    block of prefix hashes. Any number of requests share it; with none it stays until its place
    is needed, the longest unused first.

    Parameters
    ----------
    blocks : int
        Blocks altogether.
    block_tokens : int
        Tokens of a block.
    unit_tokens : int
        Tokens of a prefix hash, a multiple of `block_tokens`; 0 without prefix caching.

    Raises
    ------
    InputError
        If a size does not fit.
    """

    def __init__(self, blocks: int, block_tokens: int, unit_tokens: int = 0) -> None:
        if blocks < 1 or block_tokens < 1:
            raise InputError(
                f"KV memory: {blocks} blocks of {block_tokens} tokens; both must be at least 1"
            )
        if unit_tokens % block_tokens:
            raise InputError(
                f"KV memory: prefix hashes of {unit_tokens} tokens are no multiple of blocks of "
                f"{block_tokens}; choose block_tokens that divides them"
            )
        self.blocks, self.block_tokens, self.unit_tokens = blocks, block_tokens, unit_tokens
        self.free = blocks
        self.private = 0
        self.evicted = 0
        self._unit_blocks = unit_tokens // block_tokens
        self._held: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def used(self) -> int:
        """Blocks that requests need: private ones and held units."""
        return self.private + len(self._held) * self._unit_blocks

    @property
    def available(self) -> int:
        """Blocks that can be taken: free ones and those of idle units."""
        return self.free + len(self._idle) * self._unit_blocks

    def blocks_of(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    def take(self, count: int) -> bool:
        """Make blocks private, at the cost of idle units; False, and nothing, if too few are."""
        if count > self.free:
            if count > self.available:
                return False
            while count > self.free:
                self._idle.popitem(last=False)
                self.free += self._unit_blocks
                self.evicted += 1
        self.free -= count
        self.private += count
        return True

    def give(self, count: int) -> None:
        """Give private blocks back.

        Raises
        ------
        FaultError
            If there are not so many.
        """
        if not 0 <= count <= self.private:
            raise FaultError(f"KV memory: {count} of {self.private} private blocks given back")
        self.private -= count
        self.free += count

    def matched(self, prefix: Sequence[int], most: int) -> int:
        """How many leading hashes of a prefix, at most `most`, are stored."""
        count = 0
        for value in prefix[:most]:
            if value not in self._held and value not in self._idle:
                break
            count += 1
        return count

    def idle_among(self, prefix: Sequence[int]) -> int:
        """Blocks of the stored units of `prefix` that nobody holds, which `hold` takes away."""
        return sum(value in self._idle for value in prefix) * self._unit_blocks

    def hold(self, prefix: Sequence[int]) -> None:
        """Share stored units with one more request."""
        for value in prefix:
            if value in self._idle:
                del self._idle[value]
            self._held[value] = self._held.get(value, 0) + 1

    def store(self, value: int) -> bool:
        """Turn private blocks into a held unit; False, and nothing, if it is stored already."""
        if value in self._held or value in self._idle:
            return False
        self.private -= self._unit_blocks
        self._held[value] = 1
        return True

    def release(self, prefix: Sequence[int]) -> None:
        """Let go of units; the last of a prefix will be the first to make place.

        Raises
        ------
        FaultError
            If one of them is not held.
        """
        for value in reversed(prefix):
            holders = self._held.get(value, 0) - 1
            if holders < 0:
                raise FaultError(f"KV memory: unit {value} released and not held")
            if holders:
                self._held[value] = holders
            else:
                del self._held[value]
                self._idle[value] = None

    def check(self) -> None:
        """Count the blocks.

        Raises
        ------
        FaultError
            If one was lost or invented.
        """
        units = len(self._held) + len(self._idle)
        total = self.free + self.private + units * self._unit_blocks
        if total != self.blocks or min(self.free, self.private) < 0:
            raise FaultError(
                f"KV memory: {self.free} free, {self.private} private and {units} units of "
                f"{self._unit_blocks} blocks are {total}, not {self.blocks}"
            )
