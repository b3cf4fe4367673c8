"""``fanweave serve``: times a trace of requests end to end."""

import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from fanweave.sim.report.files import STANDARD, check_outputs
from fanweave.sim.serving.option_rules import check_options

if TYPE_CHECKING:
    from fanweave.golden.dops.explain import Explanation
    from fanweave.golden.timing.comparison import ComparedMetric
    from fanweave.golden.timing.slo import Slo
    from fanweave.sim.serving.servers import Served

__all__ = ["serve"]

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
    from fanweave.golden.timing.metrics import measure
    from fanweave.golden.timing.slo import attainment
    from fanweave.sim.serving.difference import differences, print_differences, read_document
    from fanweave.sim.serving.report import print_metrics, serving_document
    from fanweave.sim.serving.servers import serve_requests

    files = (json_file, csv_file, html_file, given["timeline"])
    check_outputs(files)
    check_options()
    other = None if given["against"] is None else read_document(given["against"])
    slo = _slo(given)
    keep = given["timeline"] is not None or html_file is not None
    served = serve_requests(requests, given, keep_steps=keep)
    run, metrics = served.run, measure(served.run)
    attained = None if slo is None else attainment(run, slo)
    document = serving_document(run, metrics, attained=attained)
    stream = sys.stderr if STANDARD in files else sys.stdout
    print_metrics(run, metrics, attained=attained, stream=stream)
    if metrics.extrapolated_share:
        click.echo(
            f"warning: {metrics.extrapolated_share:.1%} of the steps lie outside what was "
            f"measured{served.measured}; times are +-{metrics.spread:.0%}",
            err=True,
        )
    if slo is not None and given["find_rate"]:
        _find_rate(served, slo, document, stream)
    compared = _compare(run, document, stream) if given["compare"] else []
    explanation = _explain(served, given, document, stream)
    if other is not None:
        print_differences(differences(other, document), stream=stream)
    page = None
    if html_file is not None:
        from fanweave.sim.serving.page import serve_page

        page = serve_page(
            run, metrics, attained=attained, compared=compared, explanation=explanation
        )
    _write(files, document, run, page)


def _find_rate(served: "Served", slo: "Slo", document: dict[str, Any], stream: TextIO) -> None:
    from fanweave.golden.timing.slo import highest_rate

    rate = highest_rate(served.run.trace, slo, served.again)
    document["highest_rate"] = rate
    click.echo(f"highest rate within the limits: {rate:.4g} requests/s", file=stream)


def _write(
    files: tuple[str | None, ...], document: dict[str, Any], run: Any, page: str | None
) -> None:
    from fanweave.sim.report.files import write_json, write_text
    from fanweave.sim.serving.report import requests_csv
    from fanweave.sim.serving.timeline import serving_timeline

    json_file, csv_file, html_file, timeline = files
    if json_file is not None:
        write_json(json_file, document)
    if csv_file is not None:
        write_text(csv_file, requests_csv(run))
    if timeline is not None:
        write_json(timeline, serving_timeline(run))
    if html_file is not None and page is not None:
        write_text(html_file, page)


def _explain(
    served: "Served", given: dict[str, Any], document: dict[str, Any], stream: TextIO
) -> "Explanation | None":
    """Why an operator of a mean step is where it is, if that was asked."""
    if given["explained"] is None or served.placed is None:
        return None
    from fanweave.golden.timing.placed_serving import mean_pass
    from fanweave.sim.placement.explanation import explanation_document, print_explanation

    step = mean_pass(served.run, given["explain_phase"])
    explanation = served.placed.explain(given["explained"], step)
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
