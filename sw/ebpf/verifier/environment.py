"""What a program is verified against: its context, its maps, and what is counted on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.verifier.values import Value, describe

__all__ = ["ContextRule", "Environment"]

_MOST_CONTEXT = 1 << 24


@dataclass(frozen=True, kw_only=True)
class ContextRule:
    """What is known of the context that r1 points to and whose length is in r2.

    Attributes
    ----------
    least, most : int
        Bytes. Beyond `least` a program may use what it found to be there by comparing r2.
    writable : bool
        Whether it may store there.

    Raises
    ------
    InputError
        If the numbers are no bounds.
    """

    least: int
    most: int
    writable: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most <= _MOST_CONTEXT:
            raise InputError(
                f"a context of {self.least} to {self.most} bytes is not possible; from 0 up to "
                f"{_MOST_CONTEXT} are, the least first"
            )

    @classmethod
    def exactly(cls, size: int, *, writable: bool = True) -> "ContextRule":
        """A context whose length never changes."""
        return cls(least=size, most=size, writable=writable)


class Environment:
    """Definitions, and what was used of them.

    Parameters
    ----------
    maps : sequence of MapSpec
        By number.
    inner : mapping of int to MapSpec
        By the number of an array of maps: what those in it are like.
    context : ContextRule
        Of the context.

    Attributes
    ----------
    maps : tuple of MapSpec
        The maps, and behind them what arrays of maps hold.
    named : int
        How many of them are maps that the program can name.
    inner : dict of int to int
        By the number of an array of maps: the place in `maps` of what it holds.
    used_maps, used_helpers : set of int
        Numbers of maps, and of helpers.
    used_stack : dict of int to int
        By frame: bytes that are touched below its top.
    used_context : int
        Bytes from the context's first one on that are used.
    tail_call_frame : int
        Innermost frame in which a tail call is made; -1 if there is none.
    """

    def __init__(
        self, maps: Sequence[MapSpec], inner: Mapping[int, MapSpec], context: ContextRule
    ) -> None:
        for number, held in inner.items():
            if not 0 <= number < len(maps) or maps[number].kind is not MapType.ARRAY_OF_MAPS:
                raise InputError(
                    f"map {number} is said to hold maps like {held.name!r}; it is no array of maps"
                )
        self.maps = (*maps, *inner.values())
        self.named = len(maps)
        self.inner = {number: len(maps) + place for place, number in enumerate(inner)}
        self.context = context
        self.used_maps: set[int] = set()
        self.used_helpers: set[int] = set()
        self.used_stack: dict[int, int] = {}
        self.used_context = 0
        self.tail_call_frame = -1
        self._identities = 0

    def identity(self) -> int:
        """A new one."""
        self._identities += 1
        return self._identities

    def use_map(self, number: int) -> None:
        """Note that a map is used."""
        if number < self.named:
            self.used_maps.add(number)

    def readable(self, number: int) -> bool:
        """Whether programs may read a map."""
        return not self.maps[number].flags & MapFlag.WRONLY_PROG

    def writable(self, number: int) -> bool:
        """Whether programs may change a map."""
        return not self.maps[number].flags & MapFlag.RDONLY_PROG

    def touch_stack(self, frame: int, size: int) -> None:
        """Note that a frame is used down to so many bytes below its top."""
        if size > self.used_stack.get(frame, -1):
            self.used_stack[frame] = size

    def touch_context(self, size: int) -> None:
        """Note that the context is used up to so many bytes from its beginning."""
        self.used_context = max(self.used_context, size)

    def note_tail_call(self, frame: int) -> None:
        """Note that a tail call is made in a frame."""
        self.tail_call_frame = max(self.tail_call_frame, frame)

    def say(self, register: int, value: Value) -> str:
        """A register and its value, for a message."""
        return f"r{register} is {describe(value, self.maps)}"
