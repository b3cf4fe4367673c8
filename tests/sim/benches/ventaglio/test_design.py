"""The cache of converted Verilog knows everything that the Verilog depends on."""

import subprocess
import sys
from pathlib import Path

import fanweave
from fanweave.golden.ventaglio.config import preset
from fanweave.sim.benches.ventaglio.design import SOURCES, harness_design

ROOT = Path(fanweave.__file__).resolve().parent
#: What describing the bench loads without looking at.
_PACKAGES_ONLY = "__init__.py"


def test_every_module_that_the_harness_imports_is_in_the_key():
    program = (
        "import sys\n"
        "import fanweave.sim.benches.ventaglio.harness\n"
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
    known = {file.resolve() for pattern in SOURCES for file in ROOT.glob(pattern)}
    assert len(loaded) > 25
    assert loaded - known == set()


def test_every_pattern_finds_something():
    for pattern in SOURCES:
        assert list(ROOT.glob(pattern)), pattern


def test_banks_are_kept_apart_by_the_name_they_have():
    """Verilator ignores a directive for a module that does not exist."""
    design = harness_design(preset("tiny"))
    text = next(s.text for s in design.sources if s.name == "ventaglio_bench.v")
    apart = next(s.text for s in design.sources if s.name == "apart.vlt")
    name = apart.split('"')[1]
    assert f"module \\{name} " in text
    assert text.count(f"\\{name}  bank_") == preset("tiny").banks
