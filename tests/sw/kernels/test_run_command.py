"""``fanweave run``: programs that pass, fail, trap, overflow their stack or never end."""

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.command import cli
from fanweave.sw.kernels.compiler import build_program

PROGRAMS = {
    "pass": "int main(void) { return 0; }",
    "fail": "int main(void) { return 3; }",
    "illegal": 'int main(void) { __asm__ volatile(".4byte 0xffffffff"); return 0; }',
    "endless": 'int main(void) { for (;;) __asm__ volatile(""); }',
    "overflow": """static int deeper(volatile int *p) {
        volatile int frame[64]; frame[0] = *p; return deeper(frame) + frame[3]; }
        int main(void) { volatile int x = 1; return deeper(&x); }""",
    "outer": "int main(void) { return *(volatile int *)0xc0000000; }",
    "breakpoint": 'int main(void) { __asm__ volatile("ebreak"); return 0; }',
    "hello": """#include <fanweave/runtime.h>
        int main(void) { print("hello "); print_number(4095); print("\\n"); return 0; }""",
    "barrier": """#include <fanweave/runtime.h>
        int shared;
        int main(void) { if (hart_number() == 1) shared = 7; barrier(); return shared != 7; }""",
    "copy": """#include <fanweave/runtime.h>
        FANWEAVE_OUTER uint32_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        uint32_t to[4];
        int main(void) {
          dma_start((uint32_t)to, (uint32_t)from, 8, 2, 8, 16);
          dma_wait();
          return !(to[0] == 1 && to[1] == 2 && to[2] == 5 && to[3] == 6); }""",
}


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    """Paths of compiled programs, by name."""
    folder = tmp_path_factory.mktemp("programs")

    def build(name):
        path = folder / f"{name}.elf"
        if not path.exists():
            source = folder / f"{name}.c"
            source.write_text(PROGRAMS[name])
            path.write_bytes(build_program([source]))
        return path

    return build


def invoke(*arguments):
    result = CliRunner().invoke(cli, ["run", *map(str, arguments)])
    return result.output, result.exception


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fail", "failed with code 3"),
        ("illegal", r"illegal instruction at 0x8\w+ \(main\): unknown 0xffffffff \(0xffffffff\)"),
        ("endless", r"not at its end after 5000 instructions: hart 0 at 0x\w+ \(main\): jal zero"),
        ("overflow", r"stack overflow, store to nowhere at 0x\w+ \(deeper.*\): sw .*0x0fffff"),
        ("outer", r"load from nowhere at .*\(main\+0x4\): lw a0, 0\(a0\), address 0xc0000000"),
        ("breakpoint", r"breakpoint at 0x\w+ \(main.*\): ebreak"),
    ],
)
def test_bad_ends(elf, name, message):
    _, error = invoke(elf(name), "--limit", 5000)
    assert isinstance(error, FaultError)
    with pytest.raises(FaultError, match=message):
        raise error


@pytest.mark.parametrize("name", ["pass", "hello", "copy"])
def test_good_ends(elf, name):
    output, error = invoke(elf(name))
    assert error is None
    assert "passed after" in output
    assert ("hello 4095\n" in output) == (name == "hello")


def test_two_harts_meet_at_the_barrier(elf):
    assert invoke(elf("barrier"), "--harts", 2)[1] is None
    assert isinstance(invoke(elf("barrier"), "--harts", 1)[1], FaultError)


def test_a_hart_that_waits_for_a_missing_one(elf):
    """Only two harts have a stack; a third one never arrives."""
    _, error = invoke(elf("barrier"), "--harts", 3, "--limit", 20000)
    assert "not at its end after 20000 instructions: hart 0 at" in str(error)


def test_suites_list_what_passed_and_failed(elf, tmp_path):
    for name in ("pass", "fail"):
        (tmp_path / f"{name}.elf").write_bytes(elf(name).read_bytes())
    (tmp_path / "notes.txt").write_text("no ELF")
    output, error = invoke("--suite", tmp_path)
    assert "FAIL  fail.elf: failed with code 3\nPASS  pass.elf: passed" in output
    assert "1 of 2 passed" in output
    assert isinstance(error, FaultError)
    (tmp_path / "fail.elf").unlink()
    assert invoke("--suite", tmp_path)[1] is None


def test_refused_input(elf, tmp_path):
    def refused(message, *arguments):
        _, error = invoke(*arguments)
        assert isinstance(error, InputError)
        with pytest.raises(InputError, match=message):
            raise error

    data = elf("pass").read_bytes()
    other, broken, text = (tmp_path / name for name in ("other", "broken", "text"))
    other.write_bytes(data[:18] + (62).to_bytes(2, "little") + data[20:])
    broken.write_bytes(data[:60])
    text.write_text("hello")
    refused("is a program for x64, 32 bits, little endian; expected RISC-V", other)
    refused("is a damaged ELF file", broken)
    refused("is not an ELF file", text)
    refused("cannot be read: No such file", tmp_path / "none")
    refused("engine 'rtx' is not known; choose one of golden", elf("pass"), "--engine", "rtx")
    refused("give a PROGRAM or --suite DIR")
    refused("is not a folder", "--suite", text)
    (tmp_path / "empty").mkdir()
    refused("holds no ELF file with a symbol tohost", "--suite", tmp_path / "empty")
