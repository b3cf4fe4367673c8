"""The commands as people and test suites call them."""

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.sw.ebpf.commands import ebpf


def call(*arguments, given=None):
    return CliRunner().invoke(ebpf, list(arguments), input=given)


LINES = "r0 = 40\nr1 = *(u8 *)(r1 + 1)\nr0 += r1\nexit\n"


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.hex"
    file.write_text(call("asm", "--hex", "-", given=LINES).output)
    return str(file)


def test_a_program_is_assembled_checked_and_run(program):
    verified = call("verify", "--hex", program, "--context-bytes", "2")
    assert verified.output.startswith(f"{program}: accepted: 4 slots, at most 4 of 1000000 ")
    result = call("run", "--hex", program, "--mem", "00 02")
    assert (result.exit_code, result.output) == (0, "2a\n")


def test_hexadecimal_on_standard_input(program):
    with open(program) as file:
        result = call("run", "--hex", "-", "--mem", "0002", given=file.read())
    assert result.output == "2a\n"


def test_raw_files_come_back_as_they_were(tmp_path):
    file = tmp_path / "program.bin"
    source = tmp_path / "program.s"
    source.write_text(LINES)
    assert call("asm", str(source), "-o", str(file)).exit_code == 0
    assert len(file.read_bytes()) == 32
    assert call("disasm", str(file)).output == LINES
    assert call("disasm", "--syntax", "conformance", str(file)).output == (
        "mov %r0, 40\nldxb %r1, [%r1+1]\nadd %r0, %r1\nexit\n"
    )


def test_a_trace_shows_instructions_and_registers(program):
    result = call("run", "--hex", program, "--mem", "00 02", "--trace")
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert lines[2].split()[:4] == ["2:", "r0", "+=", "r1"]
    assert lines[3].split()[2:4] == ["2a", "2"]


@pytest.mark.parametrize("reference", [[], ["--reference"]])
def test_a_fault_names_its_place_and_cause(program, reference):
    result = call("run", "--hex", program, *reference)
    assert isinstance(result.exception, FaultError)
    assert str(result.exception).endswith("instruction 1: out of bounds after 2 instructions")


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (("run", "--hex", "-"), "9", "-: not hexadecimal; expected pairs of digits"),
        (("run", "--hex", "-"), "ff", "the program has 1 bytes; it must be a multiple of 8"),
        (("run", "--hex", "-"), "18" + 14 * "0", "instruction 0: a 64-bit immediate load without"),
        (("run", "--hex", "-"), "", "-: the program is empty"),
        (("verify", "--hex", "-"), "b7" + 14 * "0", "-: control can run off the end"),
        (("run", "--hex", "-", "--mem", "xy"), "95" + 14 * "0", "--mem: not hexadecimal"),
        (("run", "nothing.bin"), None, "nothing.bin cannot be read"),
        (("disasm", "-"), "ff", "-: the program has 2 bytes; it must be a multiple of 8"),
        (("disasm", "-"), "\x7fELF", "- is an object file; `fanweave ebpf dump -` shows its code"),
        (("asm", "-"), "nonsense", "-, line 1: 'nonsense' is no instruction"),
        (("asm", "-", "-o", "no/such/file"), "exit", "output no/such/file cannot be written"),
    ],
)
def test_bad_input_is_refused(arguments, given, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments, given=given)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


@pytest.mark.parametrize("command", ["run", "verify", "disasm", "asm"])
def test_inputs_without_end_are_refused(command, tmp_path):
    file = tmp_path / "huge"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    result = call(command, str(file))
    assert isinstance(result.exception, InputError)
    assert "has more than 67108864 bytes" in str(result.exception)


def test_lines_of_other_systems(tmp_path):
    file = tmp_path / "program.s"
    file.write_bytes(LINES.replace("\n", "\r\n").encode())
    assert call("asm", "--hex", str(file)).output == call("asm", "--hex", "-", given=LINES).output
