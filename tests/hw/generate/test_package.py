"""What is generated is complete, consistent with the Verilog, and always the same."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ventaglio import REGISTERS
from fanweave.golden.ventaglio.config import preset
from fanweave.hw.generate.documents import register_document
from fanweave.hw.generate.package import package
from fanweave.hw.generate.units import UNITS, find_unit

ROOT = Path(__file__).resolve().parents[3]
UNIT = UNITS["ventaglio"]


@pytest.fixture(scope="module")
def files():
    return package(UNIT, preset("tiny"), preset="tiny", tops=["plain", "axi"])


def verilog_ports(text, module):
    """Direction and width of each port, as the Verilog declares them."""
    body = re.search(rf"^module {module}\(.*?^endmodule", text, re.M | re.S)[0]
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body, re.M)
    return {name: (direction, int(top or 0) + 1) for direction, top, name in found}


def test_all_files_are_there(files):
    assert sorted(files) == [
        "ventaglio-registers.md",
        "ventaglio.core",
        "ventaglio.json",
        "ventaglio.v",
        "ventaglio.vlt",
        "ventaglio_axi.v",
        "ventaglio_axi.vlt",
    ]


@pytest.mark.parametrize("top", ["plain", "axi"])
def test_the_map_names_every_port_as_the_verilog_does(files, top):
    described = json.loads(files["ventaglio.json"])["tops"][top]
    ports = {port["name"]: (port["direction"], port["width"]) for port in described["ports"]}
    assert len(ports) == len(described["ports"])
    assert ports == verilog_ports(files[described["file"]], described["module"])


def test_streams_and_fields_are_in_the_map(files):
    ports = {p["name"]: p for p in json.loads(files["ventaglio.json"])["tops"]["plain"]["ports"]}
    assert ports["rows__payload"]["stream"] == "rows"
    assert ports["rows__payload"]["role"] == "payload"
    assert ports["rows__payload"]["fields"][:2] == [
        {"name": "nnz", "low": 0, "width": 16},
        {"name": "lane", "low": 16, "width": 8},
    ]
    axi = {p["name"]: p for p in json.loads(files["ventaglio.json"])["tops"]["axi"]["ports"]}
    assert axi["aresetn"]["role"] == "reset, active low"
    assert axi["m_axis_results_tkeep"]["stream"] == "m_axis_results"
    assert axi["s_axil_awaddr"]["stream"] == "s_axil"


def test_the_map_holds_every_register(files):
    registers = json.loads(files["ventaglio.json"])["registers"]
    assert [(r["name"], r["address"], r["byte_address"]) for r in registers] == [
        (r.name, r.address, 4 * r.address) for r in REGISTERS
    ]


def test_the_core_names_files_that_exist(files):
    head, body = files["ventaglio.core"].split("\n", 1)
    assert head == "CAPI=2:"
    core = yaml.safe_load(body)
    named = {file for fileset in core["filesets"].values() for file in fileset["files"]}
    assert named == {name for name in files if name.endswith((".v", ".vlt"))}
    for target in core["targets"].values():
        assert set(target["filesets"]) <= set(core["filesets"])
        assert f"{target['toplevel']}.v" in files
    assert core["targets"]["default"]["toplevel"] == "ventaglio"


def test_no_file_holds_a_path_or_a_date(files):
    for name, text in files.items():
        assert str(ROOT) not in text, name
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b", text), name


def test_another_process_generates_the_same_bytes(files):
    """Also with other hashes of strings, which order sets."""
    program = (
        "import sys, hashlib\n"
        "from fanweave.golden.ventaglio.config import preset\n"
        "from fanweave.hw.generate.package import package\n"
        "from fanweave.hw.generate.units import UNITS\n"
        "files = package(\n"
        "    UNITS['ventaglio'], preset('tiny'), preset='tiny', tops=['plain', 'axi']\n"
        ")\n"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    assert finished.stdout.strip() == here


def test_every_unit_has_a_register_document():
    for unit in UNITS.values():
        text = register_document(unit)
        assert text.startswith(f"# Registers of the {unit.name} unit\n"), unit.name
        for entry in (*unit.registers, *unit.csrs):
            assert f"`{entry.name}`" in text
        assert unit.registers or unit.csrs


def test_registers_that_instructions_reach_have_their_numbers():
    text = register_document(find_unit("core"))
    assert "| 0x342 | [`mcause`](#mcause) | rw | Why it trapped. |" in text
    assert "| 2 | `ILLEGAL_INSTRUCTION` |" in text
    assert "four times the word address" not in text


@pytest.mark.parametrize("name", ["ventaglio", "ebpf"])
def test_the_register_document_is_up_to_date(name):
    document = ROOT / f"docs/{name}/registers.md"
    assert document.read_text() == register_document(find_unit(name)), (
        f"write it again: fanweave verilog {name} --registers > docs/{name}/registers.md"
    )


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="unknown unit 'ventilator'; choose one of ventaglio"):
        find_unit("ventilator")
    with pytest.raises(InputError, match="unknown preset 'huge' of unit ventaglio; choose one of"):
        UNIT.preset("huge")
