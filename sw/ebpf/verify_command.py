"""``fanweave ebpf verify``: what the verifier says of a program, and what Linux's does."""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.sw.ebpf.inputs import object_of, read_code, read_text, write_output

if TYPE_CHECKING:
    from fanweave.golden.ebpf.program import Program
    from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram
    from fanweave.sw.ebpf.verifier import ContextRule, Report

__all__ = ["verify"]

#: As in `MOST_CONTEXT`, which would be slow to import.
_MOST_CONTEXT = 4096


@click.command(epilog="Example: fanweave ebpf verify policy.o --budget 1000 --against kernel")
@click.argument("file", metavar="FILE|-")
@click.option("--hex", "is_hex", is_flag=True, help="FILE holds hexadecimal text.")
@click.option("--section", metavar="S", help="Only this program: section, function or both, S:F.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=DEFAULT_BUDGET,
    show_default=True,
    help="Instructions that an event may execute.",
)
@click.option(
    "--context-bytes",
    type=click.IntRange(0, _MOST_CONTEXT),
    help="Length of the context; without it a program compares r2, or is of a section cxl.",
)
@click.option("--maps", metavar="JSON|-", help="Definitions of maps, if FILE is no object file.")
@click.option("--against", type=click.Choice(["kernel"]), help="Compare with Linux's verifier.")
@click.option("--json", "output", metavar="FILE|-", help="Write what was found as JSON.")
@click.option("--stats", is_flag=True, help="Show how much was followed, and how long it took.")
def verify(
    file: str,
    is_hex: bool,
    section: str | None,
    budget: int,
    context_bytes: int | None,
    maps: str | None,
    against: str | None,
    output: str | None,
    stats: bool,
) -> None:
    """Accept FILE, an object file or raw instructions, if no event can make it fault.

    Exit status 2 if a program is refused; the message says where and by which rule.
    """
    from fanweave.sw.ebpf.object.verification import context_of

    loaded = _load(file, is_hex, maps)
    chosen = loaded.programs if section is None else (loaded.find_program(section),)
    documents, refusals = [], []
    for program in chosen:
        rule = context_of(program, context_bytes)
        begin = time.perf_counter()
        report, refusal = _decide(loaded, program, rule, budget)
        seconds = time.perf_counter() - begin
        if report is not None and output != "-":
            click.echo(_line(report, budget, seconds if stats else None))
        document = _document(program.program.name, report, refusal, seconds)
        if refusal is not None:
            refusals.append(refusal)
        if against is not None:
            document["linux"] = _compare(loaded, program.program, rule, refusal, output != "-")
        elif refusal is not None:
            break
        documents.append(document)
    if output is not None and (against is not None or not refusals):
        whole = {"file": file, "budget": budget, "programs": documents}
        write_output(output, (json.dumps(whole, indent=2) + "\n").encode())
    if refusals:
        raise refusals[0]


def _load(file: str, is_hex: bool, maps: str | None) -> "ObjectFile":
    from fanweave.sw.ebpf.object.loader import is_object

    if file == "-" and maps == "-":
        raise InputError("program and maps cannot both come from standard input")
    data = read_code(file, is_hex)
    if maps is not None and is_object(data):
        raise InputError(f"{file} is an object file, which defines its maps; leave --maps out")
    return object_of(data, file, None if maps is None else read_text(maps), maps)


def _decide(
    loaded: "ObjectFile", program: "ObjectProgram", rule: "ContextRule", budget: int
) -> "tuple[Report | None, InputError | None]":
    from fanweave.sw.ebpf.object.verification import check_object, verify_program
    from fanweave.sw.ebpf.verifier import Rule, VerificationError

    try:
        check_object(loaded, program)
        return verify_program(loaded, program, context=rule, budget=budget), None
    except VerificationError as refusal:
        if refusal.rule is not Rule.CONTEXT_BOUNDS or rule.least == rule.most:
            return None, refusal
        mend = "--context-bytes says how long it is"
        return None, VerificationError(f"{refusal}; {mend}", refusal.rule, refusal.slot)
    except InputError as refusal:
        return None, refusal


def _line(report: "Report", budget: int, seconds: float | None) -> str:
    stack = f"{sum(report.stack_bytes)} bytes of stack in {_frames(report.frames)}"
    said = (
        f"{report.name}: accepted: {report.slots} slots, at most {report.worst_case_instructions} "
        f"of {budget} instructions, {stack}, maps: {', '.join(report.maps) or 'none'}"
    )
    if seconds is not None:
        said += (
            f"\n  followed {report.steps} instructions, kept {report.kept} states, "
            f"{report.covered} were covered by them, {1e3 * seconds:.1f} ms"
        )
    return said


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"


def _document(
    name: str, report: "Report | None", refusal: InputError | None, seconds: float
) -> dict[str, Any]:
    from fanweave.sw.ebpf.verifier import VerificationError

    if report is not None:
        return {"accepted": True, "seconds": seconds, **report.document()}
    document = {"accepted": False, "seconds": seconds, "name": name, "message": str(refusal)}
    if isinstance(refusal, VerificationError):
        document |= {"rule": refusal.rule.name, "slot": refusal.slot}
    return document


def _compare(
    loaded: "ObjectFile",
    program: "Program",
    rule: "ContextRule",
    refusal: InputError | None,
    show: bool,
) -> dict[str, Any]:
    from fanweave.sw.ebpf.object.verification import inner_maps, specs_of
    from fanweave.sw.ebpf.verifier.kernel import Comparison, linux_verifier

    with linux_verifier(specs_of(loaded), inner_maps(loaded)) as linux:
        said = linux.refusal(program, rule.most)
    comparison = Comparison(
        name=program.name, refusal=None if refusal is None else str(refusal), linux_refusal=said
    )
    if show:
        click.echo(comparison)
    return {"accepted": said is None, "message": said, "agrees": comparison.agrees}
