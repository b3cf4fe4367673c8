"""Scenarios of the policies: one module a policy."""

from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios import (
    access_control,
    duplex_balance,
    hot_pages,
    hot_pages_sketch,
    load_tokens,
    spill_reads,
    steering,
    stride_prefetch,
    telemetry,
)

__all__ = ["SCENARIOS"]

#: All of them, by policy.
SCENARIOS: tuple[Scenario, ...] = (
    *hot_pages.SCENARIOS,
    *hot_pages_sketch.SCENARIOS,
    *stride_prefetch.SCENARIOS,
    *load_tokens.SCENARIOS,
    *access_control.SCENARIOS,
    *duplex_balance.SCENARIOS,
    *steering.SCENARIOS,
    *spill_reads.SCENARIOS,
    *telemetry.SCENARIOS,
)
