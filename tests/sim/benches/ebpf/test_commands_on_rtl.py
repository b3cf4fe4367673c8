"""`fanweave ebpf run` and `serve` as a user types them: the engine in RTL answers as golden."""

import json
import subprocess
import sys

import pytest

from fanweave.sw.ebpf.object.samples import SAMPLES

ENGINES = ("golden", "rtl")
MAIN = "from fanweave.sim.command import main; main()"
#: r0 = the second byte of the context, plus 0x28.
SUM = "b7 00 00 00\n28 00 00 00\t71 11 01 00 00000000\n0f10 0000 0000 0000 95 00000000000000\n"


def fanweave(*arguments, given=""):
    """Exit status, standard output and standard error of a command in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return ended.returncode, ended.stdout, ended.stderr


def on_both(*arguments, given=""):
    """The same of both engines, which must not differ."""
    golden, rtl = (fanweave("ebpf", *arguments, "--engine", e, given=given) for e in ENGINES)
    assert golden[:2] == rtl[:2], rtl
    return golden, rtl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("objects")
    for name in ("variables", "maps"):
        (made / f"{name}.c").write_text(SAMPLES[name])
        status, _, said = fanweave("ebpf", "build", made / f"{name}.c")
        assert status == 0, said
    return made


def test_r0_is_hexadecimal_without_a_prefix():
    (status, said, _), _ = on_both("run", "--hex", "-", "--mem", "ff 02", given=SUM)
    assert (status, said) == (0, "2a\n")


def test_a_fault_is_status_1_and_goes_to_standard_error():
    for outcome in on_both("run", "--hex", "-", "--mem", "ff", given=SUM):
        status, said, wrong = outcome
        assert (status, said) == (1, "")
        assert wrong.startswith("fanweave: ")
        assert "out of bounds" in wrong


def test_a_refusal_is_status_2_and_goes_to_standard_error():
    for given in ("95", "ff" + 14 * "0"):
        for outcome in on_both("run", "--hex", "-", given=given):
            status, said, wrong = outcome
            assert (status, said) == (2, ""), wrong
            assert wrong.startswith("fanweave: ")
            assert wrong.count("\n") == 1


def test_a_program_of_a_section_and_its_maps(folder, tmp_path):
    file = folder / "variables.o"
    on_both("run", file, "--section", "event:first", "--mem", "05")
    states = {}
    for engine in ENGINES:
        before = tmp_path / f"{engine}-1.json"
        after = tmp_path / f"{engine}-2.json"
        run = ("ebpf", "run", folder / "maps.o", "--section", "use", "--mem", "01000000")
        first = fanweave(*run, "--maps-out", before, "--engine", engine)
        state = json.loads(before.read_text())
        # Only programs write rings.
        ring = state.pop("ring")
        before.write_text(json.dumps(state))
        second = fanweave(*run, "--maps-in", before, "--maps-out", after, "--engine", engine)
        assert first[0] == second[0] == 0, second
        assert first[1] != second[1]
        states[engine] = first, second, ring, state, json.loads(after.read_text())
    assert states["golden"] == states["rtl"]


def test_a_server_answers_as_golden_does_and_keeps_one_simulation(folder):
    requests = [
        {"id": 1, "hex": SUM, "mem": "0002", "maps_out": True},
        {"id": 2, "hex": SUM, "mem": "00"},
        {"id": 3, "hex": "95"},
        {"id": 4, "object": str(folder / "maps.o"), "section": "use", "mem": "01000000"},
        *({"id": n, "hex": f"b7000000 {n:02x}000000 95000000 00000000"} for n in range(5, 105)),
    ]
    given = "".join(json.dumps(request) + "\n" for request in requests)
    (status, golden, _), (other, rtl, _) = (
        fanweave("ebpf", "serve", "--engine", engine, given=given) for engine in ENGINES
    )
    assert status == other == 0
    golden, rtl = ([json.loads(line) for line in each.splitlines()] for each in (golden, rtl))
    assert [answer["status"] for answer in rtl] == [0, 1, 2] + [0] * 101
    assert len(golden) == len(rtl) == len(requests)
    for one, two in zip(golden, rtl, strict=True):
        for key in ("id", "status", "r0", "fault", "mem", "instructions", "maps"):
            assert one.get(key) == two.get(key), (key, one, two)
    assert all(answer["cycles"] > 0 for answer in rtl if answer["status"] == 0)


@pytest.mark.long("an engine with waveforms is built for more than a minute")
def test_a_waveform_shows_instructions_and_map_operations(folder, tmp_path):
    dump = tmp_path / "run.vcd"
    status, said, wrong = fanweave(
        *("ebpf", "run", folder / "maps.o", "--section", "use", "--mem", "01000000"),
        *("--engine", "rtl", "--waves", dump),
    )
    assert (status, said) == (0, "a\n"), wrong
    text = dump.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "call map_update_elem" in text
    assert "sUPDATE " in text
    assert "sOUTPUT " in text
    save = (tmp_path / "run.gtkw").read_text()
    assert "text.program_" in save
    assert "text.map_operation" in save
