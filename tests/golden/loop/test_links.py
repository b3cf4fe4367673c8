"""Costs of links from what was measured of movements."""

from dataclasses import replace

import pytest

from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.loop.costs import start_costs
from fanweave.golden.loop.links import LinkFigure, with_links

PLATFORM = load_platform("sparse-pair")
COSTS = start_costs(PLATFORM, density=0.5)
WEIGHTS = LinkFigure(
    movement="weights", source="CPU0", target="PIM0", messages=100, latency_ns=20.0,
    bandwidth_gib=10.0,
)  # fmt: skip
USED, UNUSED = "CPU0/PIM0", "PIM0/CPU0"


def measured(costs, *figures, idle=12.0):
    return with_links(costs, PLATFORM, figures, idle_ns=idle, origin="rtl")


def test_a_link_has_what_was_measured_of_its_movement():
    found = measured(COSTS, WEIGHTS)
    latency, rate = found[f"switch_latency/{USED}"], found[f"link_bandwidth/{USED}"]
    assert (latency.value, latency.origin, latency.source) == (
        20.0,
        "rtl",
        "under load, 100 requests",
    )
    assert (rate.value, rate.origin) == (10.0, "rtl")
    unused = found[f"switch_latency/{UNUSED}"]
    assert (unused.value, unused.origin, unused.source) == (12.0, "rtl", "idle switch")
    assert found[f"link_bandwidth/{UNUSED}"].value == 29.8
    name = "lanes_busy/VENTAGLIO0/Q/decode"
    assert found[name] == COSTS[name]


def test_several_movements_of_a_link():
    other = replace(WEIGHTS, messages=300, latency_ns=40.0, bandwidth_gib=5.0)
    found = measured(COSTS, WEIGHTS, other)
    assert found[f"switch_latency/{USED}"].value == 35.0
    assert found[f"link_bandwidth/{USED}"].value == pytest.approx(400 / (10 + 60), abs=1e-3)


def test_a_link_carries_no_more_than_the_platform_says():
    found = measured(COSTS, replace(WEIGHTS, bandwidth_gib=50.0))[f"link_bandwidth/{USED}"]
    assert (found.value, found.origin) == (29.8, "assumed")
    assert found.source == "under load the switch carries more; platform sparse-pair"


def test_what_was_measured_under_load_stays_when_a_link_is_not_used():
    first = measured(COSTS, WEIGHTS)
    assert measured(first)[f"switch_latency/{USED}"] == first[f"switch_latency/{USED}"]
    assert measured(first)[f"link_bandwidth/{USED}"] == first[f"link_bandwidth/{USED}"]
    again = measured(first, replace(WEIGHTS, latency_ns=1.0))
    assert again[f"switch_latency/{USED}"].value == 1.0
    assert measured(first, idle=13.0)[f"switch_latency/{UNUSED}"].value == 13.0


def test_a_wrong_bandwidth_of_an_unused_link_does_not_stay():
    name = f"link_bandwidth/{UNUSED}"
    wrong = {**COSTS, name: replace(COSTS[name], value=1.0)}
    assert measured(wrong)[name].value == 29.8
