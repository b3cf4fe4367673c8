"""What `load` and `dump` print."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.report import code_report, file_report, load_report
from fanweave.sw.ebpf.object.verification import verify_for_load


def rows(lines, head):
    """The columns below a line that begins like this."""
    start = next(n for n, line in enumerate(lines) if line.startswith(head)) + 1
    found = []
    for line in lines[start:]:
        if not line.startswith("  "):
            break
        found.append(line.split())
    return found


def test_a_report_of_a_load(sample):
    lines = load_report(load_object(sample("variables"), "variables.o"))
    assert lines[0] == "variables.o: license Dual BSD/GPL"
    head, first, second = rows(lines, "programs: 2, ")
    assert head == ["number", "section", "program", "slots", "functions"]
    assert first[:3] == ["0", "event", "first"]
    assert second[4:] == ["second,", "shared,", "twice"]
    slots = int(first[3]) + int(second[3])
    assert f"programs: 2, {8 * slots} bytes of code" in lines
    maps = rows(lines, "maps: 7, ")
    assert maps[1] == ["0", "old", "HASH", "4", "8", "32", "0x0", "384", "maps"]
    assert lines[-1] == "not verified: a program may still fault"


def test_bytes_grow_with_engines(sample):
    loaded = load_object(sample("maps"), "maps.o")

    def own(engines):
        found = rows(load_report(loaded, engines=engines), "maps: ")
        return next(row[-2] for row in found if row[1] == "own")

    assert (own(1), own(4)) == ("16", "64")


def test_what_the_verifier_says_is_shown(sample):
    loaded = load_object(sample("maps"), "maps.o")
    verified = [verify_for_load(loaded, program) for program in loaded.programs]
    lines = load_report(loaded, verified=verified)
    head, other, tail, use = rows(lines, "programs: 3, ")
    assert head[4:7] == ["instructions", "stack", "context"]
    assert other[4:7] == ["2", "0", "any"]
    # Six instructions at most, and two of the other program.
    assert tail[4:9] == ["7", "0", "4", "or", "more"]
    assert int(use[4]) <= int(use[3])
    assert lines[-1].startswith("  types, bounds, null checks")
    event = load_object(sample("event"), "event.o")
    lines = load_report(event, verified=[verify_for_load(event, event.programs[0])])
    assert rows(lines, "programs: 1, ")[1][6] == "64"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'static int (*probe)(void *) = (void *)4; SEC("x") int f(void *c) { return probe(c); }',
            "program.o, f, instruction 0, ",
        ),
        (
            "__noinline int g(int x) { volatile int y = x; return x ? g(y - 1) + 1 : 0; }"
            'SEC("x") int f(void *c) { return g(3); }',
            "program.o, f: 'g' calls itself; write a loop",
        ),
        (
            'struct { __uint(type, 27); __uint(max_entries, 1000); } m SEC(".maps");'
            'SEC("x") int f(void *c) { return 0; }',
            "program.o, map 'm' of type RINGBUF has max_entries = 1000; it must be a power of two",
        ),
    ],
)
def test_what_a_loader_refuses(load, text, message):
    with pytest.raises(InputError) as refused:
        load_report(load(text))
    assert message in str(refused.value)


def test_a_dump_shows_sections_relocations_and_types(sample):
    lines = list(file_report(read_elf(sample("variables"), "variables.o")))
    assert lines[0] == "variables.o: ELF64, eBPF, little-endian"
    sections = {row[1]: row for row in rows(lines, "sections:")[2:]}
    assert sections[".bss"][2:] == ["NOBITS", *sections[".bss"][3:4], "40", "WA"]
    assert sections["event"][2] == "PROGBITS"
    assert sections["event"][-1] == "AX"
    relocations = rows(lines, "relocations:")
    assert ["event", "0x20", "R_BPF_64_64", "(1)", "old", "0x0"] in relocations
    text = "\n".join(lines)
    assert "STRUCT struct definition, 20 bytes\n      type at bit 0: __u32\n" in text
    assert "VAR limit: __u32 volatile const" in text


def test_a_dump_without_types_or_relocations(build, patch_section):
    data = build('SEC("event") int p(void *c) { return 0; }')
    lines = list(file_report(read_elf(patch_section(data, ".BTF", "name", 0), "p.o")))
    assert rows(lines, "relocations:") == [["section", "offset", "type", "symbol", "value"]]
    assert not any(line.startswith("types") for line in lines)


def test_a_dump_shows_code_and_what_tables_begin_with(sample):
    lines = list(code_report(load_object(sample("maps"), "maps.o")))
    assert lines[0] == "license: not given"
    assert "  tables[2] = second" in lines
    assert "  programs[5] = other" in lines
    assert "program event/tail:other, 2 slots:" in lines
    assert any(line.endswith("r2 = map programs") for line in lines)
