"""``fanweave synth`` measures, keeps what it measured, and notes it for each commit."""

import json
from dataclasses import dataclass

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from fanweave.golden.errors import InputError
from fanweave.hw.generate.units import Reset, Top, Unit
from fanweave.sim.command.main import main
from fanweave.sim.synthesis import measure as measuring
from fanweave.sim.synthesis import synth_command
from fanweave.sim.synthesis.measure import Measurement, note_history, rows_of


@dataclass(frozen=True)
class Bits:
    bits: int


class Counter(wiring.Component):
    def __init__(self, bits):
        super().__init__({"count": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


def preset(name):
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}")
    return PRESETS[name]


PRESETS = {"default": Bits(6), "tiny": Bits(3)}


@pytest.fixture
def counter(monkeypatch, tmp_path):
    """A unit that is synthesised in no time; the folder of what is built."""
    top = Top(
        module="counter",
        clock="clk",
        reset=Reset(port="rst", active_low=False),
        description="Counts.",
        build=lambda config: Counter(config.bits),
    )
    unit = Unit(
        name="counter",
        description="counter",
        presets=PRESETS,
        summary=lambda config: {"bits": str(config.bits)},
        tops={"plain": top},
        registers=(),
        codes=(),
    )
    monkeypatch.setattr(synth_command, "UNITS", {"counter": unit})
    monkeypatch.setattr(synth_command, "find_unit", lambda name: unit)
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path / "build"))
    return tmp_path / "build" / "synth"


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["synth", *map(str, arguments)])
    return ended.value.code


def test_all_presets_are_measured_shown_and_written(counter, tmp_path, capsys):
    assert status_of("--json", tmp_path / "rows.json") == 0
    shown = capsys.readouterr().out
    assert "counter default: longest path, " in shown
    document = json.loads((tmp_path / "rows.json").read_text())
    found = {(row["case"], row["metric"]): row["value"] for row in document["rows"]}
    assert found["counter default asic", "flip_flops"] == 6
    assert found["counter tiny asic", "flip_flops"] == 3
    assert found["counter default asic", "area_ge"] > found["counter tiny asic", "area_ge"] > 16
    shares = [found[f"counter tiny asic, {part}", "area_share"] for part in PARTS]
    assert sum(shares) == pytest.approx(1, abs=1e-3)


PARTS = ("logic", "flip_flop", "memory")


def test_what_was_measured_is_not_measured_again(counter, monkeypatch, capsys):
    assert status_of("counter", "--config", "tiny") == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(measuring, "_synthesise", lambda *_: pytest.fail("synthesised again"))
    assert status_of("counter", "--config", "tiny") == 0
    assert capsys.readouterr().out == first
    assert len((counter / "history.jsonl").read_text().splitlines()) == 1


def test_the_history_has_a_line_for_each_commit_and_result(tmp_path, monkeypatch):
    data = {"fmax_mhz": 50.0, "used": USED, "available": USED}
    measured = Measurement(unit="counter", preset="tiny", target="ecp5", data=data)
    for commit in ("abc1234", "abc1234", "def5678"):
        monkeypatch.setattr(measuring, "_commit", lambda commit=commit: commit)
        note_history(measured, folder=tmp_path)
    lines = [json.loads(each) for each in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [line["commit"] for line in lines] == ["abc1234", "def5678"]
    assert lines[0]["values"] == {"counter tiny ecp5: fmax_mhz": 50.0}


USED = {"TRELLIS_COMB": 10, "TRELLIS_FF": 10, "DP16KD": 10}


def test_a_goal_goes_with_the_frequency_that_has_one():
    data = {"fmax_mhz": 50.0, "used": USED, "available": dict.fromkeys(USED, 40)}
    rows = rows_of(Measurement(unit="ventaglio", preset="tiny", target="ecp5", data=data))
    assert (rows[0].metric, rows[0].value, rows[0].goal) == ("fmax_mhz", 50.0, 60)
    assert rows[0].met is False
    assert [row.value for row in rows if row.metric == "area_share"] == [0.25] * 3


def test_the_frequency_on_an_fpga_is_shown(counter, capsys):
    assert status_of("counter", "--config", "tiny", "--target", "ecp5") == 0
    shown = capsys.readouterr().out
    assert "LFE5U-85F, speed grade 8" in shown
    assert "counter tiny: longest path, " in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--config", "huge"), "unknown preset 'huge'"),
        (("--json", "no/rows.json"), "does not exist; create it first"),
        (("--target", "ice40"), "'ice40' is not one of"),
    ],
)
def test_bad_input_ends_with_2_and_the_mend(arguments, message, counter, capsys, monkeypatch):
    assert status_of(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not counter.exists()


def test_a_synthesis_that_fails_leaves_the_others_and_ends_with_1(counter, capsys, tmp_path):
    assert status_of("--limit", "0.01", "--json", tmp_path / "rows.json") == 1
    error = capsys.readouterr().err
    assert "counter default: yosys did not end with counter within 0.01 s" in error
    assert "counter tiny: yosys did not end" in error
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == []
