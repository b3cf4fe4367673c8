"""``fanweave ebpf run``: a program on one of the engines."""

from dataclasses import replace
from pathlib import Path

import click

from fanweave.golden.errors import FaultError, InputError
from fanweave.sw.ebpf.inputs import hexadecimal, read_code, read_text, write_output

__all__ = ["run"]


@click.command(
    epilog="Example: fanweave ebpf run policy.o --mem '00 10 00 00' --maps-out after.json"
)
@click.argument("file", metavar="FILE|-")
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
@click.option(
    "--section", metavar="S", help="Program of an object file: section, function or both, S:F."
)
@click.option(
    "--mem", "memory", default="", metavar="HEX", help="Context: r1 is its address, r2 its length."
)
@click.option("--engine", default="golden", show_default=True, help="What runs it.")
@click.option("--maps-in", metavar="JSON|-", help="What is put into the maps before.")
@click.option("--maps-out", metavar="JSON|-", help="Where to write what is in them afterwards.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Instructions after which the watchdog ends the run.",
)
@click.option("--reference", is_flag=True, help="Interpret and do not translate.")
@click.option("--trace", is_flag=True, help="Show each instruction on standard error.")
@click.option("--waves", metavar="VCD", help="Write a waveform; engine rtl.")
@click.option(
    "--verify/--no-verify",
    "verify",
    default=None,
    help="Refuse what could fault with this context; object files are verified if nothing is said.",
)
def run(
    file: str,
    is_hex: bool,
    section: str | None,
    memory: str,
    engine: str,
    maps_in: str | None,
    maps_out: str | None,
    budget: int,
    reference: bool,
    trace: bool,
    waves: str | None,
    verify: bool | None,
) -> None:
    """Run FILE, an object file or raw instructions, and print r0 in hexadecimal.

    Exit status 1 if the program faults, 2 if it is refused.
    """
    from fanweave.sw.ebpf.jobs import Job, prepare
    from fanweave.sw.ebpf.object.engines import ENGINES_WITH_WAVES, find_engine
    from fanweave.sw.ebpf.object.listing import fault_text, tracer
    from fanweave.sw.ebpf.object.maps_json import maps_to_json

    play = find_engine(engine)
    if file == "-" and maps_in == "-":
        raise InputError("program and maps cannot both come from standard input")
    request = prepare(
        Job(
            data=read_code(file, is_hex),
            name=file,
            section=section,
            context=hexadecimal(memory, "--mem"),
            maps=None if maps_in is None else read_text(maps_in),
            maps_name=str(maps_in),
            budget=budget,
            reference=reference,
            verify=verify,
        )
    )
    if trace:
        request = replace(request, trace=tracer(request.loaded))
    if waves is not None:
        if engine not in ENGINES_WITH_WAVES:
            raise InputError(
                f"engine {engine} has no waveform; --waves goes with --engine "
                f"{', '.join(sorted(ENGINES_WITH_WAVES))}"
            )
        request = replace(request, waves=Path(waves))
    result = play(request)
    if maps_out is not None:
        write_output(maps_out, maps_to_json(request.loaded, result.contents).encode())
    if result.fault:
        raise FaultError(fault_text(request.loaded, request.program, result))
    click.echo(f"{result.r0:x}")
