"""Scenarios: those that come with the package, and what is refused of a file."""

from importlib import resources

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.prefill import prefill_graph
from fanweave.golden.fabric.scenario import load_scenario, scenario_names

_BALANCED = (
    resources.files("fanweave.golden.fabric").joinpath("scenarios/balanced.toml").read_text()
)


def written(tmp_path, *changes):
    text = _BALANCED
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_the_shipped_ones():
    assert scenario_names() == [
        "balanced",
        "hot_kv",
        "llama3_8b",
        "read_heavy",
        "slow_device",
        "two_tenants",
    ]
    for name in scenario_names():
        scenario = load_scenario(name)
        assert scenario.name == name
        assert scenario.settings[0].name == "off"
        assert not scenario.settings[0].homes
        assert len({setting.name for setting in scenario.settings}) == len(scenario.settings) >= 5
        assert prefill_graph(scenario.prefill, name=name).objects
        assert scenario.prefill.layers == scenario.prefill.card.layers


def test_what_makes_each_of_them():
    balanced, slow, heavy, two, larger = map(
        load_scenario, ("balanced", "slow_device", "read_heavy", "two_tenants", "llama3_8b")
    )
    assert balanced.memories["far0"] == balanced.memories["far1"]
    assert slow.memories["far1"].read == 3 * slow.memories["far0"].read
    assert heavy.prefill.reuse == 2 * balanced.prefill.reuse
    assert two.prefill.tenants == ("a", "b")
    assert (larger.prefill.card.name, larger.prefill.scale) == ("llama-3-8b", 32)


def test_a_file_is_read(tmp_path):
    path = written(tmp_path, ('name = "balanced"', 'name = "mine"'), ("link = 20", "link = 7"))
    scenario = load_scenario(path)
    assert (scenario.name, scenario.link) == ("mine", 7)
    assert scenario.with_layers(3).prefill.layers == 3


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("link = 20", "link = 0", "mine.toml: link"),
        ("link = 20", 'color = "red"', "color"),
        ("tokens = 512", "tokens = 0", "tokens"),
        ("tokens = 512\n", "", "tokens"),
        ("share_b = 0.25", "share_b = 1.5", "mine.toml: prefill: share_b = 1.5 must be from 0 to"),
        ('model = "smollm2-135m"', 'model = "smollm3"', "model 'smollm3' is not known"),
        ('kv_a = "far1"', 'kv_a = "far2"', "object 'kv_a' needs a home; choose one of near0"),
        ("gpu1 = 128", "gpu2 = 128", "gpu2"),
        ("gpu1 = 128", "gpu1 = 0", "gpu1"),
        ("turn = 4", "turn = -1", "turn = -1 of a device must be an integer from 0"),
        ("turn = 4", "loads = [3, 2, 9]", "must be three growing numbers from 1"),
        ('homes = { kv_a = "near1" }', 'homes = { kv_z = "near1" }', "kv_z"),
        ('homes = { kv_a = "near1" }', 'homes = { kv_a = "mars" }', "mars"),
        ("page_bytes = 1048576", "page_bytes = 5000", "must be a power of two from 4096"),
        ("page_bytes = 1048576", "page_bytes = 2097152", "a power of two from 4096 to 1048576"),
        ("answers_skip = 63", "answers_skip = 65536", "answers_skip = 65536 must be an integer"),
        ("answers_skip = 63", "outstanding = { gpu9 = 3 }", "policies: outstanding: .*'gpu9'"),
        ("answers_skip = 63", "outstanding = { gpu0 = 0 }", "gpu0 = 0 must be an integer of at"),
        ("answers_skip = 63", "outstanding = 5", "outstanding = 5 must be a table of keys"),
        ("link = 20", "link = 1_000_000_000_000", "link = 1000000000000 must be an integer"),
        ("latency = 60", "latency = 1_000_000_000", "near0: latency = 1000000000 must be at most"),
        ('tenants = ["a"]', 'tenants = "a"', "tenants = 'a' must be a list of names"),
        ('tenants = ["a"]', "tenants = []", "must name one at least"),
        ('homes = { kv_a = "near1" }', "homes = 7", "homes = 7 must be a table of keys and values"),
        ('kv_a = "far1"', 'kv_b = "far1"', "homes: unknown key 'kv_b'; did you mean 'kv_a'"),
        ("[[policies.goals]]", "[policies.goals]", "policies: goals = .* must be tables, "),
        ('objects = ["ffn_weights", "ffn_weights_b"]', "objects = 3", "must be a list of names"),
        ('kind = "spread_reads"', 'kind = "spread_writes"', "spread_writes"),
        ("open = 60", "open = 5000", "open = 5000 must be at most 4096"),
        ("open = 60", "opened = 60", "opened"),
    ],
)
def test_what_is_no_scenario(tmp_path, before, after, message):
    with pytest.raises(InputError, match=message):
        load_scenario(written(tmp_path, (before, after)))


def test_names_that_are_none():
    with pytest.raises(InputError, match="'balance' is not known; did you mean 'balanced'"):
        load_scenario("balance")
    with pytest.raises(InputError, match=r"nowhere\.toml"):
        load_scenario("nowhere.toml")
