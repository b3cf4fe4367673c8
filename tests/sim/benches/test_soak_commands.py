import itertools

import pytest

from fanweave.golden.errors import FaultError
from fanweave.sim.benches import soak_commands
from fanweave.sim.benches.ebpf import linux
from fanweave.sim.command.main import main
from fanweave.sim.runner.optimisation import optimisation


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["soak", *arguments])
    return ended.value.code


@pytest.fixture
def played(monkeypatch):
    """Replace the rounds by a note of how they were called; seed 12 differs."""
    calls = []

    def play(seed, config):
        calls.append((seed, config))
        if seed == 12:
            raise FaultError("counter products: expected 3, got 2")
        return "played"

    monkeypatch.setattr(soak_commands, "find_soak", lambda name: play)
    return calls


def test_rounds_count_the_seed_on(played, capsys):
    assert status_of("ventaglio", "--seed", "5", "--rounds", "3", "--config", "tiny") == 0
    assert played == [(5, "tiny"), (6, "tiny"), (7, "tiny")]
    captured = capsys.readouterr()
    assert "soak ventaglio: seed 5" in captured.err
    assert captured.out.splitlines() == [
        "0: played",
        "1: played",
        "2: played",
        "soak ventaglio: 3 rounds, no difference",
    ]


@pytest.mark.parametrize(("rounds", "options"), [("1", "-O1"), ("2", "-Os")])
def test_models_of_more_than_a_round_are_built_for_speed(monkeypatch, capsys, rounds, options):
    monkeypatch.delenv("FANWEAVE_OPTIMISE", raising=False)
    monkeypatch.setattr(soak_commands, "find_soak", lambda name: lambda **_: optimisation())
    assert status_of("ventaglio", "--seed", "1", "--rounds", rounds) == 0
    assert f"0: {options}" in capsys.readouterr().out
    assert optimisation() == "-O1"


def test_a_difference_ends_the_soak_and_says_how_to_see_it_again(played, capsys):
    assert status_of("--seed", "10", "--rounds", "9", "--config", "tiny") == 1
    assert [seed for seed, _ in played] == [10, 11, 12]
    message = capsys.readouterr().err
    assert "round 2 differs: counter products: expected 3, got 2" in message
    assert "again: fanweave soak ventaglio --config tiny --seed 12 --rounds 1" in message


def test_all_units_take_turns(played, capsys, monkeypatch):
    monkeypatch.setattr(soak_commands, "_all_units", lambda: ["switch", "ebpf"])
    assert status_of("all", "--seed", "10", "--rounds", "9") == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines() == ["0: switch: played", "1: ebpf: played"]
    assert "again: fanweave soak switch --seed 12 --rounds 1" in captured.err


def test_what_the_kernel_does_not_run_is_left_out_with_its_reason(monkeypatch, capsys):
    monkeypatch.setattr(linux, "why_unavailable", lambda: "it is no Linux")
    assert soak_commands._all_units() == [n for n in soak_commands.SOAKS if n != "ebpf-linux"]
    assert "without ebpf-linux: it is no Linux" in capsys.readouterr().err
    monkeypatch.setattr(linux, "why_unavailable", lambda: None)
    assert soak_commands._all_units() == list(soak_commands.SOAKS)


def test_time_ends_a_soak_after_one_round_at_least(monkeypatch):
    clock = itertools.count(step=25)
    monkeypatch.setattr(soak_commands.time, "monotonic", lambda: next(clock))
    assert list(soak_commands.rounds_of(None, 0.0)) == [0]
    assert list(soak_commands.rounds_of(None, 1.0)) == [0, 1, 2]
    assert list(soak_commands.rounds_of(4, 0.0)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("nothing",),
            "soak 'nothing' is not known; choose one of "
            "core, ebpf, ebpf-linux, ebpf-loader, ebpf-maps, island, switch, vector, "
            "vector-ventaglio, ventaglio",
        ),
        (("--config", "huge", "--rounds", "1"), "unknown configuration 'huge'; choose one of"),
        (("all", "--config", "tiny"), "presets are those of a unit: leave --config tiny out"),
        (("--rounds", "0"), "0 is not in the range"),
    ],
)
def test_bad_input_is_refused(arguments, message, capsys):
    assert status_of(*arguments) == 2
    assert message in capsys.readouterr().err
