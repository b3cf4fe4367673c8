"""``fanweave verilog`` writes all or nothing, and what it writes is clean."""

import json
import subprocess
from dataclasses import dataclass

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.units import Reset, Top, Unit
from fanweave.sim.command.main import main
from fanweave.sim.runner.toolchain import find_toolchain
from fanweave.sim.synthesis import commands
from fanweave.sim.synthesis.yosys import synthesise


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["verilog", *map(str, arguments)])
    return ended.value.code


def test_the_list_shows_units_and_presets(capsys):
    assert status_of("--list") == 0
    text = capsys.readouterr().out
    assert "ventaglio" in text
    assert "--top axi" in text
    assert max(map(len, text.splitlines())) <= 100
    for name in ("default", "double", "quad", "fp32", "fp16", "tiny"):
        assert f" {name} " in text


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verilog") / "out"
    assert status_of("ventaglio", "--config", "tiny", "-o", folder) == 0
    assert status_of("ebpf", "--config", "tiny", "-o", folder) == 0
    assert status_of("core", "--config", "small", "-o", folder) == 0
    assert status_of("cluster", "--config", "small-ventaglio", "-o", folder) == 0
    return folder


@pytest.mark.parametrize("module", ["ventaglio", "ventaglio_axi", "ebpf", "scalar_core", "cluster"])
def test_verilator_finds_nothing_beyond_the_waivers(module, generated):
    toolchain = find_toolchain()
    linted = subprocess.run(
        ["verilator", "--lint-only", "-Wall", f"{module}.vlt", f"{module}.v"],
        cwd=generated,
        env=toolchain.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stderr
    assert "%Warning" not in linted.stderr


def test_verilator_finds_what_the_waivers_cover(generated):
    """So the waivers are needed, and the lint above does look."""
    linted = subprocess.run(
        ["verilator", "--lint-only", "-Wall", "ventaglio.v"],
        cwd=generated,
        env=find_toolchain().environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode != 0
    waived = (generated / "ventaglio.vlt").read_text()
    for rule in ("WIDTHEXPAND", "WIDTHTRUNC", "CASEINCOMPLETE", "PROCASSINIT", "UNUSEDSIGNAL"):
        assert f"%Warning-{rule}" in linted.stderr
        assert f"-rule {rule} " in waived


def test_one_top_alone(tmp_path):
    assert status_of("ventaglio", "--config", "tiny", "--top", "plain", "-o", tmp_path) == 0
    assert not (tmp_path / "ventaglio_axi.v").exists()
    assert "axi" not in (tmp_path / "ventaglio.core").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no unit is named; fanweave verilog --list describes them"),
        (("ventilator", "-o", "."), "unknown unit 'ventilator'; choose one of ventaglio"),
        (("ventaglio",), "no folder is named; add -o DIR"),
        (
            ("ebpf", "--top", "axi", "-o", "."),
            "unit ebpf has no top 'axi'; choose one of",
        ),
        (("ebpf", "--set", "threads=5", "-o", "."), "threads = 5 is illegal"),
        (("ventaglio", "--config", "huge", "-o", "."), "unknown preset 'huge'"),
        (("ventaglio", "--set", "window=3", "-o", "."), "window = 3 is illegal"),
        (
            ("switch", "--for", "a.o", "-o", "."),
            "--for sizes the unit ebpf by an object; unit switch",
        ),
        (("ebpf", "--for", "a.o", "-o", "."), "a.o cannot be read: No such file or directory"),
        (("ventaglio", "-o", "no/such/folder"), "does not exist; create it first"),
        (("ventaglio", "-o", ".", "--json", "a"), "--json holds what a synthesis counts; add"),
        (("ventaglio", "-o", ".", "--synth", "--json", "no/a"), "does not exist; create it first"),
        (("ventaglio", "-o", ".", "--synth", "ice40"), "'ice40' is not one of"),
    ],
)
def test_bad_input_ends_with_2_and_the_mend(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status_of(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_place_of_the_folder_stays(tmp_path, capsys):
    file = tmp_path / "out"
    file.write_text("mine")
    assert status_of("ventaglio", "--config", "tiny", "-o", file) == 2
    assert f"output {file} is a file; name a folder" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_full_disk_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    commands.write_package(folder, {"a.v": "old", "b.v": "old"})
    written = []

    def fail_at_the_second(path, text):
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        path.write_text(text)

    monkeypatch.setattr(commands, "write_text", fail_at_the_second)
    with pytest.raises(commands.InputError, match="cannot be written: No space left on device"):
        commands.write_package(folder, {"a.v": "new", "b.v": "new"})
    assert {file.name: file.read_text() for file in folder.iterdir()} == {
        "a.v": "old",
        "b.v": "old",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_yosys_counts_cells_below_instances(tmp_path):
    verilog = tmp_path / "pair.v"
    verilog.write_text(
        "module bit_(input clk, input d, output reg q); always @(posedge clk) q <= d; endmodule\n"
        "module pair(input clk, input d, output q); wire x;\n"
        "bit_ first(.clk(clk), .d(d), .q(x)); bit_ second(.clk(clk), .d(x), .q(q)); endmodule\n"
    )
    count = synthesise(verilog, "pair")
    assert (count.cells, count.flip_flops) == (2, 2)


def test_what_yosys_refuses_is_a_fault(tmp_path):
    verilog = tmp_path / "bad.v"
    verilog.write_text("module bad(; endmodule\n")
    with pytest.raises(FaultError, match=r"yosys does not accept .*bad\.v:\n.*syntax error"):
        synthesise(verilog, "bad")


@dataclass(frozen=True)
class Bits:
    bits: int = 5


class Counter(wiring.Component):
    def __init__(self, bits):
        super().__init__({"count": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


@pytest.fixture
def counter(monkeypatch):
    """A unit that is synthesised in no time."""
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
        presets={"default": Bits()},
        summary=lambda config: {"bits": str(config.bits)},
        tops={"plain": top},
        registers=(),
        codes=(),
    )
    monkeypatch.setattr(commands, "find_unit", lambda name: unit)


@pytest.mark.parametrize(
    ("flow", "name", "number"), [("generic", "cells", 16), ("ecp5", "luts", 7)]
)
def test_a_synthesis_is_shown_and_written(flow, name, number, counter, tmp_path, capsys):
    file = tmp_path / "counts.json"
    arguments = ("counter", "--set", "bits=6", "-o", tmp_path / "out", "--json", file)
    assert status_of(*arguments, "--synth", *((flow,) if flow != "generic" else ())) == 0
    document = json.loads(file.read_text())
    (counted,) = document.pop("tops")
    assert document == {"unit": "counter", "parameters": {"bits": 6}, "flow": flow}
    numbers = counted if flow == "generic" else counted["total"]
    assert numbers["flip_flops"] == 6
    assert numbers[name] == number
    assert f" {number} " in capsys.readouterr().out


def test_the_document_has_standard_output_for_itself(counter, tmp_path, capsys):
    assert status_of("counter", "-o", tmp_path / "out", "--synth", "ecp5", "--json", "-") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["tops"][0]["blocks"][0]["flip_flops"] == 5
    assert "blocks kept apart" in shown.err
