"""The command ``verify`` as people call it."""

import json

import pytest
from click.testing import CliRunner

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import encode_program
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.commands import ebpf
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.verifier import Rule, VerificationError

POLICY = """
#include <fanweave/bpf.h>
#include <fanweave/cxl.h>
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u64);
} hits SEC(".maps");
SEC("cxl")
__u64 count(struct cxl_event *event)
{
    __u32 key = event->address & 3;
    __u64 *hit = bpf_map_lookup_elem(&hits, &key);
    CHECK
    *hit += 1;
    return cxl_pass();
}
char LICENSE[] SEC("license") = "GPL";
"""


def call(*arguments, given=None):
    return CliRunner().invoke(ebpf, ["verify", *arguments], input=given)


def hexadecimal(text):
    return encode_program(assemble(text)).hex()


@pytest.fixture
def build(tmp_path):
    def made(check):
        source = tmp_path / "policy.c"
        source.write_text(POLICY.replace("CHECK", check))
        target = tmp_path / "policy.o"
        target.write_bytes(compile_c(source).data)
        return str(target)

    return made


def test_an_object_file(build):
    result = call(build("if (!hit) return 0;"), "--stats")
    first, second = result.output.splitlines()
    assert first.startswith("count: accepted: ")
    assert first.endswith(" of 1000000 instructions, 4 bytes of stack in 1 frame, maps: hits")
    assert second.startswith("  followed ")


def test_a_refusal_names_line_register_and_rule(build):
    result = call(build(""))
    assert isinstance(result.exception, VerificationError)
    assert result.exception.rule is Rule.NULL_CHECK
    message = str(result.exception)
    assert message.startswith("count, instruction ")
    assert "policy.c:16: *hit += 1;" in message
    assert "r0 is the address of a value, or null of map 'hits' (8 bytes)" in message
    assert "rule NULL_CHECK: what may be null is compared with 0" in message


def test_a_length_that_nobody_knows():
    text = hexadecimal("r0 = 0\nif r2 < 4 goto +1\nr0 = *(u32 *)(r1 + 0)\nexit")
    assert call("--hex", "-", given=text).exit_code == 0
    text = hexadecimal("r0 = *(u32 *)(r1 + 0)\nexit")
    refused = call("--hex", "-", given=text).exception
    assert isinstance(refused, VerificationError)
    assert str(refused).endswith("; --context-bytes says how long it is")
    assert call("--hex", "-", "--context-bytes", "4", given=text).exit_code == 0
    short = call("--hex", "-", "--context-bytes", "3", given=text).exception
    assert "--context-bytes" not in str(short)


def test_json(build, tmp_path):
    result = call(build("if (!hit) return 0;"), "--json", "-", "--budget", "100")
    document = json.loads(result.output)
    (program,) = document["programs"]
    assert document["budget"] == 100
    assert program["accepted"]
    assert program["maps"] == ["hits"]
    assert program["worst_case_instructions"] <= program["slots"]
    target = tmp_path / "no.json"
    assert call(build(""), "--json", str(target)).exception is not None
    assert not target.exists()


def test_definitions_of_maps(tmp_path):
    definitions = tmp_path / "maps.json"
    definitions.write_text(
        '{"a": {"type": "ARRAY", "key_size": 4, "value_size": 8, "max_entries": 1}}'
    )
    text = hexadecimal(
        "*(u32 *)(r10 - 4) = 0\nr1 = 0x80000000 ll\nr2 = r10\nr2 += -4\ncall 1\nr0 = 0\nexit"
    )
    assert call("--hex", "-", "--maps", str(definitions), given=text).exit_code == 0
    assert isinstance(call("--hex", "-", given=text).exception, VerificationError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "--maps", "-"), "program and maps cannot both come from standard input"),
        (("nothing.bin",), "nothing.bin cannot be read"),
    ],
)
def test_bad_input(arguments, message):
    result = call(*arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_maps_beside_an_object_file(build):
    result = call(build("if (!hit) return 0;"), "--maps", "-")
    assert "which defines its maps" in str(result.exception)


def test_against_linux(build, tmp_path):
    if reason := why_unavailable():
        pytest.skip(f"the kernel of this machine verifies no programs: {reason}")
    result = call(build("if (!hit) return 0;"), "--against", "kernel")
    assert result.output.splitlines()[-1] == "count: both accept it"
    target = tmp_path / "verdicts.json"
    result = call(build(""), "--against", "kernel", "--json", str(target))
    assert "count: both refuse it" in result.output
    assert isinstance(result.exception, VerificationError)
    (program,) = json.loads(target.read_text())["programs"]
    assert not program["accepted"]
    assert program["rule"] == "NULL_CHECK"
    assert program["linux"]["agrees"]


def test_against_a_linux_that_refuses_everything(monkeypatch):
    monkeypatch.setattr("fanweave.sw.ebpf.verifier.kernel.why_unavailable", lambda: "not allowed")
    result = call("--hex", "-", "--against", "kernel", given=hexadecimal("r0 = 0\nexit"))
    assert isinstance(result.exception, InputError)
    assert "no verifier of Linux to compare with: not allowed" in str(result.exception)
