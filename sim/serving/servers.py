"""The server that ``fanweave serve`` asks for: a measured device, or a platform of many."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from fanweave.golden.dops.calibration.profile import DeviceProfile, load_profile
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.tables import number
from fanweave.golden.errors import FaultError
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.config import IntakeModel
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.invariants import check_run
from fanweave.golden.timing.launch import LaunchModel
from fanweave.golden.timing.measured_server import MEASURED_SERVER, with_cache_hits
from fanweave.golden.timing.placed_costs import PlacedCosts
from fanweave.golden.timing.placed_serving import PlacedServer, placed_cluster
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve

__all__ = ["Served", "serve_requests"]

_US = 1_000_000
#: Of the host, for one thing: a second.
_MOST_US = 1e6


@dataclass(frozen=True, kw_only=True)
class Served:
    """A run, and how to serve other requests alike.

    Attributes
    ----------
    run : ServingRun
    again : callable
        Serves a trace.
    measured : str
        Where the costs come from, for a warning that they were not measured.
    placed : PlacedCosts, optional
        Of a platform, who places its steps.
    """

    run: ServingRun
    again: Callable[[RequestTrace], ServingRun]
    measured: str
    placed: PlacedCosts | None = None


def serve_requests(name: str, given: dict[str, Any], *, keep_steps: bool) -> Served:
    """Serve the requests that the options of ``fanweave serve`` name.

    Parameters
    ----------
    name : str
        Of a trace, or its file.
    given : dict
        The options.
    keep_steps : bool
        As of `Cluster.serve`.

    Raises
    ------
    InputError
        If the trace or the server does not fit.
    FaultError
        If an invariant does not hold.
    """
    trace = read_requests(name)
    if given["platform"] is not None:
        return _served_by_platform(_cut(trace, given), given, keep_steps=keep_steps)
    profile = load_profile(given["profile_name"])
    if given["compare"] and given["cache_hits"]:
        trace = _with_cache_hits(trace, profile)
    options = MEASURED_SERVER if given["compare"] else _options(given)
    return Served(
        run=serve(_cut(trace, given), profile, options, keep_steps=keep_steps),
        again=lambda each: serve(each, profile, options),
        measured=f" on {profile.name} with {profile.card.name}",
    )


def _served_by_platform(trace: RequestTrace, given: dict[str, Any], *, keep_steps: bool) -> Served:
    cluster, placed = placed_cluster(trace, _placed_server(given))

    def again(each: RequestTrace) -> ServingRun:
        run = cluster.serve(each)
        check_run(run)
        return run

    run = cluster.serve(trace, keep_steps=keep_steps)
    check_run(run)
    homes = placed.homes
    click.echo(
        f"{placed.planned} passes were placed by {given['scheduler']}, with keys and values at "
        f"{homes['keys_values']} and weights at {homes['weights']}",
        err=True,
    )
    return Served(
        run=run,
        again=again,
        measured=f": costs of {given['platform']} come from its cards",
        placed=placed,
    )


def _cut(trace: RequestTrace, given: dict[str, Any]) -> RequestTrace:
    if given["first"] is not None:
        trace = trace.first(given["first"])
    if given["rate"] is not None:
        trace = trace.at_rate(given["rate"])
    return trace


def _with_cache_hits(trace: RequestTrace, profile: DeviceProfile) -> RequestTrace:
    """Infer cache hits from the whole trace, because every request is a part of its steps."""
    try:
        return with_cache_hits(trace, profile)
    except FaultError as error:
        click.echo(f"warning: what the server found in its cache is not known: {error}", err=True)
        return trace


def _picoseconds(given: dict[str, Any], name: str) -> int:
    """Of an option in microseconds."""
    option = f"--{name.replace('_', '-')}"
    return round(number("option", option, given[name], most=_MOST_US) * _US)


def _options(given: dict[str, Any]) -> ServerOptions:
    launch = LaunchModel(
        graph_ps=_picoseconds(given, "graph_us"),
        eager_ps=_picoseconds(given, "eager_us"),
        kernel_ps=_picoseconds(given, "kernel_us"),
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
    intake = _picoseconds(given, "intake_us")
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


def _placed_server(given: dict[str, Any]) -> PlacedServer:
    return PlacedServer(
        model=load_model(given["model"]),
        platform=load_platform(given["platform"]),
        scheduler=given["scheduler"],
        elements=given["elements"],
        **{
            name: given[name]
            for name in ("max_sequences", "token_budget", "block_tokens", "prefix_caching")
        },
    )
