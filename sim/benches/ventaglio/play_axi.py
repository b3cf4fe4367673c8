"""cocotb side of the AXI bench: models of the buses from cocotbext-axi, and a memory in Python.

It is slow, a few thousand cycles a second, and stands for what a user's system does.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource

from fanweave.golden.isa.ventaglio import REGISTERS, register

_INPUTS = ("activations", "rows", "weights", "indices")
_UNMAPPED = 0x3F


def pauses(chance: float) -> Iterator[bool]:
    """Hold back at random."""
    while True:
        yield random.random() < chance


class Memory:
    """Answers requests for rows as docs/ventaglio/theory.md says."""

    def __init__(self, workload: dict, streams: dict[str, AxiStreamSource]) -> None:
        self.rows = workload["rows"]
        self.beats = {
            name: [int.from_bytes(bytes.fromhex(beat), "little") for beat in workload[name]]
            for name in ("weights", "indices")
        }
        self.streams = streams
        self.sent: dict[str, int | None] = {}

    def answer(self, row: int, first: bool) -> None:
        """Send a row's description and the beats that were not sent before."""
        nnz, lane, word, first_weight, last_weight, first_index, last_index = self.rows[row]
        if first:
            self.sent = {"weights": None, "indices": None}
        joined = self._send("weights", first_weight, last_weight)
        index_joined = self._send("indices", first_index, last_index)
        description = nnz | lane << 16 | word << 24 | joined << 32 | index_joined << 33
        self.streams["rows"].send_nowait([description])

    def _send(self, name: str, begin: int, last: int) -> bool:
        if last < begin:
            return False
        joined = self.sent[name] == begin
        self.sent[name] = last
        beats = self.beats[name][begin + joined : last + 1]
        if beats:
            self.streams[name].send_nowait(beats)
        return joined


async def serve(fetch: AxiStreamSink, memory: Memory) -> None:
    """Answer all requests."""
    while True:
        request = await fetch.recv()
        first = request.tuser[0] if isinstance(request.tuser, list) else request.tuser
        memory.answer(int(request.tdata[0]), bool(first))


async def receive(results: AxiStreamSink, drains: list[str]) -> None:
    """Collect packets of results."""
    while True:
        packet = await results.recv()
        drains.append(bytes(packet.tdata).hex())


async def started(
    bus: AxiLiteMaster, workload: dict, streams: dict[str, AxiStreamSource]
) -> list[int]:
    """Offer the activations and write the commands, each when the one before was taken."""
    for beat in workload["activations"]:
        streams["activations"].send_nowait(
            [sum(element << 32 * place for place, element in enumerate(beat))]
        )
    responses = []
    for address, word in workload["commands"]:
        written = await with_timeout(
            bus.write(4 * address, word.to_bytes(4, "little")), 1_000_000, "ns"
        )
        responses.append(int(written.resp))
    return responses


async def finished(bus: AxiLiteMaster) -> None:
    """Wait until the unit is idle."""
    status = register("status")
    for _ in range(10_000):
        read = await bus.read(4 * status.address, 4)
        if not status.field("busy").extract(int.from_bytes(read.data, "little")):
            return
    raise TimeoutError("the unit stays busy")


async def interrupted(
    dut, bus: AxiLiteMaster, workload: dict, streams: dict[str, AxiStreamSource]
) -> None:
    """Begin, and reset everything in the middle; the models of the buses forget with the unit."""
    beginning = cocotb.start_soon(started(bus, workload, streams))
    await ClockCycles(dut.aclk, workload["reset_after"])
    assert int(dut.busy.value), "the reset must come while there is work"
    beginning.cancel()
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 4)
    for stream in streams.values():
        stream.clear()  # what is queued stays through a reset otherwise
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)


@cocotb.test()
async def play(dut) -> None:
    """Run the commands, one after the other was taken, and record what the buses gave."""
    workload = json.loads(Path(os.environ["FANWEAVE_WORKLOAD"]).read_text())
    dut.aresetn.value = 0
    around = (dut.aclk, dut.aresetn)
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *around, reset_active_level=False)
    # Without TKEEP, one element of a frame is one transfer.
    whole = {"reset_active_level": False, "byte_lanes": 1}
    streams = {
        name: AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{name}"), *around, **whole)
        for name in _INPUTS
    }
    fetch = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_fetch"), *around, **whole)
    results = AxiStreamSink(
        AxiStreamBus.from_prefix(dut, "m_axis_results"), *around, reset_active_level=False
    )
    if workload["pause"]:
        channels = [*streams.values(), fetch, results]
        channels += [bus.write_if.aw_channel, bus.write_if.w_channel, bus.write_if.b_channel]
        channels += [bus.read_if.ar_channel, bus.read_if.r_channel]
        for channel in channels:
            channel.set_pause_generator(pauses(workload["pause"]))
    cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)

    drains: list[str] = []
    memory = Memory(workload, streams)
    cocotb.start_soon(serve(fetch, memory))
    cocotb.start_soon(receive(results, drains))
    if workload["reset_after"]:
        await interrupted(dut, bus, workload, streams)
        memory.sent = {}
        drains.clear()
    responses = await started(bus, workload, streams)
    await finished(bus)
    await ClockCycles(dut.aclk, 20)

    registers = {}
    for entry in REGISTERS:
        read = await bus.read(4 * entry.address, 4)
        assert read.resp == 0, f"{entry.name}: {read.resp}"
        registers[entry.address] = int.from_bytes(read.data, "little")
    word = bytes(4)
    probes = {
        "read of no register": (await bus.read(4 * _UNMAPPED, 4)).resp,
        "write of no register": (await bus.write(4 * _UNMAPPED, word)).resp,
        "write of a read-only register": (
            await bus.write(4 * register("status").address, word)
        ).resp,
        "write of one byte": (await bus.write(4 * register("scale").address, b"\1")).resp,
    }
    outcome = {
        "drains": drains,
        "registers": registers,
        "write_responses": responses,
        "probes": {name: int(response) for name, response in probes.items()},
    }
    Path(os.environ["FANWEAVE_OUTCOME"]).write_text(json.dumps(outcome))
