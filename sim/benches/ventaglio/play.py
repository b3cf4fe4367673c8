"""cocotb side of the bench: set the ports, wait for the end, read the registers."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, Timer

from fanweave.golden.isa.ventaglio import COUNTERS, counter_address, register
from fanweave.sim.benches.ventaglio.settings import RESET_CYCLES


async def read_register(dut, address: int) -> int:
    """Read one register; the read is combinational."""
    dut.read_address.value = address
    await Timer(1, "step")
    return int(dut.read_data.value)


@cocotb.test()
async def play(dut) -> None:
    """Run the program in the memories and record what the unit says of itself."""
    settings = json.loads(os.environ["FANWEAVE_SETTINGS"])
    for port, value in settings.items():
        getattr(dut, port).value = value
    dut.read_address.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 10, "step").start())
    await ClockCycles(dut.clk, RESET_CYCLES - 1)  # the harness registers its reset
    dut.rst.value = 0
    await RisingEdge(dut.done)
    await ClockCycles(dut.clk, 2)  # the sink closes its file
    await ReadOnly()
    outcome: dict[str, object] = {
        "cycles": int(dut.cycles.value),
        "expired": bool(int(dut.expired.value)),
        "violations": int(dut.violations.value),
    }
    await Timer(1, "step")
    error = register("error")
    word = await read_register(dut, error.address)
    outcome["error"] = {
        "cause": error.field("cause").extract(word),
        "halted": error.field("halted").extract(word),
        "row": await read_register(dut, register("error_row").address),
        "element": await read_register(dut, register("error_element").address),
    }
    outcome["counters"] = {
        name: await read_register(dut, counter_address(name)) for name, _ in COUNTERS
    }
    Path(os.environ["FANWEAVE_OUTCOME"]).write_text(json.dumps(outcome))
