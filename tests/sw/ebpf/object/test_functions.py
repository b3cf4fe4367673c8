"""Which code belongs to which function, and functions that are damaged."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction, encode_program
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.object.elf import Elf, Section, Symbol, SymbolKind
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.functions import decode, find_functions

FOUR = encode_program(assemble("r0 = 1\nexit\nr0 = 2\nexit"))


def file_of(code=FOUR, *symbols, name="event"):
    section = Section(
        number=1,
        name=name,
        kind="SHT_PROGBITS",
        offset=64,
        size=len(code),
        data=code,
        writable=False,
        allocated=True,
        executable=True,
        link=0,
        info=0,
    )
    made = [
        Symbol(
            number=number,
            name=label,
            kind=SymbolKind.FUNCTION,
            local=label.startswith("_"),
            section=1,
            value=value,
            size=size,
        )
        for number, (label, value, size) in enumerate(symbols, start=1)
    ]
    return Elf(name="file", sections=(section,), symbols=tuple(made), relocations={})


def names(elf):
    return [(code.name, code.start, code.end, code.local) for code in find_functions(elf)]


def test_functions_by_place():
    elf = file_of(FOUR, ("second", 16, 16), ("_first", 0, 16))
    assert names(elf) == [("_first", 0, 16, True), ("second", 16, 32, False)]
    code = find_functions(elf)[1]
    assert (code.slots, code.key) == (2, (1, 16))
    assert str(code) == "section 1 'event', function 'second'"


def test_code_without_names_is_one_function():
    assert names(file_of()) == [("event", 0, 32, False)]
    assert names(file_of(b"")) == []


def test_functions_without_a_size_go_up_to_the_next_one():
    assert names(file_of(FOUR, ("a", 0, 0), ("b", 16, 0))) == [
        ("a", 0, 16, False),
        ("b", 16, 32, False),
    ]


def test_two_names_of_one_place():
    elf = file_of(FOUR, ("a", 0, 16), ("b", 0, 16), ("c", 16, 16))
    assert [name for name, *_ in names(elf)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("code", "symbols", "message"),
    [
        (FOUR[:-3], (), "section 1 'event': 29 bytes of code; it must be a multiple of 8"),
        (FOUR, (("a", 4, 16),), "'a': 0x10 bytes at 0x4; both must be multiples of 8"),
        (FOUR, (("a", 0, 12),), "'a': 0xc bytes at 0x0; both must be multiples"),
        (FOUR, (("a", 24, 16),), "'a': 0x10 bytes at 0x18; both must be multiples of 8 and end w"),
        (FOUR, (("a", 32, 0),), "function 'a': it has no code"),
        (FOUR, (("a", 0, 24), ("b", 16, 16)), "'a': it ends at 0x18, in the one at 0x10"),
    ],
)
def test_functions_that_are_none(code, symbols, message):
    with pytest.raises(InputError) as refused:
        find_functions(file_of(code, *symbols))
    assert str(refused.value).startswith("file, section 1 'event'")
    assert message in str(refused.value)


def decoded(text):
    elf = file_of(encode_program(assemble(text)), ("a", 0, 0))
    return decode(elf, find_functions(elf)[0])


def test_instructions_with_their_places():
    placed = decoded("r1 = 5 ll\nr0 = 1\nexit")
    assert [offset for offset, _ in placed] == [0, 16, 24]
    assert all(isinstance(instruction, Instruction) for _, instruction in placed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r0 = 1", "'a': control can run off its end; its last instruction must be an exit or"),
        ("if r1 == 0 goto +1\nexit", "'a', offset 0x0: a jump to slot 2 of the function, which"),
        ("r0 = 0\ngoto -3", "'a', offset 0x8: a jump to slot -1 of the function, which has 2"),
        ("gotol +1\nexit", "'a', offset 0x0: a jump to slot 2"),
    ],
)
def test_functions_that_lead_out_of_themselves(text, message):
    with pytest.raises(InputError) as refused:
        decoded(text)
    assert message in str(refused.value)


def test_half_of_a_wide_instruction():
    elf = file_of(bytes.fromhex("1801000000000000"), ("a", 0, 0))
    with pytest.raises(InputError, match="function 'a': instruction 0: a 64-bit immediate load"):
        decode(elf, find_functions(elf)[0])


def test_what_the_compiler_writes(sample):
    found = {code.name: code for code in find_functions(read_elf(sample("variables"), "file"))}
    assert found.keys() == {"first", "second", "shared", "twice"}
    assert found["twice"].local
    assert found["first"].section.name == "event"
    assert found["first"].end == found["second"].start
