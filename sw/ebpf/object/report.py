"""Object files as text: what a loader makes of them, and what is in them."""

from collections.abc import Iterable, Iterator, Sequence

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import INSTRUCTION_BYTES
from fanweave.sw.ebpf.object.btf import Btf
from fanweave.sw.ebpf.object.btf import BtfKind as Kind
from fanweave.sw.ebpf.object.contents import machine_of, map_bytes
from fanweave.sw.ebpf.object.elf import Elf, relocation_name
from fanweave.sw.ebpf.object.listing import program_lines
from fanweave.sw.ebpf.object.loader import types_of
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.ebpf.object.verification import Verified, check_object

__all__ = ["code_report", "file_report", "load_report"]

Row = Sequence[object]
#: What the report of a load ends with: all of it was done before.
_CHECKS = (
    "sections, symbols, relocations and types",
    "encodings, jumps, calls, helpers, maps and ends of all programs",
    "definitions of all maps, and what they begin with",
)
_VERIFIED = "types, bounds, null checks, loops and the longest path of all programs"
_NOT_VERIFIED = "not verified: a program may still fault"


def _columns(rows: Iterable[Row]) -> Iterator[str]:
    """Rows with their columns below each other; the first row is the head."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield ("  " + "  ".join(cells)).rstrip()


def load_report(
    loaded: ObjectFile, *, engines: int = 1, verified: Sequence[Verified] | None = None
) -> list[str]:
    """Make all of a loader's structural checks, and say what there is then.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    engines : int
        Engines that have values of their own in a per-engine array.
    verified : sequence of Verified, optional
        What the verifier says of the programs, by number.

    Raises
    ------
    InputError
        If a program or a map is refused.
    """
    if verified is None:
        check_object(loaded)
    try:
        machine_of(loaded, engines=engines)
    except InputError as error:
        raise InputError(f"{loaded.name}, {error}") from None
    slots = sum(len(made.program.slots) for made in loaded.programs)
    memory = sum(map_bytes(loaded, n, engines=engines) for n in range(len(loaded.maps)))
    report = [f"{loaded.name}: license {loaded.license or 'not given'}"]
    report += [f"programs: {len(loaded.programs)}, {slots * INSTRUCTION_BYTES} bytes of code"]
    report += _columns(_program_rows(loaded, verified))
    report += [f"maps: {len(loaded.maps)}, {memory} bytes of keys and values"]
    report += _columns(_map_rows(loaded, engines)) if loaded.maps else ()
    report += ["checks passed:", *(f"  {check}" for check in _CHECKS)]
    report += [f"  {_VERIFIED}" if verified is not None else _NOT_VERIFIED]
    return report


def _program_rows(loaded: ObjectFile, verified: Sequence[Verified] | None) -> Iterator[Row]:
    head = ("number", "section", "program", "slots")
    yield (*head, *(("instructions", "stack", "context") if verified else ()), "functions")
    for number, made in enumerate(loaded.programs):
        names = ", ".join(function.name for function in made.functions)
        found: Row = ()
        if verified:
            report, context = verified[number].report, verified[number].context
            least = f"{context.least} or more" if context.least else "any"
            size = context.least if context.least == context.most else least
            found = (report.worst_case_instructions, sum(report.stack_bytes), size)
        yield number, made.section, made.name, len(made.program.slots), *found, names


def _map_rows(loaded: ObjectFile, engines: int = 1) -> Iterator[Row]:
    yield "number", "map", "type", "key", "value", "entries", "flags", "bytes", "section"
    for number, made in enumerate(loaded.maps):
        spec = made.spec
        yield (
            *(number, spec.name, spec.kind.name, spec.key_size, spec.value_size),
            *(spec.max_entries, f"{spec.flags:#x}", map_bytes(loaded, number, engines=engines)),
            made.section,
        )


def file_report(elf: Elf) -> Iterator[str]:
    """Sections, relocations and types of a file, whether it can be loaded or not.

    Raises
    ------
    InputError
        If the types are malformed.
    """
    yield f"{elf.name}: ELF64, eBPF, little-endian"
    yield "sections:"
    rows: list[Row] = [("number", "name", "type", "offset", "bytes", "flags")]
    for section in elf.sections:
        flags = "".join(
            letter
            for letter, is_set in zip(
                "WAX", (section.writable, section.allocated, section.executable), strict=True
            )
            if is_set
        )
        kind = section.kind.removeprefix("SHT_")
        place = (f"{section.offset:#x}", section.size)
        rows.append((section.number, section.name, kind, *place, flags))
    yield from _columns(rows)
    yield "relocations:"
    rows = [("section", "offset", "type", "symbol", "value")]
    for number, relocations in sorted(elf.relocations.items()):
        for relocation in relocations:
            symbol = relocation.symbol
            rows.append(
                (
                    *(elf.sections[number].name, f"{relocation.offset:#x}"),
                    *(relocation_name(relocation.kind), symbol.name, f"{symbol.value:#x}"),
                )
            )
    yield from _columns(rows)
    btf, _ = types_of(elf)
    if btf is not None:
        yield f"types: {len(btf.types) - 1}"
        yield from _type_lines(btf)


def _type_lines(btf: Btf) -> Iterator[str]:
    for found in btf.types[1:]:
        own = found.kind in (Kind.VAR, Kind.FUNC, Kind.DATASEC)
        name = found.name if own else btf.describe(found.number)
        text = f"  [{found.number}] {found.kind.name} {name}"
        if found.kind in (Kind.INT, Kind.FLOAT, Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64):
            text += f", {found.size} bytes"
        if found.kind in (Kind.TYPEDEF, Kind.VAR, Kind.FUNC):
            text += f": {btf.describe(found.type)}"
        yield text
        for member in found.members:
            if found.kind in (Kind.STRUCT, Kind.UNION):
                name = member.name or "(unnamed)"
                yield f"      {name} at bit {member.offset}: {btf.describe(member.type)}"
            elif found.kind in (Kind.ENUM, Kind.ENUM64):
                yield f"      {member.name} = {member.value}"
            else:
                yield f"      {member.name} {btf.describe(member.type)}".rstrip()


def code_report(loaded: ObjectFile) -> Iterator[str]:
    """Maps, and programs with their source lines."""
    yield f"license: {loaded.license or 'not given'}"
    yield "maps:"
    yield from _columns(_map_rows(loaded))
    for made in loaded.maps:
        for at, entry in made.entries.items():
            name = entry if isinstance(entry, str) else loaded.maps[entry].name
            yield f"  {made.name}[{at}] = {name}"
    for program in loaded.programs:
        yield f"program {program.section}:{program.name}, {len(program.program.slots)} slots:"
        yield from (f"  {line}" for line in program_lines(program, loaded))
