"""Object files are loaded, whatever is in them; and what is not one is refused."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object import loader
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import is_object, load_object, read_object, types_of

PROGRAM = 'SEC("event") int program(void *context) { return 7; }'


def test_programs_maps_and_license(sample):
    loaded = load_object(sample("variables"), "variables.o")
    assert (loaded.name, loaded.license) == ("variables.o", "Dual BSD/GPL")
    assert [str(program) for program in loaded.programs] == ["event:first", "event:second"]
    assert [made.name for made in loaded.maps[:2]] == ["old", "older"]


def test_a_table_names_maps_and_programs(sample):
    loaded = load_object(sample("maps"), "maps.o")
    made = {found.name: found for found in loaded.maps}
    names = {at: loaded.maps[number].name for at, number in made["tables"].entries.items()}
    assert names == {0: "first", 2: "second"}
    assert made["tables"].inner.kind is MapType.ARRAY
    assert made["programs"].entries == {5: "other"}
    assert loaded.license == ""


def test_a_path_names_the_file(sample, tmp_path):
    file = tmp_path / "event.o"
    file.write_bytes(sample("event"))
    assert load_object(file).name == str(file)
    assert load_object(file, "other").name == "other"
    assert is_object(file.read_bytes())
    assert not is_object(b"")
    assert not is_object(b"\x95" + bytes(7))


@pytest.mark.parametrize("name", ["event", "maps", "variables"])
def test_every_beginning_of_a_file_is_refused(sample, name):
    data = sample(name)
    for length in [*range(64), *range(64, len(data), 97)]:
        with pytest.raises(InputError, match=r"^cut\.o, "):
            load_object(data[:length], "cut.o")


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"none\.o cannot be read: No such file or directory"):
        read_object(tmp_path / "none.o")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_object(tmp_path)
    monkeypatch.setattr(loader, "MAX_BYTES", 3)
    file = tmp_path / "large.o"
    file.write_bytes(bytes(4))
    with pytest.raises(InputError, match="has more than 3 bytes, which no object file may have"):
        read_object(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x = 3;", "sections: there is no program: no visible function in any section"),
        (
            'int table[2] SEC(".struct_ops") = {1}; ' + PROGRAM,
            "'.struct_ops': operations of a kernel's structure, which are not possible here",
        ),
        (
            'int table[2] SEC(".addr_space.1") = {1}; ' + PROGRAM,
            "'.addr_space.1': variables in an arena, which are not possible here",
        ),
        (
            "struct task { int pad; int pid; } __attribute__((preserve_access_index));"
            'SEC("event") int program(struct task *task) { return task->pid; }',
            "task",
        ),
    ],
)
def test_what_only_a_kernel_has(load, text, message):
    with pytest.raises(InputError) as refused:
        load(text)
    assert str(refused.value).startswith("program.o, ")
    assert message in str(refused.value)


def test_two_programs_of_one_name(sample, patch):
    data = sample("variables")
    elf = read_elf(data, "file")
    at = {symbol.name: elf.find(".symtab").offset + 24 * symbol.number for symbol in elf.symbols}
    name = int.from_bytes(data[at["first"] : at["first"] + 4], "little")
    with pytest.raises(InputError, match="program 'first': the name is there 2 times"):
        load_object(patch(data, at["second"], 4, name), "variables.o")


def test_files_without_types(load, sample, patch_section):
    data = patch_section(sample("event"), ".BTF", "name", 0)
    assert types_of(read_elf(data, "file")) == (None, None)
    with pytest.raises(InputError, match=r"has no types \(BTF\) for its maps; build it with -g"):
        load_object(data, "event.o")
    loaded = load(PROGRAM)
    assert loaded.programs[0].lines
