"""Follows all paths of a program, and finds the longest one.

Paths are followed depth first. Where paths meet, states are kept; a state that a kept one covers,
of which everything that follows is done, is not followed again. A tree of segments, each from one
kept state to the next ones, says how many instructions at most follow a kept state.
"""

from dataclasses import dataclass

from fanweave.golden.ebpf.program import Program
from fanweave.sw.ebpf.verifier.control_flow import ending_slots, meeting_slots
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.instructions import step
from fanweave.sw.ebpf.verifier.kept import covers, keep, pass_marks, same, tidy
from fanweave.sw.ebpf.verifier.ranges import Range
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import BITS, Scalar
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import CONTEXT_LENGTH, Kind, Value

__all__ = ["Exploration", "explore"]

#: Instructions between two kept states of a path, at least: to keep one costs as much as some.
_SPACING = 8
#: States of one slot that are kept, and those of the path itself that a state is compared with.
_KEPT = 4096
_RECENT = 8


@dataclass(frozen=True)
class Exploration:
    """What came of following a program's paths.

    Attributes
    ----------
    longest : int
        Instructions of the longest path.
    frames : int
        Frames in use at the deepest point.
    steps : int
        Instructions that were followed.
    kept, covered : int
        States that were kept, and that were not followed because a kept one covers them.
    """

    longest: int
    frames: int
    steps: int
    kept: int
    covered: int


class _Segment:
    """What follows a kept state.

    Attributes
    ----------
    before : _Segment or None
        That on whose path the state was kept.
    distance : int
        Instructions from the state of `before` to this one.
    open : int
        Paths from here that are not done.
    longest : int
        Instructions of the longest path from here, of those that are done.
    state : State or None
        The kept state; None at the beginning.
    """

    __slots__ = ("before", "distance", "longest", "open", "state")

    def __init__(self, before: "_Segment | None", distance: int, state: State | None) -> None:
        self.before = before
        self.distance = distance
        self.open = 1
        self.longest = 0
        self.state = state


class _Kept:
    """Kept states of one slot: those of which all that follows is done, and those of the path."""

    __slots__ = ("done", "open")

    def __init__(self) -> None:
        self.done: list[_Segment] = []
        self.open: list[_Segment] = []


class _Explorer:
    def __init__(
        self, environment: Environment, program: Program, budget: int, max_steps: int
    ) -> None:
        self.environment = environment
        self.slots = program.slots
        self.meeting = meeting_slots(program)
        self.ending = ending_slots(program)
        self.budget = budget
        self.max_steps = max_steps
        self.at: dict[int, _Kept] = {}
        self.steps = self.kept = self.covered = 0
        self.frames = 1
        #: Where the instruction at hand is.
        self.slot = 0

    def run(self, state: State) -> Exploration:
        """Follow everything that a state can do."""
        first = _Segment(None, 0, None)
        waiting = [(state, first, 0)]
        while waiting:
            self._follow(*waiting.pop(), waiting)
        return Exploration(first.longest, self.frames, self.steps, self.kept, self.covered)

    def _follow(
        self,
        state: State,
        segment: _Segment,
        begin: int,
        waiting: list[tuple[State, _Segment, int]],
    ) -> None:
        """Follow one path to its end; `begin` is what was executed before the segment."""
        slots, meeting, ending = self.slots, self.meeting, self.ending
        while True:
            slot = self.slot = state.slot
            if slot in meeting:
                covering = self._find(state)
                if covering is not None:
                    self.covered += 1
                    pass_marks(_state_of(covering), state)
                    self._end(segment, state.executed - begin + covering.longest, begin)
                    return
                if state.executed - begin >= _SPACING:
                    segment = self._keep(state, segment, begin)
                    begin = state.executed
            instruction = slots[slot]
            assert instruction is not None
            if slot not in ending:
                raise Violation(Rule.ENDLESS, "no exit can be reached from here")
            self._count(state)
            states = step(self.environment, state, instruction)
            if len(state.frames) > self.frames:
                self.frames = len(state.frames)
            if not states:
                self._end(segment, state.executed - begin, begin)
                return
            state = states[0]
            for other in states[1:]:
                segment.open += 1
                waiting.append((other, segment, begin))

    def _count(self, state: State) -> None:
        if state.executed >= self.budget:
            raise Violation(
                Rule.BUDGET,
                f"a path has executed {self.budget} instructions, which is all, and goes on",
            )
        if self.steps >= self.max_steps:
            raise Violation(
                Rule.COMPLEXITY, f"{self.max_steps} instructions were followed, which is all"
            )
        state.executed += 1
        self.steps += 1

    def _find(self, state: State) -> _Segment | None:
        """A kept state that covers one.

        Raises
        ------
        Violation
            If the path was in this state before.
        """
        found = self.at.get(state.slot)
        if found is None:
            return None
        tidy(state)
        # Paths are followed from their ends, so what is wanted was mostly done just now.
        for segment in reversed(found.done):
            if covers(_state_of(segment), state):
                return segment
        if any(same(_state_of(segment), state) for segment in found.open[-_RECENT:]):
            raise Violation(Rule.ENDLESS, "the path was here before, in the same state")
        return None

    def _keep(self, state: State, segment: _Segment, begin: int) -> _Segment:
        self.kept += 1
        tidy(state)
        made = _Segment(segment, state.executed - begin, keep(state))
        self.at.setdefault(state.slot, _Kept()).open.append(made)
        return made

    def _note_done(self, segment: _Segment) -> None:
        if segment.state is None:
            return
        kept = self.at[segment.state.slot]
        # Deeper ones are done before, so it is the last one of its slot.
        last = kept.open.pop()
        assert last is segment
        kept.done.append(segment)
        if len(kept.done) > _KEPT:
            del kept.done[0]

    def _end(self, segment: _Segment, length: int, begin: int) -> None:
        """A path from a segment is done; with its last one the segment is."""
        if begin + length > self.budget:
            raise Violation(
                Rule.BUDGET,
                f"a path through here has {begin + length} instructions; {self.budget} are allowed",
            )
        at: _Segment | None = segment
        while at is not None:
            at.longest = max(at.longest, length)
            at.open -= 1
            if at.open:
                return
            self._note_done(at)
            length = at.distance + at.longest
            at = at.before


def _state_of(segment: _Segment) -> State:
    assert segment.state is not None
    return segment.state


def explore(
    environment: Environment,
    program: Program,
    *,
    budget: int,
    max_steps: int,
    tail_called: bool = False,
) -> Exploration:
    """Follow all paths of a program.

    Parameters
    ----------
    environment : Environment
        What it works with; notes what is used.
    program : Program
        One that `check_program` accepts.
    budget : int
        Instructions that one path may have.
    max_steps : int
        Instructions that all paths together may have.
    tail_called : bool
        Whether it begins by a tail call, which leaves nothing but the context in r1.

    Raises
    ------
    Violation
        If a rule is violated; it knows where.
    """
    explorer = _Explorer(environment, program, budget, max_steps)
    try:
        return explorer.run(_first_state(environment, tail_called))
    except Violation as violation:
        violation.slot = explorer.slot
        raise


def _first_state(environment: Environment, tail_called: bool) -> State:
    context = environment.context
    state = State(context.least)
    state.write(1, Value(Kind.CONTEXT, Scalar.constant(0)))
    if not tail_called:
        lengths = Range.of(BITS, unsigned=(context.least, context.most))
        assert lengths is not None
        length = Scalar.of(lengths)
        assert length is not None
        state.write(2, Value(Kind.NUMBER, length, CONTEXT_LENGTH))
    return state
