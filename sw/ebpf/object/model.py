"""What a loader makes of an object file: programs and maps, ready for a machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError

__all__ = ["Function", "ObjectFile", "ObjectMap", "ObjectProgram", "SourceLine"]


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A line of a source.

    Attributes
    ----------
    file : str
        Its name as the compiler was given it.
    line, column : int
        From 1; 0 if unknown.
    text : str
        The line itself; empty if unknown.
    """

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function in a program.

    Attributes
    ----------
    name, section : str
        Where it comes from.
    start, slots : int
        Where it lies in the program.
    """

    name: str
    section: str
    start: int
    slots: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectProgram:
    """A program with all functions that it calls; the entry comes first.

    Attributes
    ----------
    name : str
        Of the entry.
    section : str
        Of the entry.
    program : Program
        Instructions; their 64-bit immediates name maps by number.
    functions : tuple of Function
        In the order of their places.
    lines : mapping of int to SourceLine
        By the slot where a line begins.
    """

    name: str
    section: str
    program: Program
    functions: tuple[Function, ...]
    lines: Mapping[int, SourceLine] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.section}:{self.name}" if self.section else self.name

    def function_at(self, slot: int) -> Function | None:
        """The function that a slot belongs to."""
        for function in self.functions:
            if function.start <= slot < function.start + function.slots:
                return function
        return None

    def line_at(self, slot: int) -> SourceLine | None:
        """The line that a slot comes from, if the file says so."""
        function = self.function_at(slot)
        if function is None:
            return None
        for at in range(slot, function.start - 1, -1):
            if at in self.lines:
                return self.lines[at]
        return None


@dataclass(frozen=True, kw_only=True)
class ObjectMap:
    """A map of an object file.

    Attributes
    ----------
    spec : MapSpec
        Its definition.
    section : str
        Where it is defined; for variables, the section whose contents it is.
    contents : bytes
        First value of a map that stands for variables; empty for others, and for zeros.
    inner : MapSpec or None
        Of an array of maps: what those that it names must be like.
    entries : mapping of int to int or str
        What a table begins with: numbers of maps, or names of programs.
    """

    spec: MapSpec
    section: str
    contents: bytes = field(default=b"", repr=False)
    inner: MapSpec | None = None
    entries: Mapping[int, int | str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of its definition."""
        return self.spec.name


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectFile:
    """A loaded object file.

    Attributes
    ----------
    name : str
        For messages.
    programs : tuple of ObjectProgram
        By number; entries of program arrays name them by it.
    maps : tuple of ObjectMap
        By number; instructions name them by it.
    license : str
        Empty if the file has none.
    """

    name: str
    programs: tuple[ObjectProgram, ...]
    maps: tuple[ObjectMap, ...] = ()
    license: str = ""

    @classmethod
    def of_code(cls, program: Program, maps: tuple[ObjectMap, ...] = ()) -> "ObjectFile":
        """A program without a file around it.

        Parameters
        ----------
        program : Program
            The program.
        maps : tuple of ObjectMap
            Those that it names by number.
        """
        whole = Function(name=program.name, section="", start=0, slots=len(program.slots))
        made = ObjectProgram(name=program.name, section="", program=program, functions=(whole,))
        return cls(name=program.name, programs=(made,), maps=maps)

    def find_program(self, wanted: str | None = None) -> ObjectProgram:
        """A program by its section, by its name, or the only one.

        Parameters
        ----------
        wanted : str, optional
            Section, function, or both with a colon.

        Raises
        ------
        InputError
            If there is none, or more than one; the message names all.
        """
        found = [
            program
            for program in self.programs
            if wanted in (None, program.section, program.name, str(program))
        ]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(str(program) for program in self.programs)
        problem = "it has" if wanted is None else f"section {wanted!r} names"
        raise InputError(
            f"{self.name}: {problem} {len(found)} programs; choose one with --section: {listed}"
        )

    def number_of(self, name: str, kind: Literal["map", "program"]) -> int:
        """Number of a map or a program.

        Raises
        ------
        InputError
            If there is none; the message names all.
        """
        names = [made.name for made in (self.maps if kind == "map" else self.programs)]
        if name not in names:
            raise InputError(
                f"{self.name} has no {kind} {name!r}; it has {', '.join(names) or 'none'}"
            )
        return names.index(name)
