"""The policy engine as a design to be Verilated, converted once for each state of the sources."""

from dataclasses import replace
from typing import Any

from fanweave.golden.ebpf.config import PRESETS, EbpfConfig
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design

__all__ = ["SERVER_CONFIG", "SOURCES", "engine_design"]

#: What runs single programs, and is played in lock-step with golden: half the threads of the
#: default, which is quicker to build, and room for all policies.
SERVER_CONFIG = replace(
    PRESETS["default"], threads=4, images=16, prefixes=128, returns_context=True
)

_NAME = "policy_engine"
#: Sources that decide what the conversion gives: those that the engine imports, as a test checks.
SOURCES = (
    "golden/ebpf/config.py",
    "golden/ebpf/maps/*.py",
    "golden/errors.py",
    "golden/isa/ebpf*.py",
    "golden/isa/registers.py",
    "hw/ebpf/*.py",
    "hw/ebpf/*/*.py",
    "hw/generate/*.py",
    "hw/stream/*.py",
)


def engine_design(config: EbpfConfig) -> Design:
    """The engine with its AXI4-Lite port, and with contexts that leave if the configuration says.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    """

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.ebpf.policy_engine import PolicyEngine

        return PolicyEngine(config=config)

    return converted_design(build, name=_NAME, key=repr(config), sources=SOURCES)
