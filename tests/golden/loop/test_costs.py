"""Costs of a platform, and where the loop begins."""

import json
from dataclasses import replace

import pytest

from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.errors import InputError
from fanweave.golden.loop.costs import Cost, cost_documents, family_of, priced, start_costs
from fanweave.golden.loop.start import begin_with

PLATFORM = load_platform("sparse-pair")
COSTS = start_costs(PLATFORM, density=0.5)
BUSY, LATENCY, RATE = (
    "lanes_busy/VENTAGLIO0/Q/decode",
    "switch_latency/CPU0/PIM0",
    "link_bandwidth/CPU0/PIM0",
)


def test_a_platform_says_what_it_assumes():
    assert {cost.origin for cost in COSTS.values()} == {"assumed"}
    assert COSTS[BUSY].value == 0.9901
    assert COSTS["lanes_busy/VENTAGLIO0/Head/prefill"].value == 0.9907
    assert (COSTS[LATENCY].value, COSTS[LATENCY].unit) == (0.0, "ns")
    assert COSTS[RATE].value == 29.8
    # Eight products in two phases; three devices, each to two others, two costs.
    assert len(COSTS) == 16 + 12


def test_costs_price_a_platform():
    def cost(value):
        return Cost(value=value, unit="1", origin="rtl", source="test")

    made = priced(PLATFORM, {**COSTS, BUSY: cost(0.5), LATENCY: cost(31.0), RATE: cost(7.0)})
    ventaglio = made.devices[1]
    assert (str(Kind.Q), "decode", 0.5) in ventaglio.busy_of
    assert (str(Kind.Q), "prefill", 0.9901) in ventaglio.busy_of
    link, other = made.link(0, 2), made.link(2, 0)
    assert link is not None
    assert (link.latency_ns, link.bandwidth_gib) == (231.0, 7.0)
    assert other is not None
    assert (other.latency_ns, other.bandwidth_gib) == (200.0, 29.8)
    assert made.devices[0] == PLATFORM.devices[0]


def test_what_a_platform_says_of_its_switch_is_not_counted_twice():
    platform = load_platform("a100-cxl")
    assert platform.switch is not None
    costs = start_costs(platform, density=1.0)
    cost = costs["switch_latency/CPU0/GPU0"]
    assert (cost.value, cost.origin) == (platform.switch.latency_ns, "rtl")
    before = platform.link(0, 1)
    assert priced(platform, costs).link(0, 1) == before
    slower = {**costs, "switch_latency/CPU0/GPU0": replace(cost, value=cost.value + 50.0)}
    after = priced(platform, slower).link(0, 1)
    assert before is not None
    assert after is not None
    assert after.latency_ns == before.latency_ns + 50.0


def test_wrong_costs_are_far_from_those_of_the_platform():
    wrong = begin_with("wrong", COSTS)
    assert wrong[BUSY].value == pytest.approx(0.02 * 0.9901)
    assert wrong[LATENCY] == COSTS[LATENCY]
    assert wrong["link_bandwidth/VENTAGLIO0/PIM0"].value == pytest.approx(2.98)
    assert wrong[RATE] == COSTS[RATE]
    assert begin_with("platform", COSTS) == COSTS


def test_an_earlier_run_goes_on(tmp_path):
    file = tmp_path / "run.json"
    told = {**COSTS, BUSY: replace(COSTS[BUSY], value=0.25, origin="rtl")}
    file.write_text(json.dumps({"costs": cost_documents(told)}))
    assert begin_with(str(file), COSTS) == told


def test_a_file_of_factors_and_values(tmp_path):
    file = tmp_path / "start.toml"
    file.write_text('[factors]\n"lanes_busy/*/Q/*" = 0.5\n[values]\n"switch_latency/*" = 9\n')
    found = begin_with(str(file), COSTS)
    assert found[BUSY].value == pytest.approx(0.49505)
    assert found["lanes_busy/VENTAGLIO0/K/decode"] == COSTS["lanes_busy/VENTAGLIO0/K/decode"]
    assert {c.value for n, c in found.items() if family_of(n) == "switch_latency"} == {9.0}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x", "", "start costs 'x' are not known; use platform, wrong, a .toml file"),
        ("x.toml", "[factors]\n'busy' = 2", "no cost is like 'busy'; they are such as lanes_busy"),
        ("x.toml", "[factors]\n'lanes_busy/*' = 2", "must be a share, at most 1"),
        ("x.toml", "[factors]\n'lanes_busy/*' = 0", "must be a finite number above 0"),
        ("x.toml", "[factor]\n'lanes_busy/*' = 2", "did you mean 'factors'"),
        ("x.toml", "factors = 3", "factors must be a table of patterns and numbers"),
        ("x.json", "{}", "'costs' is missing; use the JSON of `fanweave system run`"),
        ("x.json", '{"costs": [3]}', "3 must have name, value, unit, origin and source"),
        ("x.json", "{", "is no JSON"),
        (
            "x.json",
            '{"costs": [{"name": "a", "value": 1, "unit": "1", "origin": "rtl", "source": "b"}]}',
            "cost 'a' is none of this platform's",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, name, text, message):
    if "." in name:
        file = tmp_path / name
        file.write_text(text)
        name = str(file)
    with pytest.raises(InputError) as refused:
        begin_with(name, COSTS)
    assert message in str(refused.value)
