"""Verifies what a loader was given: what the verifier needs to know of a file, and of an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import EVENT_BYTES
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.check import check_program
from fanweave.sw.ebpf.object.contents import Contents, initial_contents
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram
from fanweave.sw.ebpf.verifier import ContextRule, Report, Rule, VerificationError, verify
from fanweave.sw.ebpf.verifier.verify import MAX_STEPS

__all__ = [
    "MOST_CONTEXT",
    "Verified",
    "check_object",
    "context_of",
    "inner_maps",
    "specs_of",
    "verify_for_event",
    "verify_for_load",
    "verify_program",
]

#: Bytes that a context of unknown length may have at most.
MOST_CONTEXT = 4096
#: Sections of programs whose context is the event of a CXL message.
_CXL = "cxl"


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A program that was accepted.

    Attributes
    ----------
    report : Report
        What the verifier says of it.
    context : ContextRule
        For which contexts.
    """

    report: Report
    context: ContextRule


def check_object(loaded: ObjectFile, only: ObjectProgram | None = None) -> None:
    """Make the structural checks of all programs of a file, or of one of them.

    Raises
    ------
    InputError
        If one is refused, see `check_program`; the message names file, program and function.
    """
    for made in loaded.programs if only is None else (only,):
        _check(loaded, made)


def _check(loaded: ObjectFile, made: ObjectProgram) -> None:
    functions = made.functions if made.section else ()
    try:
        check_program(
            made.program,
            maps=len(loaded.maps),
            lines=_line_texts(made),
            functions={function.start: function.name for function in functions},
        )
    except InputError as error:
        raise InputError(_in_file(loaded, made, error)) from None


def _in_file(loaded: ObjectFile, program: ObjectProgram, error: InputError) -> str:
    """A message with the file in front, unless the program is the file."""
    return f"{loaded.name}, {error}" if program.section else str(error)


def context_of(program: ObjectProgram, context_bytes: int | None = None) -> ContextRule:
    """What is known of a program's context.

    Parameters
    ----------
    program : ObjectProgram
        The program; those of sections ``cxl`` and ``cxl/...`` get the event of a message.
    context_bytes : int, optional
        What the user knows.
    """
    if context_bytes is None and program.section.partition("/")[0] == _CXL:
        context_bytes = EVENT_BYTES
    if context_bytes is not None:
        return ContextRule.exactly(context_bytes)
    return ContextRule(least=0, most=MOST_CONTEXT)


def specs_of(loaded: ObjectFile) -> list[MapSpec]:
    """Definitions of the maps, by number."""
    return [made.spec for made in loaded.maps]


def inner_maps(loaded: ObjectFile) -> dict[int, MapSpec]:
    """Definitions of what arrays of maps hold, by their number."""
    return {n: made.inner for n, made in enumerate(loaded.maps) if made.inner is not None}


def verify_program(
    loaded: ObjectFile,
    program: ObjectProgram,
    *,
    context: ContextRule,
    budget: int = DEFAULT_BUDGET,
    programs: Mapping[int, Program] | None = None,
    max_steps: int = MAX_STEPS,
) -> Report:
    """Refuse a program that could fault in some event.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    program : ObjectProgram
        One of its programs.
    context : ContextRule
        What is known of the context.
    budget : int
        Instructions that an event may execute.
    programs : mapping of int to Program, optional
        Those that program arrays may name; those that the file puts there, or all if it puts none.
    max_steps : int
        Instructions that are followed at most.

    Raises
    ------
    VerificationError
        If a rule is violated.
    InputError
        If the shape of a program is wrong.
    """
    return verify(
        program.program,
        specs_of(loaded),
        context=context,
        budget=budget,
        lines=_line_texts(program),
        programs=_named_programs(loaded) if programs is None else programs,
        inner=inner_maps(loaded),
        max_steps=max_steps,
    )


def _line_texts(program: ObjectProgram) -> dict[int, str]:
    lines = {}
    for slot in range(len(program.program.slots)):
        line = program.line_at(slot)
        if line is not None:
            lines[slot] = f"{line}: {line.text.strip()}" if line.text else str(line)
    return lines


def _named_programs(loaded: ObjectFile) -> dict[int, Program]:
    """Programs that tables of the file name; all if it has none with a name in it."""
    named = {
        entry for made in loaded.maps for entry in made.entries.values() if isinstance(entry, str)
    }
    return {
        number: program.program
        for number, program in enumerate(loaded.programs)
        if not named or program.name in named
    }


def verify_for_event(
    loaded: ObjectFile,
    program: ObjectProgram,
    *,
    context_bytes: int,
    contents: Contents,
    budget: int = DEFAULT_BUDGET,
) -> Report:
    """Verify a program for one event, whose context and programs in tables are known.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    program : ObjectProgram
        One of its programs.
    context_bytes : int
        Length of the event's context.
    contents : mapping
        What is put into the maps, after what the file itself says.
    budget : int
        Instructions after which the watchdog ends the event.

    Raises
    ------
    InputError
        If it is refused; the message says how to run it all the same.
    """
    tables = [n for n, made in enumerate(loaded.maps) if made.spec.kind is MapType.PROG_ARRAY]
    named = {
        int.from_bytes(value, "little")
        for source in (initial_contents(loaded), contents)
        for table in tables
        for _, value in source.get(table, ())
    }
    programs = {number: loaded.programs[number].program for number in sorted(named)}
    try:
        return verify_program(
            loaded,
            program,
            context=ContextRule.exactly(context_bytes),
            budget=budget,
            programs=programs,
        )
    except VerificationError as error:
        mend = "without verification (--no-verify) it runs all the same"
        if error.rule is Rule.CONTEXT_BOUNDS:
            mend = f"--mem gives {context_bytes} bytes; {mend}"
        _refuse(loaded, program, error, mend)


def verify_for_load(
    loaded: ObjectFile,
    program: ObjectProgram,
    *,
    context_bytes: int | None = None,
    budget: int = DEFAULT_BUDGET,
    max_steps: int = MAX_STEPS,
) -> Verified:
    """Verify a program for all events, and find out how long their contexts must be.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    program : ObjectProgram
        One of its programs.
    context_bytes : int, optional
        Length of the context, if it is known.
    budget : int
        Instructions that an event may execute.
    max_steps : int
        Instructions that are followed at most.

    Raises
    ------
    InputError
        If it is refused.
    """

    def decide(context: ContextRule) -> Verified:
        report = verify_program(
            loaded, program, context=context, budget=budget, max_steps=max_steps
        )
        return Verified(report=report, context=context)

    known = context_of(program, context_bytes)
    try:
        return decide(known)
    except VerificationError as error:
        if error.rule is not Rule.CONTEXT_BOUNDS or known.least == known.most:
            _refuse(loaded, program, error, "--no-verify loads it all the same")
        refusal = error
    try:
        # What it uses of a context that is long enough, any context must have.
        needed = decide(ContextRule.exactly(MOST_CONTEXT)).report.context_bytes
        return decide(ContextRule(least=needed, most=MOST_CONTEXT))
    except VerificationError as error:
        # Another rule is the real trouble; more of the context would not help.
        further = refusal if error.rule is Rule.CONTEXT_BOUNDS else error
        _refuse(loaded, program, further, "--no-verify loads it all the same")


def _refuse(
    loaded: ObjectFile, program: ObjectProgram, error: VerificationError, mend: str
) -> NoReturn:
    message = f"{_in_file(loaded, program, error)}; {mend}"
    raise VerificationError(message, error.rule, error.slot) from None
