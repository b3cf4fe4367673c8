"""C is compiled, and what the compiler says reaches the user."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.sw import clang
from fanweave.sw.ebpf.object.compiler import CPUS, compile_c

SOURCE = """
#include <fanweave/bpf.h>
SEC("event") __u64 first(__s32 *context) { return context[0] / VALUE; }
"""


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "program.c"
    file.write_text(SOURCE)
    return file


def test_objects_are_elf_and_the_same_each_time(source):
    made = compile_c(source, define=["VALUE=7"])
    assert made.data.startswith(b"\x7fELF")
    assert made.warnings == ""
    assert made == compile_c(source, define=["VALUE=7"])
    assert made != compile_c(source, define=["VALUE=8"])


def test_the_folder_of_the_headers_leaves_no_trace(source):
    assert b"/fanweave-" not in compile_c(source, define=["VALUE=7"]).data


def test_every_version_of_the_instruction_set(source):
    for cpu in CPUS:
        source.write_text(SOURCE.replace("__s32 *", "__u32 *"))
        assert compile_c(source, cpu=cpu, define=["VALUE=7"]).data
    # Signed division came with version 4.
    source.write_text(SOURCE)
    assert compile_c(source, cpu="v4", define=["VALUE=context[1]"]).data


def test_warnings_do_not_stop_it(source):
    source.write_text(SOURCE.replace("return", "int unused; return"))
    assert "unused variable" in compile_c(source, define=["VALUE=1"]).warnings


def test_headers_of_the_user_come_first(source, tmp_path):
    folder = tmp_path / "mine"
    (folder / "fanweave").mkdir(parents=True)
    (folder / "fanweave" / "bpf.h").write_text("#error mine\n")
    with pytest.raises(InputError, match="mine"):
        compile_c(source, include=[folder])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x = y;", "undeclared identifier 'y'"),
        ("#include <fanweave/none.h>", "hint: `fanweave ebpf headers -o DIR`"),
        (
            'char license[] __attribute__((section("license"))) = "GPL";',
            "hint: a variable has the name of its section",
        ),
    ],
)
def test_errors_are_the_users(source, text, message):
    source.write_text(text)
    with pytest.raises(InputError) as refused:
        compile_c(source)
    assert str(refused.value).startswith(f"{source} does not compile:\n")
    assert message in str(refused.value)


def test_a_name_that_looks_like_an_option(source, monkeypatch):
    monkeypatch.chdir(source.parent)
    source.rename(source.parent / "-O3.c")
    assert compile_c(source.parent.joinpath("-O3.c").relative_to(source.parent), define=["VALUE=1"])


def test_what_is_not_there_is_named(source, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"none\.c is not a file"):
        compile_c(tmp_path / "none.c")
    with pytest.raises(InputError, match="cpu 'v9' does not exist; choose one of v1, v2, v3, v4"):
        compile_c(source, cpu="v9")
    monkeypatch.setattr(clang.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="the compiler is not installed"):
        compile_c(source)


def test_a_compiler_that_does_not_end_is_stopped(source, monkeypatch):
    monkeypatch.setattr(clang, "_SECONDS", 0.001)
    with pytest.raises(InputError, match=r"did not compile within 0\.001 seconds"):
        compile_c(source)
