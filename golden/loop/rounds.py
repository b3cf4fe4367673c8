"""Round after round until nothing changes, or a state comes again, or a bound is reached."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from fanweave.golden.errors import InputError

__all__ = ["Converged", "Ending", "Round", "converge"]

State = TypeVar("State")
Result = TypeVar("Result")


class Ending(StrEnum):
    """Why the rounds ended."""

    FIXPOINT = "fixpoint"
    CYCLE = "cycle"
    BOUND = "bound"


@dataclass(frozen=True, kw_only=True)
class Round(Generic[State, Result]):
    """One round: the state that it began with, what came of it, and the state behind it."""

    number: int
    before: State
    result: Result
    after: State


@dataclass(frozen=True, kw_only=True)
class Converged(Generic[State, Result]):
    """All rounds.

    Attributes
    ----------
    rounds : tuple of Round
    ending : Ending
    first : int
        Of a cycle, the number of its first round; otherwise that of the last round.
    """

    rounds: tuple[Round[State, Result], ...]
    ending: Ending
    first: int

    @property
    def settled(self) -> tuple[Round[State, Result], ...]:
        """The last round, or all rounds of the cycle."""
        return self.rounds[self.first - 1 :]


def converge(
    start: State,
    step: Callable[[State], tuple[State, Result]],
    *,
    key: Callable[[State], Hashable],
    most: int,
) -> Converged[State, Result]:
    """Repeat a step.

    Parameters
    ----------
    start : State
    step : callable
        Gives the next state and what came of the round.
    key : callable
        What of a state counts: two with the same key are the same.
    most : int
        Rounds at most, from 1.

    Raises
    ------
    InputError
        If no round is allowed.
    """
    if most < 1:
        raise InputError(f"rounds = {most} must be at least 1")
    rounds: list[Round[State, Result]] = []
    seen = {key(start): 1}
    state = start
    for number in range(1, most + 1):
        after, result = step(state)
        rounds.append(Round(number=number, before=state, result=result, after=after))
        first = seen.get(key(after))
        if first is not None:
            ending = Ending.FIXPOINT if first == number else Ending.CYCLE
            return Converged(rounds=tuple(rounds), ending=ending, first=first)
        seen[key(after)] = number + 1
        state = after
    return Converged(rounds=tuple(rounds), ending=Ending.BOUND, first=most)
