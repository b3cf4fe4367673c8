"""The verifier: accepts a program that cannot fault, and says how long it takes at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.sw.ebpf.assembler import disassemble
from fanweave.sw.ebpf.check import check_program
from fanweave.sw.ebpf.verifier.environment import ContextRule, Environment
from fanweave.sw.ebpf.verifier.explorer import Exploration, explore
from fanweave.sw.ebpf.verifier.report import Report
from fanweave.sw.ebpf.verifier.rules import Rule, VerificationError, Violation

__all__ = ["MAX_STEPS", "verify"]

#: Instructions of all paths together that are followed before a program is given up.
MAX_STEPS = 1_000_000


@dataclass(frozen=True)
class _Part:
    """A program of those that one event may run.

    Attributes
    ----------
    program : Program
        It.
    found : Exploration
        What its paths do.
    tail_call_frame : int
        Its innermost frame that makes a tail call; -1 if none does.
    """

    program: Program
    found: Exploration
    tail_call_frame: int


def verify(
    program: Program,
    maps: Sequence[MapSpec] = (),
    *,
    context: ContextRule,
    budget: int,
    lines: Mapping[int, str] | None = None,
    programs: Mapping[int, Program] | None = None,
    inner: Mapping[int, MapSpec] | None = None,
    max_steps: int = MAX_STEPS,
) -> Report:
    """Refuse a program that could fault in some event.

    What is accepted ends in every event without a fault, and within the instructions that are
    reported, on a machine that has these maps and programs and gives it such contexts.

    Parameters
    ----------
    program : Program
        The program.
    maps : sequence of MapSpec
        Maps by number.
    context : ContextRule
        What r1 and r2 are.
    budget : int
        Instructions that an event may execute.
    lines : mapping of int to str, optional
        By slot: place and text of the source's line, for messages.
    programs : mapping of int to Program, optional
        All that program arrays may name; tail calls to others find nothing.
    inner : mapping of int to MapSpec, optional
        By the number of an array of maps: what is in it. Whatever is put into it must have this
        type, these flags, and these sizes of keys and values.
    max_steps : int
        Instructions of all paths together that are followed at most.

    Returns
    -------
    Report
        What was found.

    Raises
    ------
    VerificationError
        If a rule is violated. The message names program, instruction, source line, what registers
        hold, and the rule.
    InputError
        If the shape of a program is wrong, see `check_program`.
    """
    if budget < 1:
        raise InputError(f"budget = {budget}; an event needs 1 instruction or more")
    others = dict(programs or {})
    for each in {id(each): each for each in (program, *others.values())}.values():
        check_program(each, maps=len(maps))
    environment = Environment(maps, inner or {}, context)
    main = _follow(environment, program, budget, max_steps, lines or {}, tail_called=False)
    parts = []
    if main.tail_call_frame >= 0:
        for other in dict.fromkeys(others.values()):
            parts.append(_follow(environment, other, budget, max_steps, {}, tail_called=True))
    longest, frames = _with_tail_calls(main, parts)
    _require_limits(main, longest, frames, budget)
    every = [main, *parts]
    return Report(
        name=program.name,
        slots=len(program.slots),
        worst_case_instructions=longest,
        stack_bytes=tuple(environment.used_stack.get(frame, 0) for frame in range(frames)),
        context_bytes=environment.used_context,
        maps=tuple(maps[number].name for number in sorted(environment.used_maps)),
        helpers=tuple(HELPERS[number].name for number in sorted(environment.used_helpers)),
        frames=frames,
        steps=sum(part.found.steps for part in every),
        kept=sum(part.found.kept for part in every),
        covered=sum(part.found.covered for part in every),
    )


def _follow(
    environment: Environment,
    program: Program,
    budget: int,
    max_steps: int,
    lines: Mapping[int, str],
    *,
    tail_called: bool,
) -> _Part:
    environment.tail_call_frame = -1
    try:
        found = explore(
            environment, program, budget=budget, max_steps=max_steps, tail_called=tail_called
        )
    except Violation as violation:
        raise _refusal(program, lines, violation) from None
    return _Part(program, found, environment.tail_call_frame)


def _refusal(program: Program, lines: Mapping[int, str], violation: Violation) -> VerificationError:
    slot, rule = violation.slot, violation.rule
    instruction = program.slots[slot]
    assert instruction is not None
    (text,) = disassemble([instruction])
    where = f"{program.name}, instruction {slot} ({text})"
    if slot in lines:
        where += f", {lines[slot]}"
    message = f"{where}: {violation}; rule {rule.name}: {rule.value}"
    return VerificationError(message, rule, slot)


def _with_tail_calls(main: _Part, parts: list[_Part]) -> tuple[int, int]:
    """Instructions and frames at most of an event, by how many tail calls are left."""
    if main.tail_call_frame < 0 or not parts:
        return main.found.longest, main.found.frames
    if any(part.tail_call_frame > 0 for part in (main, *parts)):
        # A function's caller goes on behind the tail call and may make more.
        longest = main.found.longest + TAIL_CALLS * max(part.found.longest for part in parts)
    else:
        longest = 0
    lengths = [part.found.longest for part in parts]
    depths = [part.found.frames for part in parts]
    for _ in range(TAIL_CALLS - 1):
        length, depth = max(lengths), max(depths)
        lengths = [_longest(part, length) for part in parts]
        depths = [_deepest(part, depth) for part in parts]
    return longest or _longest(main, max(lengths)), _deepest(main, max(depths))


def _longest(part: _Part, following: int) -> int:
    return part.found.longest + (following if part.tail_call_frame >= 0 else 0)


def _deepest(part: _Part, following: int) -> int:
    """Frames of a program and of those that it goes on in."""
    if part.tail_call_frame < 0:
        return part.found.frames
    return max(part.found.frames, part.tail_call_frame + following)


def _require_limits(main: _Part, longest: int, frames: int, budget: int) -> None:
    rule = text = None
    if frames > CALL_FRAMES:
        rule, text = Rule.CALL_DEPTH, f"with tail calls {frames} frames; {CALL_FRAMES} are there"
    elif longest > budget:
        rule, text = Rule.BUDGET, f"with tail calls {longest} instructions; {budget} are allowed"
    if rule is not None:
        violation = Violation(rule, text or "")
        violation.slot = 0
        raise _refusal(main.program, {}, violation)
