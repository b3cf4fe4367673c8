"""``fanweave ebpf``: tools for programs of the policy engine."""

import sys
from pathlib import Path

import click

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.files import replace_file
from fanweave.sw.ebpf.object_commands import build, headers

__all__ = ["ebpf"]

_STANDARD = "-"


@click.group()
def ebpf() -> None:
    """Compile, assemble, disassemble, check and run eBPF programs.

    \b
    Example:
      echo "r0 = 42
      exit" | fanweave ebpf asm --hex - | fanweave ebpf run --hex -
    """


for _command in (build, headers):
    ebpf.add_command(_command)

_SYNTAX = click.option(
    "--syntax",
    type=click.Choice(["kernel", "conformance"]),
    default="kernel",
    show_default=True,
    help="`r0 += 2` of Linux, or `add %r0, 2` of the conformance suite.",
)
_FILE = click.argument("file", metavar="FILE|-")


@ebpf.command(epilog="Example: fanweave ebpf asm --syntax conformance program.s -o program.bin")
@_FILE
@_SYNTAX
@click.option("--hex", "as_hex", is_flag=True, help="Write hexadecimal text, one slot a line.")
@click.option("-o", "--output", metavar="FILE", help="Write there and not to standard output.")
def asm(file: str, syntax: str, as_hex: bool, output: str | None) -> None:
    """Assemble FILE."""
    from fanweave.golden.isa.ebpf import encode_program
    from fanweave.sw.ebpf.assembler import assemble

    code = encode_program(assemble(_read_text(file), syntax=syntax, name=file))
    if as_hex:
        lines = [code[at : at + 8].hex(" ") for at in range(0, len(code), 8)]
        code = ("\n".join(lines) + "\n").encode()
    _write(output, code)


@ebpf.command(epilog="Example: fanweave ebpf disasm --hex program.hex")
@_FILE
@_SYNTAX
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
def disasm(file: str, syntax: str, is_hex: bool) -> None:
    """Disassemble FILE, raw instructions or hexadecimal text."""
    from fanweave.golden.isa.ebpf import decode_program
    from fanweave.sw.ebpf.assembler import disassemble

    code = _read_code(file, is_hex)
    for line in disassemble(decode_program(code), syntax=syntax):
        click.echo(line)


@ebpf.command(epilog="Example: fanweave ebpf verify --hex program.hex")
@_FILE
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
def verify(file: str, is_hex: bool) -> None:
    """Make the checks of a loader on FILE: encodings, jumps, calls, helpers, the end."""
    from fanweave.golden.ebpf.program import Program
    from fanweave.sw.ebpf.check import check_program

    program = Program.from_bytes(_read_code(file, is_hex), name=file)
    check_program(program)
    click.echo(f"{file}: {len(program.slots)} slots, accepted")


@ebpf.command(epilog="Example: fanweave ebpf run --hex program.hex --mem 'de ad be ef' --trace")
@_FILE
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
@click.option(
    "--mem", "memory", default="", metavar="HEX", help="Context: r1 is its address, r2 its length."
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Instructions after which the watchdog ends the run.",
)
@click.option("--reference", is_flag=True, help="Interpret and do not translate.")
@click.option("--trace", is_flag=True, help="Show each instruction on standard error.")
def run(file: str, is_hex: bool, memory: str, budget: int, reference: bool, trace: bool) -> None:
    """Run FILE on the golden machine and print r0 in hexadecimal.

    Exit status 1 if the program faults, 2 if it is refused.
    """
    from fanweave.golden.ebpf.machine import Machine
    from fanweave.golden.ebpf.program import Program
    from fanweave.sw.ebpf.check import check_program

    program = Program.from_bytes(_read_code(file, is_hex), name=file)
    check_program(program)
    context = bytearray(_hexadecimal(memory, "--mem"))
    outcome = Machine(budget=budget).run(
        program, context, reference=reference, trace=_show if trace else None
    )
    if outcome.fault:
        raise FaultError(
            f"{file}, instruction {outcome.slot}: {outcome.fault.name.lower().replace('_', ' ')} "
            f"after {outcome.instructions} instructions"
        )
    click.echo(f"{outcome.r0:x}")


def _show(event: object, instruction: object) -> None:
    from fanweave.golden.ebpf.event import Event
    from fanweave.golden.isa.ebpf import Instruction
    from fanweave.sw.ebpf.assembler import disassemble

    assert isinstance(event, Event)
    assert isinstance(instruction, Instruction)
    (line,) = disassemble([instruction])
    registers = " ".join(f"{value:x}" for value in event.registers)
    click.echo(f"{event.slot:5}: {line:40} {registers}", err=True)


def _read_text(file: str) -> str:
    try:
        return sys.stdin.read() if file == _STANDARD else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _read_code(file: str, is_hex: bool) -> bytes:
    if is_hex:
        return _hexadecimal(_read_text(file), file)
    try:
        return sys.stdin.buffer.read() if file == _STANDARD else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _hexadecimal(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex("".join(text.split()))
    except ValueError:
        raise InputError(
            f"{name}: not hexadecimal; expected pairs of digits, with blanks as you like"
        ) from None


def _write(output: str | None, code: bytes) -> None:
    if output is None or output == _STANDARD:
        sys.stdout.buffer.write(code)
        sys.stdout.flush()
        return
    try:
        replace_file(Path(output), code)
    except OSError as error:
        raise InputError(f"output {output} cannot be written: {error.strerror}") from None
