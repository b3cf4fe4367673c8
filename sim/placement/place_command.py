"""``fanweave place``: where the operators of a model run, and how long everything takes."""

import sys
from typing import TYPE_CHECKING, Any

import click

from fanweave.sim.report.files import STANDARD, check_outputs

if TYPE_CHECKING:
    from fanweave.golden.dops.memory_trace import MemoryTrace
    from fanweave.golden.dops.registry import Request
    from fanweave.golden.dops.schedule import Schedule

__all__ = ["place", "workload_options"]

_EXAMPLE = """Examples:

\b
  fanweave place --model qwen-7b --platform hp32 --batch 4 --prefill 512 --decode 128
  fanweave place --model config.json --platform my.toml --scheduler HEFT --csv operators.csv
  fanweave place --model qwen-7b --platform hp32 --explain L3_QK_s0 --token 0
  fanweave place --model qwen-7b --platform hp32 --compare --timeline trace.json --html page.html
"""


def workload_options(function: Any) -> Any:
    """Options that `place` and `sweep` share."""
    options = (
        click.option(
            "--record",
            default="log",
            show_default=True,
            help="Of mode imitation; its Bifocal also in sound.",
        ),
        click.option("--mode", default="imitation", show_default=True, help="Rules of the run."),
        click.option(
            "--elements",
            default="fp16",
            show_default=True,
            help="Format of weights, activations, keys and values.",
        ),
        click.option(
            "--pieces",
            type=click.IntRange(min=1),
            help="Tensor-parallel pieces; one a PIM if not given.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A parameter of Bifocal, in thousandths, such as gamma=200.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Of ties."),
        click.option(
            "--sampled",
            is_flag=True,
            help="Run a sample of the decoded tokens and interpolate the others.",
        ),
    )
    for option in options:
        function = option(function)
    return function


def _list(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print what can be chosen."""
    if not value or context.resilient_parsing:
        return
    from fanweave.sim.placement.choices import known_names

    for what, names in known_names().items():
        click.echo(f"{what}: {', '.join(names)}")
    context.exit()


@click.command(epilog=_EXAMPLE)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list,
    help="Print the names that are known, and end.",
)  # fmt: skip
@click.option("--model", required=True, metavar="CARD|FILE", help="Or a config.json, or a .gguf.")
@click.option("--platform", required=True, metavar="NAME|FILE", help="Or a TOML file.")
@click.option("--batch", type=int, default=1, show_default=True, help="Sequences.")
@click.option("--prefill", type=int, default=512, show_default=True, help="Tokens in.")
@click.option("--decode", type=int, default=128, show_default=True, help="Tokens out.")
@click.option("--scheduler", default="Bifocal", show_default=True)
@workload_options
@click.option(
    "--layouts",
    default="linear",
    show_default=True,
    metavar="NAME",
    help="How weights are stored at the host: linear, npu, pim, dual, or searched by blocks.",
)
@click.option(
    "--density",
    nargs=2,
    type=float,
    default=(1.0, 1.0),
    metavar="WEIGHTS ACTIVATIONS",
    help="Shares of the linear layers' weights and inputs that are not zero. Mode sound counts "
    "them on Ventaglio clusters.",
)
@click.option("--compare", is_flag=True, help="Run all other schedulers too.")
@click.option("--explain", "explained", metavar="OPERATOR", help="Why it is where it is.")
@click.option("--token", type=int, help="Token of decode that is explained; prefill if not given.")
@click.option("--json", "json_file", metavar="FILE", help="Write the result there.")
@click.option("--operators", is_flag=True, help="With every operator and message in the JSON.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write every operator's place and times.")
@click.option(
    "--timeline", metavar="FILE", help="Write a Chrome trace, which Perfetto shows, there."
)
@click.option("--html", "html_file", metavar="FILE", help="Write a page with pictures there.")
def place(
    json_file: str | None,
    csv_file: str | None,
    timeline: str | None,
    html_file: str | None,
    compare: bool,
    explained: str | None,
    token: int | None,
    operators: bool,
    mode: str,
    **given: Any,
) -> None:
    """Place the operators of a model on a platform, time them, and print both.

    Prefill, the first and the last decoded token are kept operator by operator. What must hold
    of a schedule is checked in every pass; a mode names the rules that it waives.
    """
    from fanweave.golden.dops.platforms import PICOSECONDS
    from fanweave.golden.dops.registry import ACCOUNTS, mode_name
    from fanweave.golden.dops.registry import place as run
    from fanweave.sim.placement.choices import build_request
    from fanweave.sim.placement.report import place_document, print_comparison, print_schedule

    files = (json_file, csv_file, timeline, html_file)
    check_outputs(files)
    if token is not None and explained is None:
        raise click.UsageError("--token does nothing without --explain")
    if operators and json_file is None:
        raise click.UsageError("--operators does nothing without --json")
    mode = mode_name(mode)
    request = build_request(**given)
    account = ACCOUNTS[mode]() if mode in ACCOUNTS else None
    result = run(request, mode, account)
    stream = sys.stderr if STANDARD in files else sys.stdout
    print_schedule(request, result, stream=stream)
    document = place_document(request, result, operators=operators)
    others = _others(request, mode, result) if compare or html_file else {}
    if others:
        print_comparison(others, stream=stream)
        document["schedulers"] = {
            name: {"prefill_s": each.prefill / PICOSECONDS, "total_s": each.total / PICOSECONDS}
            for name, each in others.items()
        }
    if explained is not None:
        document["explanation"] = _explain(request, mode, explained, token, stream)
    _write(files, request, result, account, others, document)


def _others(request: "Request", mode: str, own: "Schedule") -> "dict[str, Schedule]":
    """Results of all schedulers that can run here, the asked one first."""
    from dataclasses import replace

    from fanweave.golden.dops.registry import place as run
    from fanweave.golden.dops.registry import scheduler_names
    from fanweave.golden.errors import InputError

    results = {own.scheduler: own}
    for name in scheduler_names():
        if name == request.scheduler:
            continue
        try:
            results[name] = run(replace(request, scheduler=name, parameters={}), mode)
        except InputError as error:
            click.echo(f"without {name}: {error}", err=True)
    return results


def _explain(
    request: "Request", mode: str, operator: str, token: int | None, stream: Any
) -> dict[str, Any]:
    from fanweave.golden.dops.registry import EXPLAINERS
    from fanweave.golden.errors import InputError
    from fanweave.sim.placement.explanation import explanation_document, print_explanation

    if mode not in EXPLAINERS:
        raise InputError(f"mode {mode} explains nothing; use --mode {' or '.join(EXPLAINERS)}")
    explanation = EXPLAINERS[mode](request, operator, token)
    print_explanation(explanation, stream=stream)
    return explanation_document(explanation)


def _write(
    files: "tuple[str | None, ...]",
    request: "Request",
    result: "Schedule",
    account: "MemoryTrace | None",
    others: "dict[str, Schedule]",
    document: dict[str, Any],
) -> None:
    import json

    from fanweave.sim.placement.chrome_trace import chrome_trace
    from fanweave.sim.placement.report import operators_csv
    from fanweave.sim.report.files import write_json, write_text

    json_file, csv_file, timeline, html_file = files
    if json_file is not None:
        write_json(json_file, document)
    if csv_file is not None:
        write_text(csv_file, operators_csv(result))
    if timeline is not None:
        write_text(timeline, json.dumps(chrome_trace(result, account), allow_nan=False) + "\n")
    if html_file is not None:
        from fanweave.sim.placement.page import place_page

        write_text(html_file, place_page(request, result, others))
