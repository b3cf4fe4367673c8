"""Build, load, dump and run as a user types them, with everything that can be wrong with a file."""

import json

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf import encode_program
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.commands import ebpf
from fanweave.sw.ebpf.object.samples import SAMPLES

HEADER = "#include <fanweave/bpf.h>\n"


def call(*arguments, given=None):
    return CliRunner().invoke(ebpf, [str(each) for each in arguments], input=given)


def refusal(*arguments, given=None):
    result = call(*arguments, given=given)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The samples, built by the command."""
    made = tmp_path_factory.mktemp("objects")
    for name, text in SAMPLES.items():
        source = made / f"{name}.c"
        source.write_text(text)
        result = call("build", source)
        assert result.output == f"{made / name}.o: {(made / f'{name}.o').stat().st_size} bytes\n"
    return made


def test_an_object_is_built_shown_loaded_and_run(folder):
    file = folder / "variables.o"
    assert call("load", file).output.startswith(f"{file}: license Dual BSD/GPL\nprograms: 2, ")
    dump = call("dump", file).output
    assert "R_BPF_64_32 (10)" in dump
    assert "program event:second, " in dump
    result = call("run", file, "--section", "event:first", "--mem", "05")
    assert (result.exit_code, result.output) == (0, "19\n")


def test_maps_go_in_and_come_out(folder, tmp_path):
    file, after = folder / "maps.o", tmp_path / "after.json"
    run = ("run", file, "--section", "use", "--mem", "01000000")
    assert call(*run, "--maps-out", after).output == "a\n"
    state = json.loads(after.read_text())
    assert state["hash"]["entries"] == [{"key": "01000000", "value": "200000000a000001"}]
    assert state["tables"]["entries"][1] == {"key": "02000000", "map": "second"}
    # The key is there now, and the queue holds one more.
    del state["ring"]
    before = tmp_path / "before.json"
    before.write_text(json.dumps(state))
    assert call(*run, "--maps-in", before).output == f"{1000 + 10:x}\n"
    assert call(*run, "--maps-in", "-", given=before.read_text()).output == f"{1000 + 10:x}\n"
    text, _, result = call(*run, "--maps-out", "-").output.rpartition("}")
    assert json.loads(text + "}")["hash"]["entries"]
    assert result == "\na\n"


def test_loads_say_what_was_verified(folder):
    output = call("load", folder / "maps.o").output
    assert "4 or more" in output
    assert output.splitlines()[-1].startswith("  types, bounds, null checks")
    output = call("load", folder / "maps.o", "--no-verify").output
    assert output.splitlines()[-1] == "not verified: a program may still fault"
    assert "rule CONTEXT_BOUNDS" in refusal("load", folder / "maps.o", "--context-bytes", "3")
    assert "rule BUDGET" in refusal("load", folder / "maps.o", "--budget", "20")


def test_objects_are_verified_before_they_run(folder):
    run = ("run", folder / "variables.o", "--section", "first")
    message = refusal(*run)
    assert "variables.c:29: __u32 key = context[0];" in message
    assert "rule CONTEXT_BOUNDS" in message
    assert "--mem gives 0 bytes; without verification (--no-verify) it runs" in message
    result = call(*run, "--no-verify")
    assert isinstance(result.exception, FaultError)
    assert "instruction 0 (" in str(result.exception)
    assert str(result.exception).endswith("out of bounds after 1 instruction")
    assert "rule BUDGET" in refusal(*run, "--mem", "00", "--budget", "5")


def test_bare_programs_are_verified_only_if_asked():
    text = encode_program(assemble("r0 = 1\nif r0 == 1 goto +1\nr0 = *(u8 *)(r1 + 0)\nexit")).hex()
    assert call("run", "--hex", "-", given=text).output == "1\n"
    assert call("run", "--hex", "-", "--verify", given=text).output == "1\n"
    text = encode_program(assemble("r0 = r3\nexit")).hex()
    assert call("run", "--hex", "-", given=text).output == "0\n"
    assert "rule REGISTER_UNSET" in refusal("run", "--hex", "-", "--verify", given=text)


def test_a_program_in_a_table_is_verified_too(folder, tmp_path):
    maps = tmp_path / "maps.json"
    maps.write_text('{"programs": {"entries": [{"key": "01000000", "program": "use"}]}}')
    run = ("run", folder / "maps.o", "--section", "tail", "--mem")
    assert call(*run, "01000000", "--maps-in", maps).output == "a\n"
    assert call(*run, "05000000").output == "4d\n"
    assert call(*run, "04000000").output == "1\n"


@pytest.mark.parametrize("command", ["load", "dump", "verify", "run"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.o", "none.o cannot be read: No such file or directory"),
        (".", ". cannot be read: Is a directory"),
        ("cut.o", "cut.o, offset 0x"),
        ("short.o", "short.o, header: the file has 30 bytes; an ELF header has 64"),
        ("x86.o", "machine EM_X86_64; it must be EM_BPF, of `fanweave ebpf build` or `clang -t"),
    ],
)
def test_files_that_are_none(folder, tmp_path, monkeypatch, command, name, message):
    monkeypatch.chdir(tmp_path)
    whole = (folder / "maps.o").read_bytes()
    (tmp_path / "cut.o").write_bytes(whole[:3000])
    (tmp_path / "short.o").write_bytes(whole[:30])
    (tmp_path / "x86.o").write_bytes(whole[:18] + b"\x3e\0" + whole[20:])
    assert message in refusal(command, name)


def test_an_empty_file(tmp_path):
    file = tmp_path / "empty.o"
    file.write_bytes(b"")
    for command in ("load", "dump"):
        assert "it begins with nothing and not with 7f 45 4c 46" in refusal(command, file)
    for command in ("run", "verify"):
        assert "the program is empty; it needs an exit at least" in refusal(command, file)


def test_what_is_no_object_says_what_is_expected(folder):
    message = refusal("run", folder / "event.c")
    assert message.startswith(f"{folder / 'event.c'}: the program has ")
    assert message.endswith("expected instructions or an object file of `fanweave ebpf build`")
    assert "is no text; instructions as they are need no --hex" in refusal(
        "run", "--hex", folder / "event.o"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'struct { __uint(type, 15); __uint(max_entries, 1); } m SEC(".maps");',
            "map 'm' is of type 15 (SOCKMAP), which is not supported; HASH, ARRAY, ",
        ),
        (
            'struct { __uint(type, 1501); __uint(max_entries, 1); } m SEC(".maps");',
            "map 'm' is of type 1501 (unknown to Linux too), which is not supported",
        ),
        (
            'struct { __u32 f[5]; } m SEC("maps") = { { 14, 4, 4, 1, 0 } };',
            "map 'm' is of type 14 (DEVMAP), which is not supported",
        ),
        (
            "static int (*far)(void *) = (void *)4; __noinline int g(void *c) { return far(c); }",
            "helper 4 (probe_read) is not supported; supported are 1 map_lookup_elem, ",
        ),
        (
            "__noinline int g(void *c) { void *volatile d = c; return c ? g(d) + 1 : 0; }",
            "'g' calls itself",
        ),
        (
            '__noinline int g(void *c) { asm volatile(".rept 65536\\nr0 = 1\\n.endr"); return 0; }',
            "at most 65536 are possible",
        ),
        (
            "struct { __uint(type, 2); __uint(max_entries, 100000000); __type(key, __u32);"
            '__type(value, __u64); } m SEC(".maps");',
            "map 'm' needs 800000000 bytes for its values; at most 4194304 are possible",
        ),
        (
            'struct { __uint(type, 1); __type(key, __u32); __type(value, __u32); } m SEC(".maps");',
            "map 'm' has max_entries = 0; it needs 1 or more",
        ),
    ],
)
def test_sources_that_build_and_cannot_be_loaded(tmp_path, text, message):
    source = tmp_path / "bad.c"
    calls = "g(c)" if " g(" in text else "0"
    source.write_text(f'{HEADER}{text}\nSEC("event") int f(void *c) {{ return {calls}; }}\n')
    assert call("build", source).exit_code == 0
    for command in ("load", "run"):
        assert message in refusal(command, tmp_path / "bad.o")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "it has 3 programs; choose one with --section: event/tail:other, event/tail:tail, "),
        (("--section", "none"), "section 'none' names 0 programs; choose one with --section: "),
        (("--section", "event/tail"), "section 'event/tail' names 2 programs"),
        (("--section", "use", "--mem", "1"), "--mem: not hexadecimal; expected pairs of digits"),
        (("--section", "use", "--mem", "0x01"), "--mem: not hexadecimal"),
        (("--section", "use", "--engine", "none"), "engine 'none' is not known; choose one of"),
        (("--section", "use", "--maps-in", "none.json"), "none.json cannot be read: No such file"),
        (("--section", "use", "--maps-in", "bad.json"), "bad.json, map 'hash', entry 0: key has"),
        (("--section", "use", "--maps-in", "other.json"), "other.json: maps.o has no map 'other'"),
        (
            ("--section", "use", "--mem", "01000000", "--maps-out", "no/such/file"),
            "output no/such/file cannot be written",
        ),
    ],
)
def test_options_that_do_not_fit(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maps.o").write_bytes((folder / "maps.o").read_bytes())
    (tmp_path / "bad.json").write_text('{"hash": {"entries": [{"key": "00", "value": "00"}]}}')
    (tmp_path / "other.json").write_text('{"other": {}}')
    files = sorted(tmp_path.iterdir())
    assert message in refusal("run", "maps.o", *arguments)
    assert sorted(tmp_path.iterdir()) == files


def test_a_refusal_leaves_what_was_there(folder, tmp_path):
    target = tmp_path / "after.json"
    target.write_text("before")
    refusal("run", folder / "variables.o", "--section", "first", "--maps-out", target)
    source = tmp_path / "bad.c"
    source.write_text("int x = y;")
    (tmp_path / "bad.o").write_text("before")
    refusal("build", source)
    assert target.read_text() == (tmp_path / "bad.o").read_text() == "before"


def test_a_fault_still_writes_the_maps(folder, tmp_path):
    target = tmp_path / "after.json"
    run = ("run", folder / "variables.o", "--section", "second", "--no-verify", "--mem", "")
    assert isinstance(call(*run, "--maps-out", target).exception, FaultError)
    assert ".bss" in json.loads(target.read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.c",), "none.c is not a file; a C source is expected"),
        ((".",), ". is not a file; a C source is expected"),
        (("event.c", "-o", "no/such.o"), "output no/such.o cannot be written"),
        (("event.c", "-o", "."), "output . cannot be written"),
        (("event.c", "--cpu", "v9"), "cpu 'v9' does not exist; choose one of v1, v2, v3, v4"),
        (("event.o",), "event.o is both source and object file; name another one with -o"),
        (("event.c", "-o", "event.c"), "event.c is both source and object file"),
    ],
)
def test_builds_that_are_refused(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    files = {file: file.read_bytes() for file in folder.iterdir()}
    assert message in refusal("build", *arguments)
    assert {file: file.read_bytes() for file in folder.iterdir()} == files


def test_headers(tmp_path):
    output = call("headers", "-o", tmp_path / "include").output.split()
    assert {line.rpartition("/")[2] for line in output} >= {"bpf.h", "cxl.h"}
    assert all((tmp_path / "include" / "fanweave" / name).is_file() for name in ("bpf.h", "cxl.h"))
