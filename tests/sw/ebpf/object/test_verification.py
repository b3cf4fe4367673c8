"""What of an object file the verifier is told, for an event and for all of them."""

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.ebpf.object.verification import (
    check_object,
    context_of,
    verify_for_event,
    verify_for_load,
    verify_program,
)
from fanweave.sw.ebpf.verifier import ContextRule, Rule, VerificationError

TABLE = """
struct { __uint(type, 3); __uint(max_entries, 2); __array(values, int(void *)); } table
    SEC(".maps") = { .values = { [1] = (void *)&named } };
"""
PROGRAMS = """
int named(void *context);
TABLE
SEC("event") int named(void *context) { return 1; }
SEC("event") int wrong(__u8 *context) { return context[5000]; }
SEC("event") int main_(void *context) { bpf_tail_call(context, &table, 0); return 2; }
"""


def code(text):
    return ObjectFile.of_code(Program.of(assemble(text), name="p"))


def for_load(text, **others):
    loaded = code(text)
    return verify_for_load(loaded, loaded.programs[0], **others)


def for_event(text, size, **others):
    loaded = code(text)
    return verify_for_event(loaded, loaded.programs[0], context_bytes=size, contents={}, **others)


def test_contexts(sample):
    event = load_object(sample("event"), "event.o").programs[0]
    other = load_object(sample("variables"), "variables.o").programs[0]
    assert context_of(event) == ContextRule.exactly(64)
    assert context_of(event, 8) == ContextRule.exactly(8)
    assert context_of(other) == ContextRule(least=0, most=4096)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("r0 = 0\nexit", 0),
        ("r0 = *(u32 *)(r1 + 12)\nexit", 16),
        ("r0 = 0\nif r2 < 4 goto +1\nr0 = *(u32 *)(r1 + 0)\nexit", 0),
        # Of what lies behind a comparison nothing is required.
        ("r0 = *(u8 *)(r1 + 1)\nif r2 < 9 goto +1\nr0 = *(u8 *)(r1 + 1)\nexit", 2),
    ],
)
def test_how_long_a_context_must_be(text, least):
    verified = for_load(text)
    assert verified.context == ContextRule(least=least, most=4096)


def test_a_length_that_is_known():
    text = "r0 = *(u32 *)(r1 + 12)\nexit"
    assert for_load(text, context_bytes=16).context == ContextRule.exactly(16)
    with pytest.raises(VerificationError, match=r"rule CONTEXT_BOUNDS.*--no-verify loads it all"):
        for_load(text, context_bytes=15)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("r0 = *(u8 *)(r1 + 4096)\nexit", Rule.CONTEXT_BOUNDS),
        ("r0 = *(u8 *)(r1 - 1)\nexit", Rule.CONTEXT_BOUNDS),
        ("r0 = *(u8 *)(r1 + 0)\nr0 = r3\nexit", Rule.REGISTER_UNSET),
        ("r0 = 0\ngoto -2", Rule.ENDLESS),
    ],
)
def test_what_no_context_mends(text, rule):
    with pytest.raises(VerificationError) as refused:
        for_load(text)
    assert refused.value.rule is rule


def test_budgets():
    text = "r0 = 0\nr0 = 1\nexit"
    assert for_event(text, 0, budget=3).worst_case_instructions == 3
    for decide in (lambda: for_event(text, 0, budget=2), lambda: for_load(text, budget=2)):
        with pytest.raises(VerificationError) as refused:
            decide()
        assert refused.value.rule is Rule.BUDGET


def test_an_event_says_how_long_its_context_is():
    text = "r0 = *(u32 *)(r1 + 0)\nexit"
    assert for_event(text, 4).context_bytes == 4
    with pytest.raises(VerificationError) as refused:
        for_event(text, 3)
    assert str(refused.value).endswith(
        "; --mem gives 3 bytes; without verification (--no-verify) it runs all the same"
    )


def test_only_programs_that_tables_name_are_followed(load):
    loaded = load(PROGRAMS.replace("TABLE", TABLE))
    program = loaded.find_program("main_")
    event = {"context_bytes": 0, "budget": 1000}
    assert verify_for_event(loaded, program, contents={}, **event).frames == 1
    table, wrong = loaded.number_of("table", "map"), loaded.number_of("wrong", "program")
    contents = {table: [(bytes(4), wrong.to_bytes(4, "little"))]}
    with pytest.raises(VerificationError, match="wrong, instruction 0"):
        verify_for_event(loaded, program, contents=contents, **event)
    # A loader knows what the file says.
    assert verify_for_load(loaded, program).context.least == 0


def test_a_table_without_entries_may_get_any_program(load):
    empty = TABLE.partition(" = {")[0] + ";"
    loaded = load(PROGRAMS.replace("TABLE", empty))
    program = loaded.find_program("main_")
    with pytest.raises(VerificationError, match="wrong, instruction 0"):
        verify_program(loaded, program, context=ContextRule.exactly(0))
    assert verify_for_event(loaded, program, context_bytes=0, contents={}).slots


def test_refusals_name_file_line_and_function(load):
    loaded = load('SEC("event") int program(int *context) {\n return context[1];\n}')
    with pytest.raises(VerificationError) as refused:
        verify_for_event(loaded, loaded.programs[0], context_bytes=4, contents={})
    assert str(refused.value).startswith("program.o, program, instruction 0 (")
    assert "program.c:3: return context[1];: r1 is an address in the context" in str(refused.value)


def test_structural_checks_name_the_file(load):
    loaded = load(
        "__noinline int g(int x) { volatile int y = x; return x ? g(y - 1) + 1 : 0; }"
        'SEC("a") int bad(void *c) { return g(3); } SEC("b") int good(void *c) { return 1; }'
    )
    with pytest.raises(InputError, match=r"program\.o, bad: 'g' calls itself"):
        check_object(loaded)
    check_object(loaded, loaded.find_program("good"))
    check_object(ObjectFile.of_code(Program.of([mov(0, 0), leave()], name="-")))
    with pytest.raises(InputError, match=r"^p, instruction 0: helper 4"):
        check_object(code("call 4\nexit"))
