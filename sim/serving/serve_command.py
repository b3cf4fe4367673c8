"""``fanweave serve``: times a trace of requests end to end."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import FaultError
from fanweave.sim.report.files import STANDARD, check_output

if TYPE_CHECKING:
    from fanweave.golden.dops.calibration.profile import DeviceProfile
    from fanweave.golden.dops.explain import Explanation
    from fanweave.golden.timing.cluster import ServingRun
    from fanweave.golden.timing.comparison import ComparedMetric
    from fanweave.golden.timing.placed_costs import PlacedCosts
    from fanweave.golden.timing.requests import RequestTrace
    from fanweave.golden.timing.serving import ServerOptions
    from fanweave.golden.timing.slo import Slo

__all__ = ["serve"]

_US = 1_000_000
_EXAMPLE = """Examples:

\b
  fanweave serve --requests azure-conversation --first 2000 --ttft 0.5 --tpot 0.05
  fanweave serve --requests measured-server --compare
  fanweave serve --requests trace.csv --prefill-replicas 1 --decode-replicas 2
  fanweave serve --requests trace.csv --kv-bits 8 --against before.json
  fanweave serve --requests trace.csv --platform hp32 --model qwen-1.8b --max-sequences 16
  fanweave serve --requests trace.csv --platform hp32 --explain L3_QK_s0 --html page.html
"""


@click.command(epilog=_EXAMPLE)
@click.option(
    "--requests",
    required=True,
    metavar="FILE|NAME",
    help="Trace: a file of a known form, or azure-conversation, or measured-server.",
)
@click.option("--first", type=click.IntRange(min=1), help="Only so many requests.")
@click.option("--rate", type=float, help="Stretch the gaps to this mean rate, requests/s.")
@click.option(
    "--profile",
    "profile_name",
    default="rtxpro6000",
    show_default=True,
    help="Measured device and model.",
)
@click.option(
    "--platform",
    metavar="NAME|FILE",
    help="Serve on this platform instead, as of place: a scheduler places every step.",
)
@click.option("--model", default="qwen-1.8b", show_default=True, help="With --platform.")
@click.option("--scheduler", default="HEFT", show_default=True, help="With --platform.")
@click.option("--elements", default="fp16", show_default=True, help="With --platform.")
@click.option("--tensor", type=int, default=1, show_default=True, help="Tensor parallelism.")
@click.option("--pipeline", type=int, default=1, show_default=True, help="Pipeline stages.")
@click.option("--replicas", type=int, default=1, show_default=True, help="Copies of the model.")
@click.option(
    "--prefill-replicas", type=int, default=0, help="Copies that only prefill, with some that"
)
@click.option("--decode-replicas", type=int, default=0, help="only decode.")
@click.option("--max-sequences", type=int, default=128, show_default=True)
@click.option("--token-budget", type=int, default=2048, show_default=True, help="Of a step.")
@click.option("--block-tokens", type=int, default=16, show_default=True)
@click.option("--kv-blocks", type=int, default=0, help="Of a replica; else what its memory holds.")
@click.option("--kv-bits", type=int, default=16, show_default=True, help="16, 8 or 4.")
@click.option("--prefix-caching/--no-prefix-caching", default=True, show_default=True)
@click.option(
    "--asynchronous/--synchronous",
    default=True,
    show_default=True,
    help="Schedule a step while the one before it runs.",
)
@click.option(
    "--graphs/--no-graphs", default=True, show_default=True, help="Replay recorded kernels."
)
@click.option("--kernel-us", type=float, default=5.0, show_default=True, help="Launch of a kernel.")
@click.option("--eager-us", type=float, default=0.0, help="Host time of a step without a graph.")
@click.option("--graph-us", type=float, default=0.0, help="Host time of a step with a graph.")
@click.option("--sustained", type=float, default=1.0, help="Factor on dense layers under load.")
@click.option("--intake-us", type=float, default=0.0, help="Time to take in a request.")
@click.option("--link-gbps", type=float, default=64.0, show_default=True, help="GB/s of a link.")
@click.option("--ttft", type=float, help="Limit on the time to first token, s.")
@click.option("--tpot", type=float, help="Limit on the time per output token, s.")
@click.option("--end-to-end", type=float, help="Limit on the end-to-end latency, s.")
@click.option(
    "--share", type=float, default=0.99, show_default=True, help="Of requests within all limits."
)
@click.option("--find-rate", is_flag=True, help="Find the highest rate that keeps the limits.")
@click.option(
    "--compare",
    is_flag=True,
    help="Batch as the measured server did and compare with the measured times of the trace.",
)
@click.option(
    "--cache-hits/--no-cache-hits",
    default=True,
    help="With --compare: infer which prompts the measured server found in its cache.",
)
@click.option(
    "--explain",
    "explained",
    metavar="OPERATOR",
    help="With --platform: why this operator of a step is on its device.",
)
@click.option(
    "--explain-phase",
    type=click.Choice(("decode", "prefill")),
    default="decode",
    show_default=True,
    help="Of that step: decode of as many sequences as the mean, or prefill of a mean prompt.",
)
@click.option(
    "--against",
    metavar="FILE",
    help="What another run of the same requests wrote with --json: print the differences.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the metrics there.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write the times of every request there.")
@click.option(
    "--timeline", metavar="FILE", help="Write a Chrome trace, which Perfetto shows, there."
)
@click.option("--html", "html_file", metavar="FILE", help="Write a page with pictures there.")
def serve(
    requests: str,
    json_file: str | None,
    csv_file: str | None,
    html_file: str | None,
    **given: Any,
) -> None:
    """Serve a trace of requests and print latencies, throughput, utilisation and memory.

    Continuous batching with chunked prefill over paged memory, on measured operators. Steps
    outside the measured sizes are warned of and widen the interval of every time.
    """
    from fanweave.golden.dops.calibration.profile import load_profile
    from fanweave.golden.timing.measured_server import MEASURED_SERVER
    from fanweave.golden.timing.metrics import measure
    from fanweave.golden.timing.request_files import read_requests
    from fanweave.golden.timing.serving import serve as run_server
    from fanweave.golden.timing.slo import attainment, highest_rate
    from fanweave.sim.report.files import write_json, write_text
    from fanweave.sim.serving.difference import differences, print_differences, read_document
    from fanweave.sim.serving.report import print_metrics, requests_csv, serving_document
    from fanweave.sim.serving.timeline import serving_timeline

    files = (json_file, csv_file, html_file, given["timeline"])
    for file in files:
        check_output(file)
    other = None if given["against"] is None else read_document(given["against"])
    if given["platform"] is not None and (given["compare"] or given["find_rate"]):
        raise click.UsageError("--compare and --find-rate are for measured devices, not --platform")
    if given["explained"] is not None and given["platform"] is None:
        raise click.UsageError("--explain needs --platform: a measured device runs all operators")
    profile = load_profile(given["profile_name"])
    trace = read_requests(requests)
    if given["compare"] and given["cache_hits"]:
        trace = _with_cache_hits(trace, profile)
    trace = _trace(trace, given)
    options = MEASURED_SERVER if given["compare"] else _options(given)
    slo = _slo(given)
    keep = given["timeline"] is not None or html_file is not None
    if given["platform"] is not None:
        run, placed = _placed(trace, given, keep_steps=keep)
    else:
        run = run_server(trace, profile, options, keep_steps=keep)
    metrics = measure(run)
    attained = None if slo is None else attainment(run, slo)
    document = serving_document(run, metrics, attained=attained)
    stream = sys.stderr if STANDARD in files else sys.stdout
    print_metrics(run, metrics, attained=attained, stream=stream)
    if metrics.extrapolated_share:
        measured = f"measured on {profile.name} with {profile.card.name}"
        if given["platform"] is not None:
            measured = f"measured: costs of {given['platform']} come from its cards"
        click.echo(
            f"warning: {metrics.extrapolated_share:.1%} of the steps lie outside what was "
            f"{measured}; times are +-{metrics.spread:.0%}",
            err=True,
        )
    if given["find_rate"]:
        if slo is None:
            raise click.UsageError("--find-rate needs a limit: --ttft, --tpot or --end-to-end")
        rate = highest_rate(trace, slo, lambda each: run_server(each, profile, options))
        document["highest_rate"] = rate
        click.echo(f"highest rate within the limits: {rate:.4g} requests/s", file=stream)
    compared = _compare(run, document, stream) if given["compare"] else []
    explanation = None
    if given["explained"] is not None:
        explanation = _explain(run, placed, given, document, stream)
    if other is not None:
        print_differences(differences(other, document), stream=stream)
    if json_file is not None:
        write_json(json_file, document)
    if csv_file is not None:
        write_text(csv_file, requests_csv(run))
    if given["timeline"] is not None:
        write_json(given["timeline"], serving_timeline(run))
    if html_file is not None:
        from fanweave.sim.serving.page import serve_page

        page = serve_page(
            run, metrics, attained=attained, compared=compared, explanation=explanation
        )
        write_text(html_file, page)


def _trace(trace: "RequestTrace", given: dict[str, Any]) -> "RequestTrace":
    if given["first"] is not None:
        trace = trace.first(given["first"])
    if given["rate"] is not None:
        trace = trace.at_rate(given["rate"])
    return trace


def _with_cache_hits(trace: "RequestTrace", profile: "DeviceProfile") -> "RequestTrace":
    """Infer cache hits from the whole trace, because every request is a part of its steps."""
    from fanweave.golden.timing.measured_server import with_cache_hits

    try:
        return with_cache_hits(trace, profile)
    except FaultError as error:
        click.echo(f"warning: what the server found in its cache is not known: {error}", err=True)
        return trace


def _options(given: dict[str, Any]) -> "ServerOptions":
    from fanweave.golden.timing.config import IntakeModel
    from fanweave.golden.timing.deployment import Deployment
    from fanweave.golden.timing.launch import LaunchModel
    from fanweave.golden.timing.serving import ServerOptions

    launch = LaunchModel(
        graph_ps=round(given["graph_us"] * _US),
        eager_ps=round(given["eager_us"] * _US),
        kernel_ps=round(given["kernel_us"] * _US),
    )
    if not given["graphs"]:
        launch = replace(launch, graph_sizes=())
    deployment = Deployment(
        tensor=given["tensor"],
        pipeline=given["pipeline"],
        kv_bits=given["kv_bits"],
        link_bytes_per_s=given["link_gbps"] * 1e9,
        sustained=given["sustained"],
        launch=launch,
    )
    intake = round(given["intake_us"] * _US)
    names = (
        "replicas",
        "prefill_replicas",
        "decode_replicas",
        "max_sequences",
        "token_budget",
        "block_tokens",
        "kv_blocks",
        "prefix_caching",
        "asynchronous",
    )
    return ServerOptions(
        deployment=deployment,
        intake=IntakeModel(ps=intake, slow_ps=intake),
        **{name: given[name] for name in names},
    )


def _placed(
    trace: "RequestTrace", given: dict[str, Any], *, keep_steps: bool
) -> "tuple[ServingRun, PlacedCosts]":
    from fanweave.golden.dops.models import load_model
    from fanweave.golden.dops.platforms import load_platform
    from fanweave.golden.timing.placed_serving import PlacedServer, serve_placed

    for name, alone in (("tensor", 1), ("pipeline", 1), ("replicas", 1), ("prefill_replicas", 0)):
        if given[name] != alone:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --platform")
    server = PlacedServer(
        model=load_model(given["model"]),
        platform=load_platform(given["platform"]),
        scheduler=given["scheduler"],
        elements=given["elements"],
        **{
            name: given[name]
            for name in ("max_sequences", "token_budget", "block_tokens", "prefix_caching")
        },
    )
    run, placed = serve_placed(trace, server, keep_steps=keep_steps)
    click.echo(f"{placed.planned} passes were placed by {given['scheduler']}", err=True)
    return run, placed


def _explain(
    run: "ServingRun",
    placed: "PlacedCosts",
    given: dict[str, Any],
    document: dict[str, Any],
    stream: Any,
) -> "Explanation":
    """Why an operator of a mean step is where it is."""
    from fanweave.golden.timing.placed_serving import mean_pass
    from fanweave.sim.placement.report import explanation_document, print_explanation

    step = mean_pass(run, given["explain_phase"])
    explanation = placed.explain(given["explained"], step)
    click.echo(
        f"{step.phase} of {step.batch} sequences at {step.context} tokens, a mean step", file=stream
    )
    print_explanation(explanation, stream=stream)
    document["explanation"] = {
        "batch": step.batch,
        "context": step.context,
        **explanation_document(explanation),
    }
    return explanation


def _slo(given: dict[str, Any]) -> "Slo | None":
    from fanweave.golden.timing.slo import Slo

    limits = given["ttft"], given["tpot"], given["end_to_end"]
    if limits == (None, None, None):
        return None
    return Slo(ttft_s=limits[0], tpot_s=limits[1], end_to_end_s=limits[2], share=given["share"])


def _compare(run: Any, document: dict[str, Any], stream: Any) -> "list[ComparedMetric]":
    from fanweave.golden.timing.comparison import compare
    from fanweave.sim.serving.report import comparison_document, print_comparison

    rows = compare(run)
    document["comparison"] = comparison_document(rows)
    inferred = sum(request.cached_tokens > 0 for request in run.trace.requests)
    if inferred:
        click.echo(
            f"{inferred} requests found a part of their prompts in the measured server's cache, as "
            "their steps show; their prefill is not judged",
            file=stream,
        )
    print_comparison(rows, stream=stream)
    return rows
