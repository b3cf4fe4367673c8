"""The policy engine as a design to be Verilated, converted once for each state of the sources."""

from typing import Any

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.sim.runner.converted import converted_verilog
from fanweave.sim.runner.design import Design, VerilogSource

__all__ = ["SOURCES", "engine_design"]

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

    text = converted_verilog(build, name=_NAME, key=repr(config), sources=SOURCES)
    return Design(
        name=_NAME,
        toplevel=_NAME,
        sources=(VerilogSource(name=f"{_NAME}.v", text=text),),
    )
