"""Islands in Verilator, among hosts and memories that keep to a plan."""

import struct
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.config import SystemConfig
from fanweave.golden.errors import FaultError
from fanweave.sim.benches.cxl.verilated import island_design
from fanweave.sim.benches.host_process import HostProcess
from fanweave.sim.benches.system.program import system_program
from fanweave.sim.runner.loop import build_loop

__all__ = ["REST", "SystemSimulation"]

_ENDINGS = (
    "done",
    "not all messages were answered",
    "a switch makes a sender wait that has credits",
    "a file failed",
    "a message could not be sent in its cycle",
    "an answer is nobody's",
)
#: Cycles in which engines end what they have.
REST = 20_000


class SystemSimulation(HostProcess):
    """Islands in one process.

    Parameters
    ----------
    config : IslandConfig
        Of all of them.
    islands : int

    Raises
    ------
    InputError
        If it does not build.
    """

    def __init__(self, config: IslandConfig, *, islands: int) -> None:
        program = system_program(config, islands=islands)
        executable = build_loop(island_design(config), program, label="building the islands")
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        super().__init__(executable, "the islands", folder=self._path)

    def close(self) -> None:
        """End the process, and forget its files."""
        super().close()
        self._folder.cleanup()

    def choose(self, island: int) -> None:
        """The island that registers are of from now on."""
        self.confirm()
        self.send(f"I {island:x}")

    def register(self, address: int) -> int:
        """A register of the chosen island's switch, or of its memory of verdicts."""
        return self.ask(f"C {address:x}")[0]

    def play(
        self,
        around: SystemConfig,
        writes: Iterable[tuple[int, int, int, int]],
        messages: np.ndarray,
        *,
        limit: int,
        rest: int = REST,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play messages in their cycles.

        Parameters
        ----------
        around : SystemConfig
        writes : iterable of (int, int, int, int)
            Island, cycle, address and word of register writes.
        messages : ndarray, shape (n, 6)
            Cycle, host, kind, tag, line in two parts.
        limit, rest : int
            Cycles at most, and behind the last answer.

        Returns
        -------
        done : ndarray, shape (n,)
            Cycle of each answer.
        told : ndarray, shape (m, 5)
            Island, cycle, r0 in two parts, and whether it says nothing.

        Raises
        ------
        FaultError
            If it does not go as it must.
        """
        with open(self._path / "plan", "wb") as stream:
            stream.write(_plan(around, list(writes), len(messages)))
            stream.write(messages.astype("<u4").tobytes())
        ending, cycles = self.ask(f"P {limit:x} {rest:x}")
        if ending:
            raise FaultError(f"{_ENDINGS[ending]}, in cycle {cycles}")
        done = np.fromfile(self._path / "done", dtype="<u4")
        return done, np.fromfile(self._path / "told", dtype="<u4").reshape(-1, 5)


def _plan(around: SystemConfig, writes: Sequence[tuple[int, ...]], messages: int) -> bytes:
    words = [len(around.hosts), len(around.memories), len(around.links), len(writes), messages]
    for host in around.hosts:
        words += [host.island, host.port]
    for memory in around.memories:
        timing = memory.timing
        words += [memory.island, memory.port, timing.latency, timing.read, timing.write]
        words += [timing.turn, *timing.loads]
    for link in around.links:
        words += [link.island, link.port, link.to_island, link.to_port, link.latency]
    for write in writes:
        words += write
    return struct.pack(f"<{len(words)}I", *words)
