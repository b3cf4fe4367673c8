"""Programs are put together: calls, maps, variables and lines; and what cannot be."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import WideKind
from fanweave.sw.ebpf.object import linker
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.engines import RunRequest, find_engine
from fanweave.sw.ebpf.object.loader import load_object


def result(loaded, context=b"", section=None):
    done = find_engine("golden")(
        RunRequest(loaded=loaded, program=loaded.find_program(section), context=context)
    )
    assert not done.fault
    return done


SECTIONS = """
__noinline __u64 before(__u64 x) { barrier_var(x); return x + 1000; }
__noinline __u64 in_text(__u64 x) { barrier_var(x); return 3 * x; }
static __noinline SEC("library") __u64 elsewhere(__u64 x) { barrier_var(x); return in_text(x) + 1; }
SEC("event") __u64 program(__u8 *context)
{
    return elsewhere(context[0]) + 100 * in_text(context[1]) + before(0);
}
""".replace("barrier_var(x)", 'asm volatile("" : "+r"(x))')


def test_calls_between_sections(load):
    loaded = load(SECTIONS)
    (program,) = loaded.programs
    assert [(f.name, f.section) for f in program.functions] == [
        ("program", "event"),
        ("elsewhere", "library"),
        ("in_text", ".text"),
        ("before", ".text"),
    ]
    ends = [f.start + f.slots for f in program.functions]
    assert ends == [*[f.start for f in program.functions[1:]], len(program.program.slots)]
    assert result(loaded, bytes((5, 2))).r0 == 16 + 600 + 1000


def test_functions_are_there_once_a_program(sample):
    loaded = load_object(sample("variables"), "variables.o")
    second = loaded.find_program("second")
    assert [function.name for function in second.functions] == ["second", "shared", "twice"]


def test_maps_and_variables_get_their_numbers(sample):
    loaded = load_object(sample("variables"), "variables.o")
    numbers = {made.name: number for number, made in enumerate(loaded.maps)}
    wide = [i for i in loaded.find_program("first").program.instructions if i.is_wide]
    handles = {i.imm for i in wide if i.src == WideKind.MAP_FD}
    values = {(i.imm, i.high) for i in wide if i.src == WideKind.MAP_VALUE}
    assert handles == {numbers["old"]}
    # `calls` is at the beginning of .bss, and `total` behind its four words.
    assert {(numbers[".bss"], 0), (numbers[".bss"], 32)} <= values
    assert {(numbers[name], 0) for name in (".rodata", ".data", ".rodata.steps")} <= values


@pytest.mark.parametrize("cpu", ["v1", "v2", "v3", "v4"])
def test_variables_hold_what_the_source_says(sample, cpu):
    loaded = load_object(sample("variables", cpu), "variables.o")
    # twice(5) + 1, limit, start, steps[1]; the map is empty.
    done = result(loaded, bytes((5,)), "first")
    assert done.r0 == 11 + 7 + 5 + 2
    contents = {made.name: done.contents[n] for n, made in enumerate(loaded.maps)}
    ((_, bss),) = contents[".bss"]
    words = [int.from_bytes(bss[at : at + 8], "little") for at in range(0, 40, 8)]
    assert words == [0, 1, 0, 0, 5]


def test_lines_come_from_the_source(load):
    loaded = load(SECTIONS)
    program = loaded.programs[0]
    texts = {program.line_at(f.start).text for f in program.functions}
    assert any("3 * x" in text or "asm volatile" in text for text in texts)
    assert {line.file.rpartition("/")[2] for line in program.lines.values()} == {"program.c"}


def test_line_0_is_none(load, build, patch):
    text = 'SEC("event") __u64 program(__u8 *context) { return context[0]; }'
    assert 0 in load(text).programs[0].lines
    data = build(text)
    section = read_elf(data, "file").find(".BTF.ext")
    words = [int.from_bytes(section.data[at : at + 4], "little") for at in (4, 16)]
    # Behind the length of a record and the header of the section, the record's last word.
    place = section.offset + sum(words) + 4 + 8 + 12
    assert 0 not in load_object(patch(data, place, 4, 0), "program.o").programs[0].lines


def test_no_program_outside_of_text_means_that_text_holds_them(load):
    loaded = load("__u64 one(void *c) { return 1; } __u64 two(void *c) { return 2; }")
    assert [str(program) for program in loaded.programs] == [".text:one", ".text:two"]
    assert result(loaded, section="two").r0 == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'extern int far(int); SEC("event") int p(void *c) { return far(1); }',
            "'far' is not defined in this file; all that a program uses must be in one file",
        ),
        (
            'extern int far SEC(".ksyms"); SEC("event") int p(void *c) { return far; }',
            "'far' is not defined in this file; it is an extern of '.ksyms'",
        ),
        (
            'static __noinline int g(void *c) { return 1; } SEC("event") void *p(void *c)'
            " { return (void *)&g; }",
            "which is code; functions can be called, and not be pointed to",
        ),
        (
            'static SEC("event") __attribute__((used)) int hidden(void *c) { return 1; }'
            'SEC("event") int p(void *c) { return 1; }',
            "function 'hidden': it is static, and nothing calls it",
        ),
        (
            'char text[8] SEC("mine") = "x"; SEC("event") int p(void *c)'
            " { return *(volatile char *)text; }",
            "which holds neither maps nor variables; expected .maps, maps, .rodata, .data or .bss",
        ),
        (
            'int x = 3; int *volatile where = &x;SEC("event") int p(void *c) { return *where; }',
            "a variable begins with the address of 'x'; addresses are known only when",
        ),
    ],
)
def test_what_cannot_be_linked_is_named(load, text, message):
    with pytest.raises(InputError) as refused:
        load(text)
    assert str(refused.value).startswith("program.o, section")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("symbol", "field", "value", "message"),
    [
        ("old", "type", 2, "relocation R_BPF_64_ABS64 (2) of 'old' is not possible here; known"),
        ("old", "type", 77, "relocation unknown (77) of 'old' is not possible here"),
        ("old", "type", 10, "a relocation of a call at what is no local call"),
        ("shared", "type", 1, "the address of a symbol needs a 64-bit load"),
        ("old", "offset", 0x21, "offset 0x21: a relocation in the middle of an instruction"),
        ("old", "offset", 0x28, "offset 0x28: a relocation in the second half of a 64-bit"),
        ("old", "offset", 0x58, "offset 0x58: a relocation in the middle of an instruction, or a"),
        ("old", "symbol", 0, "'' is not defined in this file"),
    ],
)
def test_relocations_that_are_damaged(sample, patch_relocation, symbol, field, value, message):
    data = patch_relocation(sample("variables"), "event", symbol, field, value)
    with pytest.raises(InputError) as refused:
        load_object(data, "variables.o")
    assert "section 4 'event'" in str(refused.value)
    assert message in str(refused.value)


def test_a_variable_outside_of_its_section(sample, patch_symbol):
    data = patch_symbol(sample("variables"), "start", "value", 8)
    with pytest.raises(InputError, match=r"offset 8 of section 8 '\.data', whose variables have 8"):
        load_object(data, "variables.o")


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (0x20, 4, "offset 0x20: no map begins at offset 0x4 of section 6 'maps'"),
        (0xA0, 0, "offset 0xa0: a call to offset 0x8 of section 2 '.text', where no function b"),
        (0x1E8, 2, "offset 0x1e8: a call to offset 0x18 of section 2 '.text', where no function"),
    ],
)
def test_instructions_that_point_beside_a_symbol(sample, patch, offset, value, message):
    data = sample("variables")
    start = read_elf(data, "file").find("event").offset
    with pytest.raises(InputError) as refused:
        load_object(patch(data, start + offset + 4, 4, value), "variables.o")
    assert message in str(refused.value)


def test_too_large_programs(load, monkeypatch):
    monkeypatch.setattr(linker, "MAX_SLOTS", 10)
    with pytest.raises(InputError, match=r"'program': with what it calls it has .* at most 10 are"):
        load(SECTIONS)
    monkeypatch.setattr(linker, "MAX_SLOTS", 1000)
    monkeypatch.setattr(linker, "_ALL_SLOTS", 10)
    with pytest.raises(InputError, match=r"the programs up to here have .* slots; at most 10"):
        load(SECTIONS)


def test_a_program_of_more_instructions_than_there_is_memory_for(load):
    many = r'asm volatile(".rept 65535\n r0 = 1\n .endr\n" ::: "r0");'
    with pytest.raises(InputError, match="has 65537 slots; at most 65536 are possible"):
        load(f'SEC("event") int p(void *context) {{ {many} return 0; }}')
