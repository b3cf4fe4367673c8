"""From the plan of a device to its object file: compiled, loaded, verified, filled."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import PlaceKind
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.contents import Contents, machine_of
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import types_of
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.ebpf.object.verification import check_object, verify_for_load
from fanweave.sw.ebpf.verifier import Report
from fanweave.sw.fabric.dialect import DIALECTS, load_dialect
from fanweave.sw.fabric.unit import Unit, budget_of
from fanweave.sw.policies.library import POLICIES
from fanweave.sw.policies.named_maps import NamedMaps
from fanweave.sw.policies.values import MapTypes

__all__ = ["Built", "build_unit"]

_PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass(frozen=True, kw_only=True, eq=False)
class Built:
    """A device's object file.

    Attributes
    ----------
    unit : Unit
        What it is of.
    data : bytes
        The file, as the device's runtime takes it.
    loaded : ObjectFile
        Its programs and maps, with numbers of helpers and types of maps as the golden machine has
        them.
    named : NamedMaps
        Its maps by name.
    contents : Contents
        What its maps begin with.
    reports : mapping of str to Report
        By program: what the verifier found.
    """

    unit: Unit
    data: bytes
    loaded: ObjectFile
    named: NamedMaps
    contents: Contents
    reports: Mapping[str, Report]

    def machine(self, engines: int = 1) -> Machine:
        """A golden machine with the maps as they begin."""
        return machine_of(
            self.loaded, self.contents, engines=engines, budget=budget_of(self.unit.place)
        )


def build_unit(unit: Unit) -> Built:
    """Compile, load and verify.

    Raises
    ------
    InputError
        If a program takes more instructions than its device allows, or the maps do not fit; the
        message names the device and what to do.
    """
    place = unit.place
    name = f"{place.name}.o"
    data = _compile(unit)
    loaded = load_dialect(data, name, DIALECTS.get(unit.runtime))
    check_object(loaded)
    reports = {
        program.name: verify_for_load(
            loaded, program, context_bytes=unit.attach.get("context_bytes")
        ).report
        for program in loaded.programs
    }
    _check_budget(unit, reports)
    if place.kind is PlaceKind.ISLAND:
        _check_engine(unit, loaded)
    elf = read_elf(data, name)
    btf, _ = types_of(elf)
    assert btf is not None  # the compiler always writes types
    places = {symbol.name: symbol.value for symbol in elf.symbols if symbol.section is not None}
    named = NamedMaps(loaded, MapTypes(btf, places), unit.records)
    return Built(
        unit=unit,
        data=data,
        loaded=loaded,
        named=named,
        contents=named.contents(unit.contents),
        reports=reports,
    )


def _compile(unit: Unit) -> bytes:
    with tempfile.TemporaryDirectory(prefix="fanweave-") as temporary:
        folder = Path(temporary)
        source = folder / f"{unit.place.name}.c"
        source.write_text(unit.source)
        policies = next(iter(POLICIES.values())).source.parent
        compiled = compile_c(source, include=(folder, _PROGRAMS, policies))
    if compiled.warnings:
        raise InputError(f"{unit.place.name}: its program has warnings:\n{compiled.warnings}")
    return compiled.data


def _check_budget(unit: Unit, reports: Mapping[str, Report]) -> None:
    place, most = unit.place, budget_of(unit.place)
    for program in unit.programs:
        worst = reports[program.name].worst_case_instructions
        if worst > most:
            raise InputError(
                f"{place.kind} {place.name!r}: program {program.name!r} of "
                f"{', '.join(program.steps)} takes up to {worst} instructions; {most} are "
                f"allowed: take a goal away from {', '.join(program.movements) or 'it'}, or set "
                f"instructions = {worst}"
            )


def _check_engine(unit: Unit, loaded: ObjectFile) -> None:
    """Whether programs and maps fit into the memories of the island's policy engine."""
    place = unit.place
    if place.engine not in PRESETS:
        raise InputError(
            f"island {place.name!r}: engine {place.engine!r} is not known; choose one of "
            f"{', '.join(PRESETS)}"
        )
    config = PRESETS[place.engine]
    mend = f"take a goal away from it, or give it another engine than {place.engine!r}"
    try:
        lay_out([made.spec for made in loaded.maps], config)
    except InputError as error:
        raise InputError(f"island {place.name!r}: {error}; {mend}") from None
    slots = sum(len(program.program.slots) for program in loaded.programs)
    for what, number, limit in (
        ("slots", slots, config.slots),
        ("programs", len(loaded.programs), config.images),
    ):
        if number > limit:
            raise InputError(
                f"island {place.name!r}: its programs need {number} {what}; the engine has "
                f"{limit}; {mend}"
            )
