import os

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.waves import commands
from fanweave.sim.waves.commands import newest_dump
from fanweave.sim.waves.window import parse_window


def call(*arguments):
    return CliRunner().invoke(
        commands.waves, [str(argument) for argument in arguments], catch_exceptions=False
    )


def test_it_lists_scopes_and_says_how_to_open(dump):
    outcome = call(dump)
    assert outcome.exit_code == 0
    assert "9 signals, unit of time 1 ns" in outcome.stdout
    assert "top.unit: 4" in outcome.stdout
    assert f"gtkwave {dump}" in outcome.stdout
    dump.with_suffix(".gtkw").write_text("")
    assert f"gtkwave {dump.with_suffix('.gtkw')}" in call(dump).stdout


def test_it_draws_the_ports_of_the_top(dump, tmp_path):
    picture = tmp_path / "picture.svg"
    call(dump, "--svg", picture)
    text = picture.read_text()
    assert "top.in__valid" in text
    assert "table" not in text


def test_it_draws_the_chosen_signals_in_the_window(dump, tmp_path):
    picture = tmp_path / "picture.svg"
    call(dump, "--svg", picture, "--window", "3:4", "--signal", "table[1]", "--signal", "top.in*")
    text = picture.read_text()
    assert "top.unit.table[1]" in text
    assert "top.in__payload" in text
    assert "top.clk" not in text
    assert "from 3 (cycles)" in text
    assert ">3</text>" in text
    assert ">2</text>" not in text


@pytest.mark.parametrize(
    ("text", "window"), [("3:7", (3, 7)), (":7", (0, 7)), ("3:", (3, None)), (":", (0, None))]
)
def test_windows(text, window):
    assert parse_window(text) == window


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7:3", "window '7:3' is empty: FROM must be less than TO"),
        ("3:3", "window '3:3' is empty: FROM must be less than TO"),
        ("-1:3", "window '-1:3' must be FROM:TO in cycles, such as 100:140"),
        ("all", "window 'all' must be FROM:TO in cycles, such as 100:140"),
    ],
)
def test_windows_that_are_none_are_refused(text, message, dump, tmp_path):
    with pytest.raises(InputError) as caught:
        call(dump, "--svg", tmp_path / "picture.svg", "--window", text)
    assert str(caught.value) == message
    assert not (tmp_path / "picture.svg").exists()


def test_a_window_outside_leaves_no_picture(dump, tmp_path):
    with pytest.raises(InputError, match="has no values from"):
        call(dump, "--svg", tmp_path / "picture.svg", "--window", "100:140")
    assert not (tmp_path / "picture.svg").exists()


def test_a_signal_that_is_not_there_is_refused(dump, tmp_path):
    with pytest.raises(InputError, match=r"has no signal like 'nope\*'"):
        call(dump, "--svg", tmp_path / "picture.svg", "--signal", "nope*")


def test_a_window_without_a_picture_is_refused(dump):
    with pytest.raises(InputError, match="--window 1:2 needs --svg FILE"):
        call(dump, "--window", "1:2")


def test_the_newest_dump_is_found(tmp_path):
    with pytest.raises(InputError, match=r"no waveform .* make one with: make sim WAVES=1"):
        newest_dump(tmp_path)
    for age, name in enumerate(["sim/b.vcd", "sim/a.vcd", "formal/c.vcd"]):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
        os.utime(file, (1000 + age, 1000 + age))
    assert newest_dump(tmp_path) == tmp_path / "sim/a.vcd"
