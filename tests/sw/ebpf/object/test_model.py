"""What a loaded file knows of its programs, maps and lines."""

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.model import (
    Function,
    ObjectFile,
    ObjectMap,
    ObjectProgram,
    SourceLine,
)

LINE = SourceLine(file="a.c", line=3, column=1, text="return 0;")


def program(name, section, **others):
    code = Program.of([mov(0, 0), mov(0, 1), leave(), mov(0, 2), leave()], name=name)
    functions = (
        Function(name=name, section=section, start=0, slots=3),
        Function(name="helper", section=".text", start=3, slots=2),
    )
    return ObjectProgram(name=name, section=section, program=code, functions=functions, **others)


def file_of(*programs):
    spec = MapSpec(name="hits", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=1)
    made = ObjectMap(spec=spec, section=".maps")
    return ObjectFile(name="a.o", programs=programs, maps=(made,))


def test_programs_by_section_name_or_both():
    loaded = file_of(program("one", "event"), program("two", "event"), program("three", "other"))
    one, two, three = loaded.programs
    assert loaded.find_program("one") is one
    assert loaded.find_program("event:two") is two
    assert loaded.find_program("other") is three
    for wanted, problem in (
        ("event", "section 'event' names 2"),
        ("none", "section 'none' names 0"),
        (None, "it has 3"),
    ):
        with pytest.raises(InputError) as refused:
            loaded.find_program(wanted)
        assert str(refused.value) == (
            f"a.o: {problem} programs; choose one with --section: event:one, event:two, other:three"
        )


def test_the_only_program_needs_no_name():
    loaded = file_of(program("one", "event"))
    assert loaded.find_program() is loaded.programs[0]


def test_numbers_of_maps_and_programs():
    loaded = file_of(program("one", "event"), program("two", "event"))
    assert loaded.number_of("two", "program") == 1
    assert loaded.number_of("hits", "map") == 0
    with pytest.raises(InputError, match=r"a\.o has no map 'miss'; it has hits"):
        loaded.number_of("miss", "map")
    with pytest.raises(InputError, match=r"a\.o has no program 'hits'; it has one, two"):
        loaded.number_of("hits", "program")


def test_lines_go_up_to_the_next_one_and_not_beyond_their_function():
    made = program("one", "event", lines={1: LINE})
    assert [made.line_at(slot) for slot in range(6)] == [None, LINE, LINE, None, None, None]
    assert str(LINE) == "a.c:3"
    assert made.function_at(2).name == "one"
    assert made.function_at(3).name == "helper"
    assert made.function_at(5) is None


def test_code_without_a_file():
    loaded = ObjectFile.of_code(Program.of([mov(0, 0), leave()], name="-"))
    assert str(loaded.find_program()) == "-"
    assert loaded.find_program("-").functions[0].slots == 2
    with pytest.raises(InputError, match=r"choose one with --section: -$"):
        loaded.find_program("other")
    with pytest.raises(InputError, match="- has no map 'm'; it has none"):
        loaded.number_of("m", "map")
