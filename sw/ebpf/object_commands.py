"""``fanweave ebpf build|headers|load|dump``: object files of programs."""

from pathlib import Path

import click

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file

__all__ = ["build", "dump", "headers", "load"]


@click.command(epilog="Example: fanweave ebpf build policy.c -o policy.o")
@click.argument("source", metavar="FILE.c", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Object file; FILE.o if not given."
)
@click.option(
    "--cpu", default="v3", show_default=True, help="Version of the instruction set, v1 to v4."
)
@click.option("-I", "--include", multiple=True, metavar="DIR", help="Folder with headers.")
@click.option("-D", "--define", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
def build(
    source: Path, output: Path | None, cpu: str, include: tuple[str, ...], define: tuple[str, ...]
) -> None:
    """Compile FILE.c to an object file with types and source lines.

    The headers `fanweave/bpf.h` and `fanweave/cxl.h` are found by themselves.
    """
    from fanweave.sw.ebpf.object.compiler import compile_c

    target = source.parent / f"{source.stem}.o" if output is None else output
    if target.resolve() == source.resolve():
        raise InputError(f"{source} is both source and object file; name another one with -o")
    compiled = compile_c(source, cpu=cpu, include=include, define=define)
    if compiled.warnings:
        click.echo(compiled.warnings, err=True)
    try:
        replace_file(target, compiled.data)
    except OSError as error:
        raise InputError(f"output {target} cannot be written: {error.strerror}") from None
    click.echo(f"{target}: {len(compiled.data)} bytes")


@click.command(epilog="Example: fanweave ebpf headers -o include")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder that becomes -I of another compiler, or is told to an editor.",
)
def headers(output: Path) -> None:
    """Write the C headers that `build` uses into a folder."""
    from fanweave.sw.ebpf.object.headers import write_headers

    for path in write_headers(output):
        click.echo(path)


_OBJECT = click.argument("file", metavar="OBJECT", type=click.Path(path_type=Path))


@click.command(epilog="Example: fanweave ebpf load policy.o")
@_OBJECT
@click.option(
    "--engines",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Engines that have values of their own in per-engine arrays.",
)
@click.option(
    "--context-bytes",
    type=click.IntRange(0, 4096),
    help="Length of the context; without it a program of a section cxl gets an event's.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Instructions that an event may execute.",
)
@click.option("--no-verify", is_flag=True, help="Make only the checks that hardware makes.")
def load(file: Path, engines: int, context_bytes: int | None, budget: int, no_verify: bool) -> None:
    """Do what a loader does with OBJECT, and say what came of it: programs, maps, memory, checks.

    Exit status 2 if it is refused.
    """
    from fanweave.sw.ebpf.object.loader import load_object
    from fanweave.sw.ebpf.object.report import load_report
    from fanweave.sw.ebpf.object.verification import check_object, verify_for_load

    loaded = load_object(file)
    check_object(loaded)
    verified = None
    if not no_verify:
        verified = [
            verify_for_load(loaded, program, context_bytes=context_bytes, budget=budget)
            for program in loaded.programs
        ]
    for line in load_report(loaded, engines=engines, verified=verified):
        click.echo(line)


@click.command(epilog="Example: fanweave ebpf dump policy.o")
@_OBJECT
def dump(file: Path) -> None:
    """Show what is in OBJECT: sections, maps, types, relocations, code with its source lines.

    What is refused is refused after what could be read of it.
    """
    from fanweave.sw.ebpf.object.elf_reader import read_elf
    from fanweave.sw.ebpf.object.loader import load_object, read_object
    from fanweave.sw.ebpf.object.report import code_report, file_report

    data = read_object(file)
    for line in file_report(read_elf(data, str(file))):
        click.echo(line)
    for line in code_report(load_object(data, str(file))):
        click.echo(line)
