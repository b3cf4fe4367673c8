"""``fanweave ebpf``: tools for programs of the policy engine."""

import click

from fanweave.sw.ebpf.inputs import read_code, read_text, write_output
from fanweave.sw.ebpf.object_commands import build, dump, headers, load
from fanweave.sw.ebpf.run_command import run
from fanweave.sw.ebpf.serve_command import serve
from fanweave.sw.ebpf.verify_command import verify
from fanweave.sw.policies.commands import policies

__all__ = ["ebpf"]


@click.group()
def ebpf() -> None:
    """Compile, assemble, disassemble, check and run eBPF programs.

    \b
    Example:
      echo "r0 = 42
      exit" | fanweave ebpf asm --hex - | fanweave ebpf run --hex -
    """


for _command in (build, dump, headers, load, policies, run, serve, verify):
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

    code = encode_program(assemble(read_text(file), syntax=syntax, name=file))
    if as_hex:
        lines = [code[at : at + 8].hex(" ") for at in range(0, len(code), 8)]
        code = ("\n".join(lines) + "\n").encode()
    write_output(output, code)


@ebpf.command(epilog="Example: fanweave ebpf disasm --hex program.hex")
@_FILE
@_SYNTAX
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
def disasm(file: str, syntax: str, is_hex: bool) -> None:
    """Disassemble FILE, raw instructions or hexadecimal text."""
    from fanweave.golden.errors import InputError
    from fanweave.golden.isa.ebpf import decode_program
    from fanweave.sw.ebpf.assembler import disassemble
    from fanweave.sw.ebpf.object.loader import is_object

    code = read_code(file, is_hex)
    if is_object(code):
        raise InputError(f"{file} is an object file; `fanweave ebpf dump {file}` shows its code")
    try:
        instructions = decode_program(code)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    for line in disassemble(instructions, syntax=syntax):
        click.echo(line)
