"""The cache of converted Verilog knows everything that the Verilog depends on."""

import subprocess
import sys
from pathlib import Path

import pytest

import fanweave
from fanweave.sim.benches.core import verilated
from fanweave.sim.benches.cxl import verilated as cxl_verilated
from fanweave.sim.benches.ebpf import engine_design
from fanweave.sim.benches.ventaglio import design

ROOT = Path(fanweave.__file__).resolve().parent
#: What describing hardware loads without looking at.
_PACKAGES_ONLY = "__init__.py"
#: What is converted, and the patterns that are its key.
CONVERTED = {
    "fanweave.sim.benches.ventaglio.harness": design.SOURCES,
    "fanweave.hw.ebpf.policy_engine": engine_design.SOURCES,
    "fanweave.sim.benches.core.bare_core": verilated.SOURCES,
    "fanweave.hw.cxl.island": cxl_verilated.ISLAND_SOURCES,
    "fanweave.hw.cxl.switch": cxl_verilated.SOURCES,
}


@pytest.mark.parametrize("module", CONVERTED)
def test_every_module_that_is_imported_is_in_the_key(module):
    program = (
        "import sys\n"
        f"import {module}\n"
        "import fanweave.hw.generate.convert\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    if name.startswith('fanweave.') and module.__file__:\n"
        "        print(module.__file__)\n"
    )
    listed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {Path(line).resolve() for line in listed.stdout.splitlines()}
    loaded = {file for file in loaded if file.name != _PACKAGES_ONLY}
    known = {file.resolve() for pattern in CONVERTED[module] for file in ROOT.glob(pattern)}
    assert len(loaded) > 25
    assert loaded - known == set()


@pytest.mark.parametrize("module", CONVERTED)
def test_every_pattern_finds_something(module):
    for pattern in CONVERTED[module]:
        assert list(ROOT.glob(pattern)), pattern
