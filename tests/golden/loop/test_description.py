"""Loops by name, and loop files."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.loop.description import Loop, find_loop, is_loop, loop_names


def test_the_shipped_loop():
    assert loop_names() == ["smollm2-sparse"]
    loop = find_loop("smollm2-sparse")
    assert (loop.model, loop.platform, loop.trace) == (
        "smollm2-135m",
        "sparse-pair",
        "smollm2-layer",
    )
    assert (loop.workload.prefill, loop.workload.decode) == (8, 4)


def test_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[loop]\nmodel = "llama-2-7b"\nplatform = "sparse-edge"\ndensity = [0.5, 0.25]\n'
        "rounds = 3\nmemory = { latency = 50, loads = [1, 2, 3] }\n"
    )
    assert is_loop(str(file))
    loop = find_loop(str(file))
    assert (loop.name, loop.rounds, loop.density) == ("mine", 3, (0.5, 0.25))
    assert (loop.memory.latency, loop.memory.loads) == (50, (1, 2, 3))


def test_scenarios_are_no_loops(tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text("[prefill]\n")
    assert not is_loop(str(file))
    assert not is_loop("balanced")
    assert not is_loop(str(tmp_path / "none.toml"))
    assert is_loop("smollm2-sparse")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "key 'loop' is missing"),
        ("loop = 3", "loop must be a table"),
        ('[loop]\nmodel = "m"', "key 'platform' is missing"),
        ('[loop]\nmodel = "m"\nplatform = "p"\nrounds = 0', "rounds = 0 must be an integer"),
        ('[loop]\nmodel = "m"\nplatform = "p"\nround = 1', "did you mean 'rounds'?"),
        ('[loop]\nmodel = "m"\nplatform = "p"\ndensity = 0.5', "density = 0.5 must be two shares"),
        ('[loop]\nmodel = "m"\nplatform = "p"\ndensity = [2, 1]', "density = 2 must be at most 1"),
        ('[loop]\nmodel = "m"\nplatform = "p"\nmeasure = "guess"', "must be one of rtl, model"),
        ('[loop]\nmodel = "m"\nplatform = "p"\ntrace = 5', "trace = 5 must be a string"),
        ('[loop]\nmodel = "m"\nplatform = "p"\nmemory = { latency = 0 }', "latency = 0"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, text, message):
    file = tmp_path / "loop.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        find_loop(str(file))
    assert message in str(refused.value)


def test_names():
    with pytest.raises(InputError, match="did you mean 'smollm2-sparse'"):
        find_loop("smollm2-spars")
    assert Loop(name="l", model="m", platform="p").density == (1.0, 1.0)
