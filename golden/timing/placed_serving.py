"""Serves a trace on devices of several kinds, with a placement for every step."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.records import DEFAULT_RECORD, load_record
from fanweave.golden.dops.registry import Request, make_scheduler
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Phase, Step
from fanweave.golden.timing.cached_costs import CachedCosts
from fanweave.golden.timing.cluster import Cluster, ReplicaSpec, ServingRun
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.energy import Power
from fanweave.golden.timing.invariants import check_run
from fanweave.golden.timing.placed_costs import PlacedCosts
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.step import StepCosts

__all__ = ["PLAN_GRAIN", "PlacedServer", "mean_pass", "placed_cluster", "serve_placed"]

#: Tokens to which contexts are rounded before a plan is looked up.
PLAN_GRAIN = 64


@dataclass(frozen=True, kw_only=True)
class PlacedServer:
    """A server whose steps a scheduler places.

    Attributes
    ----------
    model, platform
        What runs, and where.
    scheduler : str
        A name of `fanweave.golden.dops.registry.scheduler_names`.
    elements : str
        Element format.
    max_sequences, token_budget, block_tokens, prefix_caching
        See `fanweave.golden.timing.config.ReplicaConfig`.
    grain : int
        See `CachedCosts`; 0: every step is placed anew.
    """

    model: ModelCard
    platform: Platform
    scheduler: str
    elements: str = "fp16"
    max_sequences: int = 16
    token_budget: int = 2048
    block_tokens: int = 16
    prefix_caching: bool = True
    grain: int = PLAN_GRAIN


def placed_cluster(trace: RequestTrace, server: PlacedServer) -> tuple[Cluster, PlacedCosts]:
    """A server for the requests of a trace, at any rate; it keeps its plans from run to run.

    Memory for keys and values is set aside for the longest request in every place; they and the
    weights are where a full batch of mean requests is served first.

    Raises
    ------
    InputError
        If something does not fit, or there is no such scheduler.
    """
    requests = trace.requests
    longest = max(each.input_tokens + each.output_tokens for each in requests)
    typical = (
        round(sum(each.input_tokens for each in requests) / len(requests)),
        round(sum(each.output_tokens for each in requests) / len(requests)),
    )
    request = Request(
        model=server.model,
        platform=server.platform,
        workload=Workload(batch=server.max_sequences, prefill=longest, decode=0),
        record=load_record(DEFAULT_RECORD),
        scheduler=server.scheduler,
        elements=server.elements,
    )
    placed = PlacedCosts(
        server.model,
        server.platform,
        lambda: make_scheduler(request),
        max_sequences=server.max_sequences,
        max_tokens=longest,
        elements=server.elements,
        typical=typical,
    )
    costs: StepCosts = CachedCosts(placed, grain=server.grain) if server.grain else placed
    config = ReplicaConfig(
        max_sequences=server.max_sequences,
        token_budget=server.token_budget,
        block_tokens=server.block_tokens,
        kv_blocks=server.max_sequences * -(-longest // server.block_tokens),
        prefix_caching=server.prefix_caching,
        asynchronous=False,
    )
    power = Power.of_platform(server.platform)
    return Cluster([ReplicaSpec(costs=costs, config=config, power=power)]), placed


def serve_placed(
    trace: RequestTrace, server: PlacedServer, *, keep_steps: bool = False
) -> tuple[ServingRun, PlacedCosts]:
    """Serve a trace and check the run.

    Raises
    ------
    InputError
        If something does not fit, or there is no such scheduler.
    FaultError
        If an invariant does not hold.
    """
    cluster, placed = placed_cluster(trace, server)
    run = cluster.serve(trace, keep_steps=keep_steps)
    check_run(run)
    return run, placed


def mean_pass(run: ServingRun, phase: Phase) -> Step:
    """The pass that stands for a run: prefill of a mean prompt, or decode of a mean batch.

    Of decode the sequences are the mean over its time, and the context is the mean over all
    generated tokens.
    """
    requests = run.trace.requests
    if phase == "prefill":
        return Step("prefill", 1, round(sum(r.input_tokens for r in requests) / len(requests)))
    record = run.recorder
    spans = np.array(record.last_at) - np.array(record.first_at)
    lasted = max(record.last_at) - min(record.first_at)
    batch = max(1, round(float(spans.sum()) / max(1, lasted)))
    tokens = sum(r.output_tokens for r in requests)
    stored = sum(r.output_tokens * (r.input_tokens + r.output_tokens / 2) for r in requests)
    return Step("decode", batch, round(stored / tokens))
